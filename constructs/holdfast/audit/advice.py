"""What may be advised: whether a deploy of a stack can work, as far as templates and live tables say. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from holdfast.cfn.template import StackSeen
from holdfast.estate.placement import Placed
from holdfast.kinds.table.declaration import Index, Table
from holdfast.kinds.table.live import observed
from holdfast.kinds.table.observed import GLOBAL_TABLE, Observed
from holdfast.kinds.table.template import observe
from holdfast.model.facts import Guard
from holdfast.rules import GUARDING, KEY_RULES, TABLE_RULES
from holdfast.rules.base import Rule
from holdfast.rules.live import IMPORT
from holdfast.shared.account import StoreSeen
from holdfast.unknown import Unknown

LONGEST = 240  # what CDK leaves of a path before its hash
# What a deploy repairs without a call on the table: policies of the template, the key and the alarms.
BESIDE = frozenset(
    r for r in TABLE_RULES if r.guard in (Guard.RETAIN, Guard.ALARMS) or (r in KEY_RULES and r.guard is None)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What a deploy of one declared stack would meet in its account."""

    placed: Placed
    taken: Mapping[str, str]  # live tables and stores that it would try to create, with the reason
    refused: Mapping[str, str]  # tables whose change CloudFormation refuses, with the reason
    elsewhere: Mapping[str, str]  # tables of other stacks, by name
    rekeyed: Collection[str]  # tables that it would move to the stack's key

    @property
    def command(self) -> str:
        return f"`cdk deploy -c env={self.placed.env.label} {self.placed.id}`"

    def advised(self, what: str) -> str:
        """``what``, which ends in a deploy, and whom that deploy would cut off."""
        if not self.rekeyed:
            return what
        who = f"what uses {', '.join(self.rekeyed)}"
        return f"{what}; {who} needs kms:Decrypt on the stack's key first, because the deploy moves to that key"

    def against(self, table: str) -> str:
        """What stands against a deploy: of this table, else of another one; empty where nothing does."""
        if table in self.taken:
            return f"{self.taken[table]}; {IMPORT}"
        if table in self.refused:
            return self.refused[table]
        others = [*self.taken.values(), *self.refused.values()]
        return f"{self.placed.name} cannot be deployed for now: {others[0]}" if others else ""


def way(
    placed: Placed,
    own: StackSeen | Unknown | None,
    live: Mapping[str, StoreSeen | Unknown | None],
    elsewhere: Mapping[str, str],
    off: Mapping[str, Collection[Rule]],
    stores: Collection[str] = (),
) -> Way:
    """``own`` is the stack's deployed template, ``off`` the rules by which each table of it fails there.

    ``live`` has None where a table is not there; ``stores`` are those of its stores that are live.
    """
    template = {str(o.name): o for o in observe(own)} if isinstance(own, StackSeen) else {}
    taken, refused = {}, {}
    for table in placed.tables:
        name = placed.fill(table.name)
        seen, there = template.get(name), live.get(name)
        if isinstance(there, Unknown) or isinstance(own, Unknown):
            continue
        if there is None:
            if seen and not _elsewhere(table, seen, placed.name, None) and set(off.get(name, ())) - BESIDE:
                refused[name] = f"a deploy would try to change {name}, which is not there, and fail: restore it first"
        elif where := _elsewhere(table, seen, placed.name, elsewhere.get(name)):
            taken[name] = _would_fail(name, where)
        elif seen and (why := next(_refused(table, seen, observed(there)), "")):
            refused[name] = f"{why} (table {name})"
    if own is None:
        taken |= {name: _would_fail(name, "in no stack") for name in stores}
    rekeyed = [name for name, rules in off.items() if GUARDING[Guard.CUSTOMER_KEY] in rules]
    return Way(placed=placed, taken=taken, refused=refused, elsewhere=elsewhere, rekeyed=rekeyed)


def _would_fail(name: str, where: str) -> str:
    return f"a deploy would try to create {name}, which exists {where}, and fail"


def logical_id(table: Table) -> str:
    """What a template calls the table: as declared, else as CDK does, by the path of its construct and a hash of it."""
    if table.logical_id:
        return table.logical_id
    digest = hashlib.md5(f"{table.id}/Table/Resource".encode(), usedforsecurity=False).hexdigest()[:8].upper()
    return f"{table.id.removesuffix('Table')}Table"[:LONGEST] + digest


def _elsewhere(table: Table, seen: Observed | None, stack: str, other: str | None) -> str:
    """Where a live table is, unless its stack has it under the id that the code makes."""
    if seen is None:
        return f"in {other}" if other else "in no stack"
    found, made = seen.where.rpartition("#")[2], logical_id(table)
    return "" if found == made else f"as {found} in {stack} (the code makes {made})"


def _refused(table: Table, seen: Observed, live: Observed) -> Iterator[str]:
    """What CloudFormation or DynamoDB would refuse to make of the deployed table."""
    if seen.type == GLOBAL_TABLE:
        yield "CloudFormation does not change the type of a resource"
    if seen.key != table.key and not isinstance(seen.key, Unknown):
        yield "CloudFormation does not replace a table that is named: declare a new table and move the items"
    on = seen.ttl if isinstance(live.ttl, Unknown) else live.ttl
    sent = table.lifetime.ttl or seen.ttl  # to turn a TTL off takes its attribute, too
    changed_ttl = not isinstance(seen.ttl, Unknown) and seen.ttl != table.lifetime.ttl
    if changed_ttl and isinstance(on, str) and on != sent:
        yield (
            f"DynamoDB does not change the attribute of a TTL that is on, and items expire by {on}: decide whether "
            f"{table.lifetime.ttl or 'no TTL'} is right; if so, turn the TTL by {on} off and deploy an hour later, "
            "because a TTL can be changed once an hour"
        )
    local = table.every_index[len(table.indexes) :]
    if not isinstance(seen.local_indexes, Unknown) and seen.local_indexes != {i.name: i for i in local}:
        yield "CloudFormation does not replace a table that is named, and a local index is made with its table only"
    if isinstance(seen.indexes, Unknown):
        return
    declared = {i.name: i for i in table.indexes}
    if changed := [n for n, i in seen.indexes.items() if n in declared and _differs(i, declared[n])]:
        yield (
            f"CloudFormation does not change the key or the projection of an index in place ({', '.join(changed)}): "
            "make a new index under another name in one deploy, switch its readers, and drop the old one in a second"
        )
    new = declared.keys() - seen.indexes.keys()
    if len(steps := sorted(new | seen.indexes.keys() - declared.keys())) > 1:
        yield (
            f"CloudFormation makes or deletes one index in each update, and {len(steps)} differ ({', '.join(steps)}): "
            "change the declaration one index at a time, with a deploy for each"
        )
    if not isinstance(live.indexes, Unknown) and (made := sorted(new & live.indexes.keys())):
        yield f"a deploy would try to create the index {made[0]}, which exists, and fail"
    view = table.stream.view.value if table.stream and not table.stream.pending else None
    if view and seen.stream != view and isinstance(live.stream, str):
        yield "DynamoDB does not change the view of a stream that is on, nor turn it on again"


def _differs(seen: Index | Unknown, declared: Index) -> bool:
    return isinstance(seen, Index) and seen != declared
