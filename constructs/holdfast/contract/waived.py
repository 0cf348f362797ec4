"""What the waivers of two contracts say: which are new, last longer, change or are gone. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.cfn.compare import ABSENT

Waived = Mapping[str, Mapping[str, Mapping[str, str]]]  # by store and rule: reason, owner, expires


@dataclass(frozen=True, slots=True)
class Excuse:
    """One waiver on both sides; ``weaker`` where a rule is waived that was not, or for longer."""

    store: str
    rule: str
    before: Any
    after: Any
    weaker: bool

    @property
    def says(self) -> str:
        if self.after is ABSENT:
            return f"{self.rule} is no longer waived"
        return f"{self.rule} is waived until {self.after.get('expires')}: {self.after.get('reason')}"


def excuses(before: Waived, after: Waived) -> Iterator[Excuse]:
    for store in sorted(before.keys() | after.keys()):
        old, new = before.get(store, {}), after.get(store, {})
        for rule in sorted(old.keys() | new.keys()):
            was: Any = old.get(rule, ABSENT)
            now: Any = new.get(rule, ABSENT)
            if was != now:
                yield Excuse(store, rule, was, now, _end(now) > _end(was))


def _end(waiver: Any) -> str:
    return "" if waiver is ABSENT else str(waiver.get("expires", "")) or "?"
