"""Days of the calendar in UTC, in which ages and waivers are counted: neither hour nor time zone changes them."""

from __future__ import annotations

from datetime import UTC, date, datetime


def day(at: datetime) -> date:
    return at.astimezone(UTC).date()


def days(since: datetime, now: datetime) -> int:
    return (day(now) - day(since)).days
