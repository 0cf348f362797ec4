"""The whole estate on this machine, without an AWS account."""

from __future__ import annotations


def endpoint() -> str | None:
    """Where `holdfast local` listens in this repository, on a port of 127.0.0.1; None when it does not run."""
    from holdfast.local.process import running

    found = running()
    return found.endpoint if found else None
