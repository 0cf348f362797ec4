"""Where intent, deployed template and live table part, and for how long they have."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from holdfast.days import day, days


@dataclass(frozen=True, slots=True)
class Commit:
    """The commit that last changed a line, and when it was made."""

    sha: str
    when: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """What code, CloudFormation and the account say of one thing; ``says`` is how that came about, in words."""

    intent: str
    deployed: str
    live: str
    says: str
    now: datetime
    commit: Commit | None = None  # that set the intent; none without a repository, or before the first commit
    updated: datetime | None = None  # when the stack was last updated, or made

    @property
    def days_intended(self) -> int | None:
        return max(0, days(self.commit.when, self.now)) if self.commit else None  # clocks differ

    @property
    def days_since_update(self) -> int | None:
        return max(0, days(self.updated, self.now)) if self.updated else None

    @property
    def age(self) -> str:
        """How old the gap is: since the intent was committed, and since the stack could have carried it out."""
        intended = (
            f"{_days(self.days_intended)} since commit {self.commit.sha[:7]} of {day(self.commit.when)}"
            if self.commit
            else "unknown since which commit"
        )
        updated = (
            f"{_days(self.days_since_update)} since the stack's last update on {day(self.updated)}"
            if self.updated
            else "no stack to date it by"
        )
        return f"{intended}, {updated}"


def _days(count: int | None) -> str:
    return f"{count} day{'' if count == 1 else 's'}"
