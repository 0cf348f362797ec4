"""Waivers: a failure that somebody answers for until a day."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date

from holdfast.model import Waiver
from holdfast.rules.base import Finding, Outcome


def waived(found: Finding, waivers: Iterable[Waiver], today: date) -> Finding:
    """``found``, exempt while a waiver of its rule holds; one that ended is mentioned."""
    for waiver in waivers:
        if waiver.rule == found.rule.id and found.outcome is Outcome.FAIL and waiver.expires:
            if waiver.expires >= today:
                detail = f"waived until {waiver.expires} by {waiver.owner}: {waiver.reason} ({found.detail})"
                return replace(found, outcome=Outcome.EXEMPT, detail=detail)
            return replace(found, detail=f"{found.detail}; its waiver by {waiver.owner} ended on {waiver.expires}")
    return found
