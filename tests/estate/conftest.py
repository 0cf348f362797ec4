"""Fixtures of the estate; a file of this name per folder is all that mypy does not read."""

from assembled import contracts, manifest, report, templates
from synth import outdir, stack_snapshot

__all__ = ["contracts", "manifest", "outdir", "report", "stack_snapshot", "templates"]
