"""Deleted stacks: CloudFormation lists them for ninety days, and ministack for ever."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from holdfast.local import private

Json = dict[str, Any]
LISTED = timedelta(days=90)
_ahead: dict[str, timedelta] = {}  # by account: how far its own time is from the clock's


def complete() -> None:
    """For ListStacks; by its id such a stack can still be asked for."""
    handlers = private.module("ministack.services.cloudformation.handlers")
    page = handlers._page

    def of_the_listed(items: list[Json], params: Json, action: str, *rest: Any, **named: Any) -> Any:
        if action == "ListStacks":
            now = _now(private.module("ministack.core.responses").get_account_id())
            items = [s for s in items if not s.get("DeletionTime") or now - _time(s["DeletionTime"]) <= LISTED]
        return page(items, params, action, *rest, **named)

    handlers._page = of_the_listed


def set_time(account: str, now: str) -> None:
    """From here on it is that time in an account, as far as deleted stacks are concerned."""
    _ahead[account] = _time(now) - datetime.now(UTC)


def _now(account: str) -> datetime:
    return datetime.now(UTC) + _ahead.get(account, timedelta(0))


def _time(written: str) -> datetime:
    return datetime.fromisoformat(written)
