"""One declared store and its resource in a template: found, read, and asked for what it needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from holdfast.cfn.intrinsics import Reference, Resolver
from holdfast.cfn.template import StackSeen
from holdfast.estate.placement import Placed
from holdfast.kinds.broker.declaration import Broker
from holdfast.kinds.bucket.declaration import Bucket
from holdfast.kinds.cache.declaration import Cache
from holdfast.kinds.database.declaration import Database
from holdfast.kinds.documents.declaration import DocumentDatabase
from holdfast.kinds.registry.declaration import Registry
from holdfast.model.environment import Tier
from holdfast.model.facts import NONE, Guard
from holdfast.model.regions import partition
from holdfast.model.store import Store
from holdfast.rules.same import alike
from holdfast.rules.store_types import foreign_types
from holdfast.rules.subjects import encrypting_key
from holdfast.shared.key.policy import ACCOUNT
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Outcome, Verdict, fail, unknown

INSTANCE, CLUSTER, DOCUMENTS = "AWS::RDS::DBInstance", "AWS::RDS::DBCluster", "AWS::DocDB::DBCluster"
DOCUMENTS_INSTANCE = "AWS::DocDB::DBInstance"
CACHE, BROKER, BUCKET = "AWS::ElastiCache::ReplicationGroup", "AWS::MSK::Cluster", "AWS::S3::Bucket"
NAMESPACE, GROUP, KEY = "AWS::ServiceDiscovery::PrivateDnsNamespace", "AWS::EC2::SecurityGroup", "AWS::KMS::Key"
FUNCTION, LOG_GROUP, QUEUE, ROLE = (
    "AWS::Lambda::Function",
    "AWS::Logs::LogGroup",
    "AWS::SQS::Queue",
    "AWS::IAM::Role",
)
# The resource that is the store itself, and the property that names it.
IDENTITY: Mapping[type[Store], Mapping[str, str]] = {
    Database: {INSTANCE: "DBInstanceIdentifier", CLUSTER: "DBClusterIdentifier"},
    DocumentDatabase: {DOCUMENTS: "DBClusterIdentifier"},
    Cache: {CACHE: "ReplicationGroupId"},
    Broker: {BROKER: "ClusterName"},
    Bucket: {BUCKET: "BucketName"},
    Registry: {NAMESPACE: "Name"},
}
STORES = tuple(dict.fromkeys(kind for of in IDENTITY.values() for kind in of))
# The instances that a cluster consists of.
MEMBERS = {CLUSTER: INSTANCE, DOCUMENTS: DOCUMENTS_INSTANCE}


@dataclass(frozen=True, slots=True)
class StoreSubject:
    """One declared store, and the resource of a stack that is it, or that belongs to it."""

    placed: Placed
    store: Store
    required: Guard
    stack: StackSeen
    logical_id: str

    @property
    def about(self) -> Store:
        return self.store

    @property
    def where(self) -> str:
        return self.stack.at(self.logical_id)

    @property
    def resource(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.stack.template["Resources"][self.logical_id]
        return found

    @property
    def type(self) -> str:
        return str(self.resource["Type"])

    @property
    def name(self) -> str:
        return self.placed.fill(self.store.name)

    @property
    def prod(self) -> bool:
        return self.placed.env.tier is Tier.PROD

    def get(self, *path: str, default: Any = None) -> Any:
        return dig(self.stack, self.resource, "Properties", *path, default=default)

    def part(self, logical_id: str) -> StoreSubject:
        """Another resource, on behalf of the same store."""
        return replace(self, logical_id=logical_id)

    @property
    def members(self) -> Iterator[StoreSubject]:
        """The instances of a cluster, also those that only may be there."""
        for logical_id, resource in self.stack.possible(MEMBERS.get(self.type, "")):
            if self.logical_id in mentioned(resource.get("Properties", {})):
                yield self.part(logical_id)


def dig(stack: StackSeen, found: Any, *path: str, default: Any = None) -> Any:
    """A property of a property …, resolved; @ goes on in the resource that a property refers to, / is a dot."""
    for name in path:
        hop, plain = name.startswith("@"), name.removeprefix("@").replace("/", ".")
        if name == path[-1] or hop or not isinstance(found, dict) or _decided_later(found.get(plain)):
            found = stack.resolver.get(found, plain, default if name == path[-1] else {})
        else:
            found = found.get(plain, {})
        if hop:
            found = found[0] if isinstance(found, list) and len(found) == 1 else found
            target = stack.template["Resources"].get(found.logical_id) if isinstance(found, Reference) else None
            if not isinstance(target, dict) or stack.present(target) is not True:
                return Unknown(f"{plain} is no resource of this template")
            found = target.get("Properties", {})
    return found


def _decided_later(raw: Any) -> bool:
    return isinstance(raw, dict) and any(k == "Ref" or str(k).startswith("Fn::") for k in raw)


def flat(stack: StackSeen | None, raw: Any) -> str | Unknown:
    """A text as Fn::Sub would write it: what only the deploy knows stays in it as ${…}."""
    match raw:
        case str() | int():
            return str(raw)
        case {"Ref": str() as name} | {"Fn::GetAtt": str() as name}:
            text = f"${{{name}}}"
        case {"Fn::GetAtt": [str() as name, str() as attribute]}:
            text = f"${{{name}.{attribute}}}"
        case {"Fn::Sub": str() as text}:
            pass
        case {"Fn::Join": [str() as separator, [*parts]]}:
            texts = [flat(stack, part) for part in parts]
            undecided = next((t for t in texts if isinstance(t, Unknown)), None)
            return separator.join(map(str, texts)) if undecided is None else undecided
        case {"Fn::If": [condition, yes, no]} if stack is not None:
            holds = stack.resolver.condition(condition)
            return holds if isinstance(holds, Unknown) else flat(stack, yes if holds else no)
        case _:
            return Unknown("it is decided at deploy time")
    region = stack.region if stack else None
    return text.replace("${AWS::Partition}", partition(region)).replace("${AWS::Region}", region or "${AWS::Region}")


def mentioned(raw: Any) -> set[str]:
    """Every resource that a raw value refers to, in whichever way."""
    if isinstance(raw, dict):
        if isinstance(name := raw.get("Ref"), str):
            return set() if name.startswith("AWS::") else {name}
        if "Fn::GetAtt" in raw:
            match raw["Fn::GetAtt"]:
                case str() as name:
                    return {name.split(".")[0]}
                case [str() as name, *_]:
                    return {name}
        inside = set(re.findall(r"\$\{\s*(\w+)(?!\w|::)", str(raw["Fn::Sub"]))) if "Fn::Sub" in raw else set()
        return inside | {i for v in raw.values() for i in mentioned(v)}
    return {i for v in raw for i in mentioned(v)} if isinstance(raw, list) else set()


def identified(stack: StackSeen, logical_id: str) -> str | Unknown:
    """The name of a store's resource; the account's number, which no template knows, is left out of it."""
    resource = stack.template["Resources"][logical_id]
    kind = str(resource["Type"])
    attribute = next((names[kind] for names in IDENTITY.values() if kind in names), "")
    properties = resource.get("Properties")
    if not isinstance(properties, dict) or attribute not in properties:
        return Unknown("CloudFormation chooses its name")
    return without_account(stack, properties[attribute])


def without_account(stack: StackSeen, raw: Any) -> str | Unknown:
    """A text without the number of the account, which no template knows."""
    found = Resolver(stack.template, stack.region).text(_without_account(raw))
    return found if isinstance(found, str | Unknown) else Unknown(f"{found!r} is no name")


def declared_name(placed: Placed, store: Store) -> str:
    match store:
        case Bucket():
            return f"{placed.fill(store.name)}--{placed.region}"
        case Registry():
            return store.domain
        case _:
            return placed.fill(store.name)


def _without_account(raw: Any) -> Any:
    if raw == ACCOUNT:
        return ""
    if isinstance(raw, str):
        return raw.replace("${AWS::AccountId}", "")
    if isinstance(raw, dict):
        return {k: _without_account(v) for k, v in raw.items()}
    return [_without_account(v) for v in raw] if isinstance(raw, list) else raw


def find(stack: StackSeen, placed: Placed, store: Store) -> str | Unknown | None:
    """The logical id of a declared store, None where it is absent."""
    unsure: Unknown | None = stack.rewritten
    for kind in IDENTITY[type(store)] if unsure is None else ():
        for logical_id, resource in stack.possible(kind):
            name = identified(stack, logical_id)
            present = stack.present(resource)
            if name == declared_name(placed, store):
                if present is True:
                    return logical_id
                unsure = Unknown(f"whether {stack.at(logical_id)} exists is decided at deploy time")
            elif isinstance(name, Unknown) and not is_member(stack, logical_id):
                unsure = Unknown(f"it may be {stack.at(logical_id)}, whose name cannot be read: {name.reason}")
    return unsure


def strangers(stack: StackSeen, placed: Placed, matched: Collection[str]) -> Iterator[str]:
    """Stores that are declared nowhere: neither matched, nor a part of something that is."""
    if placed.stores and stack.rewritten is not None:
        return  # each of its stores is unknown already
    declared = {declared_name(placed, s) for s in placed.stores}
    logs = {
        dig(
            stack, stack.template["Resources"][i].get("Properties", {}), "LoggingConfiguration", "DestinationBucketName"
        )
        for i in matched
    }
    for kinds in IDENTITY.values():
        for kind in kinds:
            for logical_id, resource in stack.possible(kind):
                if logical_id in matched or Reference(logical_id) in logs or is_member(stack, logical_id):
                    continue
                if stack.present(resource) is not True and identified(stack, logical_id) in declared:
                    continue  # whether it exists is another rule's question
                yield logical_id
    yield from foreign_types(stack)


def is_member(stack: StackSeen, logical_id: str) -> bool:
    """An instance of an Aurora cluster of the same stack."""
    return stack.template["Resources"][logical_id]["Type"] == INSTANCE and cluster_of(stack, logical_id) is not None


def cluster_of(stack: StackSeen, logical_id: str) -> str | None:
    """The cluster of the same stack that an instance belongs to."""
    resource = stack.template["Resources"][logical_id]
    if resource["Type"] not in MEMBERS.values():
        return None
    cluster = dig(stack, resource, "Properties", "DBClusterIdentifier")
    return cluster.logical_id if any(stack.is_a(cluster, kind) for kind in MEMBERS) else None


Good = Callable[["StoreSubject", Any], bool]
Check = Callable[["StoreSubject"], Verdict]


@dataclass(frozen=True, slots=True)
class Need:
    """A property that has to be good, and what it means when it is not."""

    problem: str
    path: str  # with dots; @ goes on in the resource that a property refers to
    good: Good
    default: Any = None


def on(_: StoreSubject, value: Any) -> bool:
    return alike(value, True)


def off(_: StoreSubject, value: Any) -> bool:
    return value is None or alike(value, False)


def own(kind: str) -> Good:
    """A resource of the same stack."""
    return lambda s, value: s.stack.is_a(value, kind)


def own_key(s: StoreSubject, value: Any) -> bool:
    return encrypting_key(s.placed, s.stack, value)


def all_own(kind: str) -> Good:
    """Resources of the same stack, and at least one."""
    return lambda s, value: isinstance(value, list) and bool(value) and all(s.stack.is_a(v, kind) for v in value)


def at_least(count: int) -> Good:
    def good(_: StoreSubject, value: Any) -> bool:
        try:
            return float(value) >= count
        except (TypeError, ValueError):
            return False

    return good


def exactly(*wanted: Any) -> Good:
    return lambda _, value: any(alike(value, w) for w in wanted)


def starting(prefix: str) -> Good:
    return lambda _, value: str(value).startswith(prefix)


def names(*wanted: str) -> Good:
    return lambda _, value: isinstance(value, list) and set(wanted) <= {str(v) for v in value}


def some(_: StoreSubject, value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def met(s: StoreSubject, needs: Iterable[Need]) -> Verdict:
    """Whether every need is met; unknown where one cannot be read and none is unmet."""
    values = [(n, dig(s.stack, s.resource.get("Properties", {}), *n.path.split("."), default=n.default)) for n in needs]
    if bad := [n.problem for n, value in values if not isinstance(value, Unknown) and not n.good(s, value)]:
        return fail("; ".join(bad))
    unread = [f"{n.path.replace('@', '')} cannot be read: {v.reason}" for n, v in values if isinstance(v, Unknown)]
    return unknown(unread[0]) if unread else PASS


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The first that fails, else the first that does not know, else that all is well."""
    said = [v for v in verdicts if v not in (PASS, EXEMPT)]
    return next((v for v in said if v.outcome is Outcome.FAIL), said[0] if said else PASS)


def needs(
    by_type: Mapping[str, tuple[Need, ...]],
    *,
    members: Mapping[str, tuple[Need, ...]] = MappingProxyType({}),
    guard: Guard = NONE,
    prod: bool = False,
) -> Check:
    """The common check: what a store of each type needs, and its ``members``, where the policy requires ``guard``."""

    def check(s: StoreSubject) -> Verdict:
        asked = s.type in by_type or MEMBERS.get(s.type) in members
        if guard not in s.required or (prod and not s.prod) or not asked:
            return EXEMPT
        of_members = [about(m, met(m, members.get(m.type, ()))) for m in s.members]
        return worst([met(s, by_type.get(s.type, ())), *of_members])

    return check


def about(member: StoreSubject, verdict: Verdict) -> Verdict:
    return verdict if verdict in (PASS, EXEMPT) else replace(verdict, detail=f"{member.logical_id}: {verdict.detail}")
