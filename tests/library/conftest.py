"""Fixtures of the library's tests; a file of this name per folder is all that mypy does not read."""

from shop_synth import contracts, manifest, outdir, report, repository, templates

__all__ = ["contracts", "manifest", "outdir", "report", "repository", "templates"]
