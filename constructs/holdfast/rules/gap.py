"""Where intent, deployed template and live table part, and for how long they have."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from holdfast.days import day, days
from holdfast.text import counted


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, and when it was made."""

    sha: str
    when: datetime

    def __str__(self) -> str:
        return f"{self.sha[:7]} ({day(self.when)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """The commit since which the contract has a value; ``why`` none is known, or why it may be older than that."""

    commit: Commit | None = None
    why: str = ""

    @property
    def at_least(self) -> bool:
        return self.commit is not None and bool(self.why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """What code, CloudFormation and the account say of one thing; ``says`` is how that came about, in words."""

    intent: str
    deployed: str
    live: str
    says: str
    now: datetime
    since: Since = Since()
    updated: datetime | None = None  # when the stack was last updated, or made
    rolled_back: bool = False  # that update was, or goes on: the last one that changed anything is older

    @property
    def commit(self) -> Commit | None:
        return self.since.commit

    @property
    def days_intended(self) -> int | None:
        return max(0, days(self.commit.when, self.now)) if self.commit else None  # clocks differ

    @property
    def days_since_update(self) -> int | None:
        return max(0, days(self.updated, self.now)) if self.updated else None

    @property
    def age(self) -> str:
        """How old the gap is: since the contract asks for it, and since the stack could have carried it out."""
        return f"{self._intended()}, {self._updated()}"

    def _intended(self) -> str:
        why = f" ({self.since.why})" if self.since.why else ""
        if self.commit is None:
            return f"unknown since which commit{why}"
        least = "at least " if self.since.at_least else ""
        age = counted(self.days_intended or 0, "day")
        return f"{least}{age} since commit {self.commit.sha[:7]} of {day(self.commit.when)}{why}"

    def _updated(self) -> str:
        if self.updated is None:
            return "no stack to date it by"
        age = counted(self.days_since_update or 0, "day")
        if self.rolled_back:
            return f"at least {age} since the stack's last update (that of {day(self.updated)} did not succeed)"
        return f"{age} since the stack's last update on {day(self.updated)}"
