"""What a resource lost between two states: by the guards that each kind and each shared resource declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from holdfast.cfn.compare import ABSENT, value_at
from holdfast.cfn.strength import RETAINED, kept, one_of, own_key
from holdfast.cfn.tree import items, read
from holdfast.contract import deletes, policies
from holdfast.contract.tags import PRODUCTION, environment_label, names, production
from holdfast.kinds.bucket.guards import key as bucket_key
from holdfast.kinds.kinds import KINDS
from holdfast.kinds.table import guards as table
from holdfast.kinds.table.guards import as_table
from holdfast.kinds.table.observed import GLOBAL_TABLE, TABLE
from holdfast.model.facts import Guard
from holdfast.shared.alarms import guards as alarms
from holdfast.shared.key import guards as key
from holdfast.shared.logs import guards as logs
from holdfast.shared.network import guards as network
from holdfast.shared.readings import BACKUPS, GuardReading, Path, Protection, at, properties
from holdfast.shared.roles import guards as roles
from holdfast.shared.topic import guards as topic
from holdfast.shared.vault import guards as vault
from holdfast.text import counted

Json = dict[str, Any]
DECLARED = (
    *(m.PROTECTIONS for m in (key, vault, topic, logs, alarms, network, roles)),
    *(table.PROTECTIONS, *(kind.guards for kind in KINDS)),  # where a kind says more of a type, that counts
)
OF_TYPE: Mapping[str, Protection] = {p.type: p for protections in DECLARED for p in protections}
# What holds data, and the property that names it.
STORES: Mapping[str, str] = {p.type: p.name for p in OF_TYPE.values() if p.name}
# What protects by being there.
PROTECTORS: Mapping[str, str] = {p.type: p.protects for p in OF_TYPE.values() if p.protects}
# What else holds data, and is not of a kind of its own.
OTHER_HOLDERS = (
    "AWS::CloudTrail::EventDataStore",
    "AWS::Cognito::UserPool",
    "AWS::EC2::Volume",
    "AWS::ECR::Repository",
    "AWS::EFS::FileSystem",
    "AWS::FSx::FileSystem",
    "AWS::Kinesis::Stream",
    "AWS::Neptune::DBCluster",
    "AWS::OpenSearchService::Domain",
    "AWS::Redshift::Cluster",
    "AWS::S3Tables::Table",
    "AWS::Timestream::Table",
)
# What is lost when it is made anew: data, what data is encrypted with, subscriptions that were confirmed by hand.
HOLDERS = frozenset((*STORES, *(p.type for p in OF_TYPE.values() if p.holds), *OTHER_HOLDERS))
LIFETIMES, CLASSES = ("transient", "durable"), ("operational", "personal")
# Of personal durable data in production: nothing approves their loss.
UNTOUCHABLE = frozenset(g.short for g in (Guard.DELETION_PROTECTION, Guard.RETAIN, Guard.CUSTOMER_KEY))
FACTS = frozenset({"data class", "lifetime"})
FIRST = (Guard.DELETION_PROTECTION, Guard.RETAIN, Guard.PITR, Guard.CUSTOMER_KEY)
# In the order in which they are said.
SHORT = (*(g.short for g in FIRST), "backups", "versions", "lock", Guard.TTL.short)
EVERYWHERE = (
    GuardReading("retained (DeletionPolicy)", ("DeletionPolicy",), kept, Guard.RETAIN.short),
    GuardReading("retained (UpdateReplacePolicy)", ("UpdateReplacePolicy",), kept, Guard.RETAIN.short),
    at("Tags/DataClass", one_of(*CLASSES), "data class"),
    at("Tags/Lifetime", one_of(*LIFETIMES), "lifetime"),
)


@dataclass(frozen=True, slots=True)
class Loss:
    """What a resource no longer has: where, both values, in words (none where another loss says it), and its guard."""

    path: Path
    before: Any
    after: Any
    says: str
    short: str


def protection(kind: str) -> Protection:
    return OF_TYPE.get(kind) or Protection(type=kind)


@cache
def readings(kind: str, words: tuple[str, ...] = PRODUCTION) -> tuple[GuardReading, ...]:
    """``words`` are what the tag Environment says of production."""
    production = at("Tags/Environment", lambda v: float(v in words), "production environment")
    return (*protection(kind).readings, *EVERYWHERE, production)


def losses(old: Json, new: Json, words: tuple[str, ...] = PRODUCTION) -> Iterator[Loss]:
    """Every guard that is read from ``old`` and not, or weaker, from ``new``; and what deletes data that did not."""
    kind = type_of(old)
    if {kind, type_of(new)} == {TABLE, GLOBAL_TABLE}:
        kind, old, new = TABLE, as_table(old), as_table(new)
    of = protection(kind)
    yield from _lost(readings(kind, words), old, new)
    for path, label in of.members:
        yield from _fewer(properties(path), label, old, new)
    for path, says, short in of.fixed:
        yield from _other(properties(path), says, short, old, new)
    for path, says in of.openings:
        yield from _more(properties(path), says, old, new)
    yield from _replaced(of, old, new)
    if kind == GLOBAL_TABLE:
        yield from _replicas(old, new)
    for place, says in deletes.sooner(old, new):
        yield Loss(place, value_at(old, place), value_at(new, place), says, _short(place, says))


def _short(place: Path, says: str) -> str:
    return "backups" if place == deletes.BACKUPS else "TTL" if "TTL" in says else ""


def _lost(guards: tuple[GuardReading, ...], old: Json, new: Json, at: Path = (), where: str = "") -> Iterator[Loss]:
    told: set[str] = set()
    for guard in guards:
        was, is_ = (guard.strength(read(r, guard.source)) for r in (old, new))
        if not was or (is_ is not None and is_ >= was):
            continue
        says = "" if guard.within in told else f"{guard.label} is {'lowered' if is_ else 'lost'}{where}"
        told.add(guard.label)
        yield Loss((*at, *guard.path), value_at(old, guard.path), value_at(new, guard.path), says, guard.short)


def _fewer(path: Path, label: str, old: Json, new: Json) -> Iterator[Loss]:
    before, after = read(old, path), read(new, path)
    if not isinstance(before, list) or not before or after == before:
        return
    left = after if isinstance(after, list) else []
    if lost := [item for item in before if item not in left]:
        says = f"{label} is lost" if not left else f"{len(lost)} of {len(before)} {label}s are lost"
        yield Loss(path, before, value_at(new, path), says, "")


def _other(path: Path, says: str, short: str, old: Json, new: Json) -> Iterator[Loss]:
    before, after = value_at(old, path), value_at(new, path)
    if path[-1] in ("Topics", "Queues") and all(i in items(after) for i in items(before)):
        return
    if before != after and not (path[-1] == "Threshold" and _more_sensitive(old, new)):
        yield Loss(path, before, after, says, short)


def _more_sensitive(old: Json, new: Json) -> bool:
    """Whether an alarm certainly rings whenever it did."""
    operators = [read(r, ("Properties", "ComparisonOperator")) for r in (old, new)]
    was, is_ = (read(r, ("Properties", "Threshold")) for r in (old, new))
    if not isinstance(was, int | float) or not isinstance(is_, int | float) or operators[0] != operators[1]:
        return False
    greater, less = (str(operators[0]).startswith(f"{word}Than") for word in ("Greater", "Less"))
    return (greater and is_ <= was) or (less and is_ >= was)


def _more(path: Path, says: str, old: Json, new: Json) -> Iterator[Loss]:
    before, after = ([_bare(i) for i in items(read(r, path))] for r in (old, new))
    if gained := [i for i in after if i not in before]:
        found = ", ".join(dict.fromkeys(map(_who, gained)))
        yield Loss(path, value_at(old, path), value_at(new, path), f"{says} {found}", "")


def _bare(item: Any) -> Any:
    return {k: v for k, v in item.items() if k != "Description"} if isinstance(item, dict) else item


def _who(item: Any) -> str:
    """The address, the group or the role that an item of a list names."""
    names = ("CidrIp", "CidrIpv6", "SourceSecurityGroupId", "DestinationSecurityGroupId", "SourcePrefixListId")
    found = next((item[n] for n in names if n in item), item) if isinstance(item, dict) else item
    return policies.spelled(found)


def _replaced(of: Protection, old: Json, new: Json) -> Iterator[Loss]:
    """A key or a parameter group of the template that something outside of it takes the place of."""
    for path in (r.path for r in of.readings if r.label == Guard.CUSTOMER_KEY.label and r.strength is not bucket_key):
        before, after = read(old, path), read(new, path)
        if before != after and own_key(before) and own_key(after) and not _of_template(after):
            yield Loss(path, before, after, f"{Guard.CUSTOMER_KEY.label} is replaced", "key")
    if of.parameter_group:
        path = properties(of.parameter_group)
        before, after = read(old, path), read(new, path)
        if before is not None and before != after and not _of_template(after):
            yield Loss(path, before, value_at(new, path), "parameter group is replaced", "")


def _of_template(value: Any) -> bool:
    return isinstance(value, dict) and not value.keys().isdisjoint({"Ref", "Fn::GetAtt"})


def _replicas(old: Json, new: Json) -> Iterator[Loss]:
    """A global table has its guards in each region."""
    path = ("Properties", "Replicas")
    before, after = ({str(r.get("Region")): r for r in read(t, path) or () if isinstance(r, dict)} for t in (old, new))
    for region, replica in before.items():
        if region in after:
            yield from _lost(table.OF_REPLICA, replica, after[region], (*path, region), f" in {region}")
        else:
            yield Loss((*path, region), replica, ABSENT, f"the replica in {region} is gone", "")


# What a resource is


def type_of(resource: Json) -> str:
    """Anything may stand there in a template."""
    return str(resource.get("Type"))


def store_name(resource: Any) -> str | None:
    """What a store is called, by its tag Name where a deploy names it; None for what holds no data."""
    if not isinstance(resource, dict) or type_of(resource) not in STORES:
        return None
    found = (read(resource, ("Properties", STORES[type_of(resource)])), tag(resource, "Name"))
    return next((name for name in found if isinstance(name, str)), "")


def physical_name(resource: Json) -> str | None:
    """What the template itself calls a store, as text where a deploy fills something in."""
    found = read(resource, ("Properties", STORES.get(type_of(resource), "")))
    return found if isinstance(found, str | None) else policies.spelled(found)


def holds(resource: Json) -> bool:
    """Whether something is lost when it goes: by its type, or because the template itself keeps it."""
    kept = (resource.get(policy) for policy in ("DeletionPolicy", "UpdateReplacePolicy"))
    return type_of(resource) in HOLDERS or any(k in (*RETAINED, "Snapshot") for k in kept)


def retained(resource: Json) -> bool:
    """Whether its data stays when it leaves the template, and when it is replaced."""
    return all(resource.get(policy) in RETAINED for policy in ("DeletionPolicy", "UpdateReplacePolicy"))


def tag(resource: Json, name: str) -> Any:
    return read(as_table(resource), ("Properties", "Tags", name))


def environment(contract: Json) -> str:
    """What an environment is called: its label, the stack's tag Environment, else its account and region."""
    of = stack(contract)
    if said := environment_label(contract):
        return said
    used = names(contract).get("Environment", "Environment")
    return str(read(of, ("tags", "Environment")) or read(of, ("tags", used)) or of.get("environment") or "")


def in_production(contract: Json, resource: Json) -> bool:
    """By the tag Environment of the resource or the stack, or because the stack is protected from being deleted."""
    of = stack(contract)
    said = (tag(resource, "Environment"), read(of, ("tags", "Environment")))
    return of.get("terminationProtection") is True or any(s in production(contract) for s in said)


def stack(contract: Json) -> Json:
    """What the manifest says of it, or of the stack that it is nested in."""
    found: Json = contract.get("of") or contract["stack"]
    return found


def untouchable(contract: Json, resource: Json) -> bool:
    """Personal durable data in production."""
    facts = tag(resource, "DataClass"), tag(resource, "Lifetime")
    return facts == ("personal", "durable") and in_production(contract, resource)


def held(resource: Json) -> list[str]:
    """The guards of a store by their short names, for one line."""
    found: dict[str, bool] = {}
    days = 0.0
    for guard in readings(type_of(resource)):
        strength = guard.strength(read(resource, guard.source)) or 0.0
        if guard.short:
            found[guard.short] = found.get(guard.short, True) and strength > 0
        if guard.label == BACKUPS:
            days = strength
    names = sorted((name for name, on in found.items() if on), key=SHORT.index)
    names = [f"{name} {counted(int(days), 'day')}" if name in ("PITR", "backups") else name for name in names]
    return [*names, *([f"TTL {attribute}"] if (attribute := deletes.expiry(resource)) else [])]
