"""Fixtures of the library's tests; a file of this name per folder is all that mypy does not read."""

from assembled import contracts, manifest, report, templates
from shop_synth import outdir, repository

__all__ = ["contracts", "manifest", "outdir", "report", "repository", "templates"]
