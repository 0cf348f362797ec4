"""Accounts made by hand: the shop as if it had just been deployed, with whatever is changed about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

from shop import ESTATE
from shop_synth import synthesized

from holdfast import Tier
from holdfast.cfn.template import Source, StackSeen
from holdfast.estate.placement import Placed
from holdfast.kinds.table.observed import Observed
from holdfast.kinds.table.template import observe
from holdfast.shared.account import ONLY_IN_TEMPLATES, Account, IndexUse, StackLive, TableSeen
from holdfast.shared.key.observed import ObservedKey

NOW = datetime(2026, 4, 23, 12, tzinfo=UTC)
CREATED = datetime(2025, 6, 1, tzinfo=UTC)
UPDATED = datetime(2026, 2, 4, 12, tzinfo=UTC)
ID = "000000000000"
EVERY = tuple(s.id for s in ESTATE.stacks)


@cache
def template(stack: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((synthesized() / f"{stack}.template.json").read_text(encoding="utf-8"))
    return found


def deployed(placed: Placed, resources: Mapping[str, Any] | None = None) -> StackLive:
    """A stack that was deployed as it is synthesized, or with these resources instead."""
    document = template(placed.id)
    seen = StackSeen(
        id=placed.name,
        name=placed.name,
        where=placed.name,
        template=document if resources is None else document | {"Resources": resources},
        region=placed.region,
        protected=placed.env.tier is Tier.PROD,
        source=Source.DEPLOYED,
    )
    return StackLive(seen=seen, status="UPDATE_COMPLETE", created=CREATED, updated=UPDATED)


def live(observed: Observed, region: str, **changes: Any) -> TableSeen:
    """The live table that a deployed template gives."""
    encryption = observed.encryption
    if isinstance(encryption, ObservedKey):
        encryption = replace(
            encryption,
            where=f"arn:aws:kms:{region}:{ID}:key/{observed.stack}",
            deletion_policy=ONLY_IN_TEMPLATES,
            update_replace_policy=ONLY_IN_TEMPLATES,
            policy=_deployed(encryption.policy),
        )
    seen = replace(
        observed,
        source=Source.LIVE,
        where=f"arn:aws:dynamodb:{region}:{ID}:table/{observed.name}",
        deletion_policy=ONLY_IN_TEMPLATES,
        update_replace_policy=ONLY_IN_TEMPLATES,
        encryption=encryption,
    )
    table = TableSeen(
        observed=seen,
        arn=seen.where,
        status="ACTIVE",
        created=CREATED,
        items=0,
        size=0,
        indexes={i: IndexUse(items=0, size=0, reads=0.0) for i in observed.indexes},  # type: ignore[union-attr]
        stack=observed.stack,
    )
    return replace(table, **changes)


def _deployed(part: Any) -> Any:
    """A value of a template as CloudFormation deploys it to the account."""
    if isinstance(part, list):
        return [_deployed(p) for p in part]
    if not isinstance(part, dict):
        return part
    if "Fn::Join" in part:
        separator, words = part["Fn::Join"]
        return separator.join(map(_deployed, words))
    return ID if part == {"Ref": "AWS::AccountId"} else {k: _deployed(v) for k, v in part.items()}


def account(region: str, ids: tuple[str, ...] = EVERY, **changes: Any) -> Account:
    """Everything that these stacks declare for a region, deployed and live."""
    return replace(_account(region, ids), **changes)


@cache
def _account(region: str, ids: tuple[str, ...]) -> Account:
    there = [p for p in ESTATE.placements() if p.stack.id in ids and p.region == region]
    stacks = {p.name: deployed(p) for p in there}
    tables = {
        str(o.name): live(o, region) for s in stacks.values() if isinstance(s.seen, StackSeen) for o in observe(s.seen)
    }
    return Account(id=ID, region=region, tables=tables, stacks=stacks)


def with_table(account: Account, name: str, *, observed: Mapping[str, Any] | None = None, **changes: Any) -> Account:
    """``account`` with one live table changed."""
    assert isinstance(account.tables, Mapping)
    table = account.tables[name]
    changed = replace(table, observed=replace(table.observed, **(observed or {})), **changes)
    return replace(account, tables=dict(account.tables) | {name: changed})


def without(account: Account, *names: str) -> Account:
    """``account`` without these live tables."""
    assert isinstance(account.tables, Mapping)
    return replace(account, tables={n: t for n, t in account.tables.items() if n not in names})
