"""What a synth produced, for people: `python -m holdfast.inventory.summary cdk.out`. Counts come from the templates."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.cfn.template import StackSeen
from holdfast.estate.estate import Estate
from holdfast.estate.placement import Placed
from holdfast.estate.provenance import assumed_of
from holdfast.kinds.base import StoreSubject
from holdfast.kinds.kinds import find, subject
from holdfast.kinds.table.template import observe
from holdfast.model.facts import Guard
from holdfast.rules import GUARDING, engines
from holdfast.rules.base import Rule
from holdfast.rules.engine import verdict
from holdfast.terminal import coloured, table, width
from holdfast.verdict import PASS

COLUMNS = tuple(guard for guard in Guard if guard is not Guard.TAGS)  # which everything has
RULES_OF: Mapping[Guard, tuple[Rule, ...]] = {guard: (rule,) for guard, rule in GUARDING.items()} | {
    Guard.TTL: (engines.EVICTED, engines.TOPICS)
}


def summary(outdir: Path, estate: Estate) -> str:
    """A row per synthesized stack, and a total per environment."""
    places = [p for p in estate.placements() if (outdir / f"{p.id}.template.json").exists()]
    rows = [
        [
            "environment",
            "region",
            "stack",
            "tables",
            "indexes",
            "other stores",
            *(g.short for g in COLUMNS),
            "assumed facts",
        ]
    ]
    for env in dict.fromkeys(p.env for p in places):
        total = [0] * (4 + len(COLUMNS))
        for p in (p for p in places if p.env == env):
            template = json.loads((outdir / f"{p.id}.template.json").read_bytes())
            stack = StackSeen(id=p.id, where=p.id, template=template, region=p.region)
            seen, stores = list(observe(stack)), _stores(p, stack)
            counts = [
                len(seen),
                sum(len(s.indexes) for s in seen if isinstance(s.indexes, dict)),
                len(stores),
                *(sum(g in s.guards(p.policy.tags) for s in seen) + sum(_has(s, g) for s in stores) for g in COLUMNS),
                len(assumed_of(p)),
            ]
            total = [a + b for a, b in zip(total, counts, strict=True)]
            rows.append([env.label, p.region, p.name, *map(str, counts)])
        rows.append([env.label, "", "all", *map(str, total)])
    return table(rows, width(), headings=2, colour=coloured())


def _stores(placed: Placed, stack: StackSeen) -> list[StoreSubject[Any]]:
    """The declared stores that are not tables and that the template has."""
    found = [(store, find(stack, placed, store)) for store in placed.stores]
    return [subject(placed, s, stack, i) for s, i in found if isinstance(i, str)]


def _has(store: StoreSubject[Any], guard: Guard) -> bool:
    """Whether a store has a guard, as the rules see it."""
    return any(verdict(r, store) == PASS for r in RULES_OF[guard])


def main() -> None:
    from holdfast.estate.finder import find

    outdir = Path(sys.argv[1])
    print(summary(outdir, find().estate))
    print(f"\nTemplates are in {outdir}/. `holdfast list` shows everything, with --assumed what no source gives.")


if __name__ == "__main__":
    main()
