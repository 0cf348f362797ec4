"""Fixtures of the estate; a file of this name per folder is all that mypy does not read."""

from synth import contracts, manifest, outdir, report, stack_snapshot, templates

__all__ = ["contracts", "manifest", "outdir", "report", "stack_snapshot", "templates"]
