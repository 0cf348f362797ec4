"""What a synth produced, for people: `python -m holdfast.summary cdk.out`. Counts come from the templates."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from holdfast.catalog import Placed, placements
from holdfast.model import Guard, Stack
from holdfast.rules import stores
from holdfast.rules.base import PASS
from holdfast.rules.store_checks import StoreSubject, find
from holdfast.stores import assumptions
from holdfast.template import StackSeen, observe
from holdfast.text import columns

COLUMNS = {
    "deletion protection": Guard.DELETION_PROTECTION,
    "retained": Guard.RETAIN,
    "recovery": Guard.PITR,
    "own key": Guard.CUSTOMER_KEY,
    "expiry": Guard.TTL,
    "alarms": Guard.ALARMS,
}

RULES_OF = {
    Guard.DELETION_PROTECTION: (stores.PROTECTED,),
    Guard.RETAIN: (stores.RETAINED,),
    Guard.PITR: (stores.RECOVERABLE,),
    Guard.CUSTOMER_KEY: (stores.OWN_KEY,),
    Guard.TTL: (stores.EVICTED, stores.TOPICS),
    Guard.ALARMS: (stores.WATCHED,),
}


def summary(outdir: Path, catalog: tuple[Stack, ...]) -> str:
    """A row per synthesized stack, and a total per environment."""
    places = [p for p in placements(catalog) if (outdir / f"{p.id}.template.json").exists()]
    rows = [["environment", "stack", "region", "tables", "indexes", "other stores", *COLUMNS, "assumed facts"]]
    for env in dict.fromkeys(p.env for p in places):
        total = [0] * (4 + len(COLUMNS))
        for p in (p for p in places if p.env is env):
            template = json.loads((outdir / f"{p.id}.template.json").read_text())
            stack = StackSeen(id=p.id, where=p.id, template=template, region=p.region)
            seen = list(observe(stack))
            counts = [
                len(seen),
                sum(len(s.indexes) for s in seen if isinstance(s.indexes, dict)),
                len(p.stores),
                *(sum(guard in s.guards for s in seen) + _guarded(p, stack, guard) for guard in COLUMNS.values()),
                sum(1 for t in p.tables for _ in p.assumptions(t)) + sum(1 for s in p.stores for _ in assumptions(s)),
            ]
            total = [a + b for a, b in zip(total, counts, strict=True)]
            rows.append([env.label, p.name, p.region, *map(str, counts)])
        rows.append([env.label, "all", "", *map(str, total)])
    return columns(rows)


def _guarded(placed: Placed, stack: StackSeen, guard: Guard) -> int:
    """How many stores that are no tables have a guard, as the rules see it."""
    subjects = [
        StoreSubject(placed, store, placed.required(store), stack, found)
        for store in placed.stores
        if isinstance(found := find(stack, placed, store), str)
    ]
    return sum(any(r.check and r.check(s) == PASS for r in RULES_OF.get(guard, ())) for s in subjects)


def main() -> None:
    from stacks import CATALOG

    outdir = Path(sys.argv[1])
    print(summary(outdir, CATALOG))
    print(f"\nTemplates are in {outdir}/. `holdfast list` shows every table, with --assumed what no source gives.")


if __name__ == "__main__":
    main()
