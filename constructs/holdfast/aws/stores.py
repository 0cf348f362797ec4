"""Reads the declared stores that are not tables: what each API shows of them, as resources of their stack."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.aws.calls import MEMBERS, TAGS
from holdfast.aws.failure import CallError, Kind
from holdfast.aws.session import Api
from holdfast.cfn.template import Source, StackSeen
from holdfast.cfn.types import ALARM, GROUP, KEY, PLAN, ROLE, TOPIC, VAULT
from holdfast.estate.placement import Placed
from holdfast.kinds.bucket.types import BUCKET
from holdfast.kinds.database.live import INSTANCES
from holdfast.kinds.kinds import ARNS, KINDS, kind_of
from holdfast.kinds.live import Found, Listed, ReadContext
from holdfast.model.facts import Encryption
from holdfast.model.store import Store
from holdfast.policy.required import TagSource
from holdfast.shared.account import Aspect, StackLive, Stores, StoreSeen
from holdfast.shared.alarms.live import alarm as live_alarm
from holdfast.shared.calls import Call
from holdfast.shared.key.observed import ObservedKey
from holdfast.shared.live import Resource, StackResources, shaped
from holdfast.shared.network.live import GROUPS, group
from holdfast.shared.vault.live import (
    DESCRIBE_VAULT,
    GET_PLAN,
    GET_SELECTION,
    LIST_SELECTIONS,
    plan,
    selection,
    vault,
)
from holdfast.threads import Pool
from holdfast.unknown import Unknown

Hole = Callable[[CallError, str], Unknown]
AT_ONCE = 8
READINGS = tuple(kind.live for kind in KINDS if kind.live)
TAGGED = sorted({tagged for reading in READINGS for tagged in reading.tagged})
BESIDE = (KEY, BUCKET, ROLE)  # what only has to be there


def key(placed: Placed, store: Store) -> tuple[str, str, str]:
    """How a store is found among those of an account."""
    return placed.id, type(store).__name__, placed.fill(store.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRead:
    """What the reader of tables has read already, or knows how to read."""

    account: str
    stacks: Mapping[str, StackLive] | Unknown
    alarms: Listed
    topics: Listed
    key: Callable[[str], ObservedKey | Encryption | Unknown]


def read(api: Api, places: Sequence[Placed], around: AccountRead, hole: Hole) -> Stores:
    """Every store of ``places`` that is in this account and region."""
    return _Reader(api, places, around, hole).read()


class _Reader:
    def __init__(self, api: Api, places: Sequence[Placed], around: AccountRead, hole: Hole) -> None:
        self._api, self._around, self._hole = api, around, hole
        self._places = [p for p in places if p.stores and p.region == api.region]

    def read(self) -> Stores:
        readings = [kind_of(s).live for p in self._places for s in p.stores]
        wanted = dict.fromkeys(call for reading in readings if reading for call in reading.listings)
        if not self._places:
            return Stores(found={})
        with Pool(AT_ONCE) as pool:
            tagged = pool.submit(self._tagged)
            listed = dict(zip(wanted, pool.map(self.ask_all, wanted), strict=True))
            stacks = [_Stack(self, p, listed) for p in self._places]
            pool.map(lambda stack: stack.read(), stacks)
        found: dict[tuple[str, str, str], StoreSeen | Unknown] = {}
        for stack in stacks:
            found |= stack.found()
        return Stores(
            found=found,
            keys={s.placed.id: s.key for s in stacks if s.key is not None},
            groups={s.placed.id: s.groups for s in stacks if s.groups is not None},
            tagged=self._without_nodes(tagged.result(), listed.get(INSTANCES, [])),
        )

    # Calls

    def ask(self, call: Call, about: str, **parameters: Any) -> dict[str, Any] | Unknown | None:
        """The answer; empty where nothing is set, None where there is nothing to ask about."""
        try:
            return self._api.call(call, **parameters)
        except CallError as failure:
            if failure.code in call.absent:
                return {}
            if failure.kind is Kind.GONE or failure.code == "NoSuchBucket":
                return None
            return self._hole(failure, about)

    def ask_all(self, call: Call, about: str = "", **parameters: Any) -> Listed:
        try:
            return [item for page in self._api.pages(call, **parameters) for item in page[call.member]]
        except CallError as failure:
            return [] if failure.kind is Kind.GONE else self._hole(failure, about)

    @property
    def account(self) -> str:
        return self._around.account

    @property
    def around(self) -> AccountRead:
        return self._around

    @property
    def partition(self) -> str:
        return self._api.partition

    @property
    def prefix(self) -> str:
        """What the ARNs of services in this account and region begin with, and end with the service."""
        return f"arn:{self.partition}:{{}}:{self._api.region}:{self.account}"

    def _tagged(self) -> dict[str, Mapping[str, str]] | Unknown:
        """Every store that has all of our tags, declared or not."""
        required = self._places[0].policy.tags
        ours = [n for n, source in required.items() if isinstance(source, str) or source is TagSource.SYSTEM]
        mine = [
            {"Key": name, "Values": sorted({p.tags[name] for p in self._places})}
            for name in ours or [n for n, source in required.items() if source is TagSource.OWNER]
        ]
        found = self.ask_all(TAGS, TagFilters=mine, ResourceTypeFilters=TAGGED, ResourcesPerPage=100)
        if isinstance(found, Unknown):
            return found
        here = [r for r in found if r["ResourceARN"].split(":")[3] in ("", self._api.region)]
        tags = {r["ResourceARN"]: {t["Key"]: t["Value"] for t in r["Tags"]} for r in here}
        return {arn: own for arn, own in tags.items() if required.keys() <= own.keys()}

    @staticmethod
    def _without_nodes(tagged: dict[str, Mapping[str, str]] | Unknown, instances: Listed) -> Any:
        """A cluster's instances have its tags, and are not stores of their own."""
        if isinstance(tagged, Unknown) or isinstance(instances, Unknown):
            return tagged
        nodes = {i["DBInstanceArn"] for i in instances if i.get("DBClusterIdentifier")}
        return {arn: tags for arn, tags in tagged.items() if arn not in nodes}


class _Stack:
    """One declared stack: its live resources are collected here."""

    def __init__(self, reader: _Reader, placed: Placed, listed: Mapping[Call, Listed]) -> None:
        self.placed, self._reader, self._listed = placed, reader, listed
        self.key: ObservedKey | Encryption | Unknown | None = None
        self.groups: StackSeen | Unknown | None = None
        self._stores: dict[tuple[str, str, str], Found | Unknown] = {}
        self._shared: dict[Aspect, Unknown] = {}
        self._context = self._in(StackResources({}))

    def _in(self, own: StackResources) -> ReadContext:
        reader = self._reader
        return ReadContext(
            placed=self.placed,
            account=reader.account,
            partition=reader.partition,
            ask=reader.ask,
            ask_all=reader.ask_all,
            listed=self._listed,
            own=own,
        )

    def read(self) -> None:
        members = self._members()
        if isinstance(members, Unknown):
            self._shared[Aspect.OWN] = members
        else:
            self._context = self._in(StackResources(members, self._shared_key()))
        for store in self.placed.stores:
            reading = kind_of(store).live
            found = reading.read(self._context, store, self.placed.fill(store.name)) if reading else None
            if found is not None:
                self._stores[key(self.placed, store)] = found
        self._beside()
        self._groups()
        self._backups()
        self._alarms()

    def found(self) -> dict[tuple[str, str, str], StoreSeen | Unknown]:
        seen = self._seen(self._context.resources)
        return {
            name: found
            if isinstance(found, Unknown)
            else StoreSeen(
                arn=found.arn,
                stack=seen,
                logical_id=found.logical_id,
                status=found.status,
                unread={**self._shared, **found.unread},
            )
            for name, found in self._stores.items()
        }

    def _seen(self, resources: Mapping[str, Resource]) -> StackSeen:
        p = self.placed
        return StackSeen(
            id=p.id,
            where=f"{p.region}/{p.name}",
            template={"Resources": resources},
            name=p.name,
            region=p.region,
            source=Source.LIVE,
        )

    def _members(self) -> dict[tuple[str, str], str] | Unknown:
        stacks = self._reader.around.stacks
        if not isinstance(stacks, Unknown) and self.placed.name not in stacks:
            return {}
        listed = self._reader.ask_all(MEMBERS, self.placed.name, StackName=self.placed.name)
        if isinstance(listed, Unknown):
            return listed
        return {
            (m["ResourceType"], m["PhysicalResourceId"]): m["LogicalResourceId"]
            for m in listed
            if m.get("PhysicalResourceId") and m.get("ResourceStatus") != "DELETE_COMPLETE"
        }

    def _shared_key(self) -> dict[str, str]:
        """The ARN of the key that another stack made for this one, and what the rules call it."""
        holder, stacks = self.placed.key_holder, self._reader.around.stacks
        if holder is None or isinstance(stacks, Unknown) or holder.name not in stacks:
            return {}
        arn = stacks[holder.name].exports.get(holder.key_export)
        return {arn: str(self.placed.foreign_key)} if arn else {}

    # What stands around them

    def _beside(self) -> None:
        """Resources that only have to be there, such as the key and the bucket for access logs."""
        for (kind, physical), logical_id in self._context.own.members.items():
            if kind in BESIDE and logical_id not in self._context.resources:
                self._context.resources[logical_id] = shaped(kind, {})
                if kind == KEY:
                    arn = f"{self._reader.prefix.format('kms')}:key/{physical}"
                    self.key = self._reader.around.key(arn)

    def _groups(self) -> None:
        wanted = self._context.own.physical(GROUP)
        listed: Listed = []
        if wanted:
            chosen = [{"Name": "group-id", "Values": wanted}]  # by id alone, one that is gone would be an error
            listed = self._reader.ask_all(GROUPS, self.placed.name, Filters=chosen)
        if isinstance(listed, Unknown):
            self._shared[Aspect.GROUPS] = self.groups = listed
            return
        own = [g for g in listed if g["GroupId"] in wanted]
        ids = {self._context.add(GROUP, g["GroupId"], group(g, self._context.own)) for g in own}
        self.groups = self._seen({i: self._context.resources[i] for i in ids})

    def _backups(self) -> None:
        arns = {f.arn: self._reference(f) for f in self._stores.values() if isinstance(f, Found)}
        for name in self._context.own.physical(VAULT):
            answer = self._reader.ask(DESCRIBE_VAULT, name, BackupVaultName=name)
            if isinstance(answer, Unknown):
                self._shared[Aspect.BACKUPS] = answer
            elif answer is not None:
                self._context.add(VAULT, name, vault(answer, self._context.own))
        for name in self._context.own.physical(PLAN):
            answer = self._reader.ask(GET_PLAN, name, BackupPlanId=name)
            if isinstance(answer, Unknown):
                self._shared[Aspect.BACKUPS] = answer
            elif answer is not None and not answer.get("DeletionDate"):
                self._selections(
                    name, self._context.add(PLAN, name, plan(answer["BackupPlan"], self._context.own)), arns
                )

    def _reference(self, found: Found) -> Any:
        """How a template writes the ARN of a store."""
        kind = str(self._context.resources[found.logical_id]["Type"])
        if kind in ARNS:
            return {"Fn::GetAtt": [found.logical_id, ARNS[kind]]}
        # DocumentDB has no such attribute.
        return {"Fn::Join": ["", [f"{found.arn.rpartition(':')[0]}:", {"Ref": found.logical_id}]]}

    def _selections(self, plan_id: str, logical_id: str, arns: Mapping[str, Any]) -> None:
        listed = self._reader.ask_all(LIST_SELECTIONS, plan_id, BackupPlanId=plan_id)
        if isinstance(listed, Unknown):
            self._shared[Aspect.BACKUPS] = listed
            return
        for number, chosen in enumerate(listed):
            asked = {"BackupPlanId": plan_id, "SelectionId": chosen["SelectionId"]}
            answer = self._reader.ask(GET_SELECTION, chosen.get("SelectionName", plan_id), **asked)
            if isinstance(answer, Unknown):
                self._shared[Aspect.BACKUPS] = answer
            elif answer is not None:
                made = selection(answer["BackupSelection"], logical_id, arns, self._context.own)
                self._context.resources[f"{logical_id}Selection{number}"] = made

    def _alarms(self) -> None:
        alarms, topics = self._reader.around.alarms, self._reader.around.topics
        for listed in (alarms, topics):
            if isinstance(listed, Unknown):
                self._shared[Aspect.ALARMS] = listed
        there = set() if isinstance(topics, Unknown) else {t["TopicArn"] for t in topics}
        for arn in self._context.own.physical(TOPIC):
            if arn in there:
                self._context.add(TOPIC, arn, shaped(TOPIC, {}))
        for alarm in () if isinstance(alarms, Unknown) else alarms:
            if self._context.own.id(ALARM, alarm["AlarmName"]):
                self._context.add(ALARM, alarm["AlarmName"], live_alarm(alarm, self._context.own))
