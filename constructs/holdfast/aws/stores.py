"""Reads the declared stores that are no tables: what each API shows of them, as resources of their stack."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from holdfast.aws.calls import TAGS
from holdfast.aws.failure import CallError, Kind
from holdfast.aws.session import Api
from holdfast.cfn.template import Source, StackSeen
from holdfast.estate.placement import Placed
from holdfast.kinds import live_calls as calls
from holdfast.kinds import live_words as words
from holdfast.kinds.broker.declaration import Broker
from holdfast.kinds.bucket.declaration import Bucket
from holdfast.kinds.cache.declaration import Cache
from holdfast.kinds.database.declaration import Database
from holdfast.kinds.documents.declaration import DocumentDatabase
from holdfast.kinds.live_words import Own, Resource
from holdfast.kinds.settings import CACHE_PARAMETERS, DOCUMENT_PARAMETERS, database_parameters
from holdfast.model.facts import Encryption
from holdfast.model.store import Store
from holdfast.policy.required import TagSource
from holdfast.shared.account import Aspect, StackLive, Stores, StoreSeen
from holdfast.shared.calls import Call
from holdfast.shared.key.observed import ObservedKey
from holdfast.unknown import Unknown

Listed = list[dict[str, Any]] | Unknown
Hole = Callable[[CallError, str], Unknown]
# What has to be listed for each kind of store, once for an account and region.
LISTINGS: Mapping[type, tuple[Call, ...]] = {
    Database: (calls.INSTANCES, calls.CLUSTERS),
    DocumentDatabase: (calls.INSTANCES, calls.CLUSTERS),
    Cache: (calls.CACHES, calls.NODES, calls.USER_GROUPS, calls.USERS),
    Broker: (calls.BROKER_LIST,),
}
OF_A_BUCKET = {
    calls.ENCRYPTION: Aspect.ENCRYPTION,
    calls.VERSIONS: Aspect.VERSIONS,
    calls.BUCKET_POLICY: Aspect.POLICY,
    calls.PUBLIC: Aspect.PUBLIC,
    calls.OWNERSHIP: Aspect.PUBLIC,
    calls.LIFECYCLE: Aspect.LIFECYCLE,
    calls.LOGGING: Aspect.LOGGING,
    calls.BUCKET_TAGS: Aspect.TAGS,
    calls.LOCK: Aspect.LOCK,
}
TAGGED = ("rds:db", "rds:cluster", "elasticache:replicationgroup", "kafka:cluster", "s3")
AT_ONCE = 8
NOBODY = "nobody"  # the group of a cache that has none, and so no users of its own


def key(placed: Placed, store: Store) -> tuple[str, str, str]:
    """How a store is found among those of an account."""
    return placed.id, type(store).__name__, placed.fill(store.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What the reader of tables has read already, or knows how to read."""

    account: str
    stacks: Mapping[str, StackLive] | Unknown
    alarms: Listed
    topics: Listed
    key: Callable[[str], ObservedKey | Encryption | Unknown]


def read(api: Api, places: Sequence[Placed], around: Around, hole: Hole) -> Stores:
    """Every store of ``places`` that is in this account and region."""
    return _Reader(api, places, around, hole).read()


class _Reader:
    def __init__(self, api: Api, places: Sequence[Placed], around: Around, hole: Hole) -> None:
        self._api, self._around, self._hole = api, around, hole
        self._places = [p for p in places if p.stores and p.region == api.region]

    def read(self) -> Stores:
        kinds = {type(s) for p in self._places for s in p.stores}
        wanted = dict.fromkeys(c for kind in kinds for c in LISTINGS.get(kind, ()))
        if not self._places:
            return Stores(found={})
        with ThreadPoolExecutor(AT_ONCE) as pool:
            tagged = pool.submit(self._tagged)
            listed = dict(zip(wanted, pool.map(self.ask_all, wanted), strict=True))
            stacks = [_Stack(self, p, listed) for p in self._places]
            list(pool.map(lambda stack: stack.read(), stacks))
        found: dict[tuple[str, str, str], StoreSeen | Unknown] = {}
        for stack in stacks:
            found |= stack.found()
        return Stores(
            found=found,
            keys={s.placed.id: s.key for s in stacks if s.key is not None},
            groups={s.placed.id: s.groups for s in stacks if s.groups is not None},
            tagged=self._without_nodes(tagged.result(), listed.get(calls.INSTANCES, [])),
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
    def around(self) -> Around:
        return self._around

    @property
    def partition(self) -> str:
        return self._api.partition

    @property
    def prefix(self) -> str:
        """What the ARNs of services in this account and region begin with, and end with the service."""
        return f"arn:{self.partition}:{{}}:{self._api.region}:{self.account}"

    def _tagged(self) -> dict[str, Mapping[str, str]] | Unknown:
        """Every store that wears all of our tags, declared or not."""
        required = self._places[0].policy.tags
        ours = [n for n, source in required.items() if isinstance(source, str) or source is TagSource.SYSTEM]
        mine = [
            {"Key": name, "Values": sorted({p.tags[name] for p in self._places})}
            for name in ours or [n for n, source in required.items() if source is TagSource.OWNER]
        ]
        found = self.ask_all(TAGS, TagFilters=mine, ResourceTypeFilters=list(TAGGED), ResourcesPerPage=100)
        if isinstance(found, Unknown):
            return found
        here = [r for r in found if r["ResourceARN"].split(":")[3] in ("", self._api.region)]
        tags = {r["ResourceARN"]: {t["Key"]: t["Value"] for t in r["Tags"]} for r in here}
        return {arn: own for arn, own in tags.items() if required.keys() <= own.keys()}

    @staticmethod
    def _without_nodes(tagged: dict[str, Mapping[str, str]] | Unknown, instances: Listed) -> Any:
        """A cluster's instances have its tags, and are no stores of their own."""
        if isinstance(tagged, Unknown) or isinstance(instances, Unknown):
            return tagged
        nodes = {i["DBInstanceArn"] for i in instances if i.get("DBClusterIdentifier")}
        return {arn: tags for arn, tags in tagged.items() if arn not in nodes}


@dataclass
class _Found:
    """One store that is live, before the whole stack is known."""

    arn: str
    logical_id: str
    status: str = "available"
    unread: dict[Aspect, Unknown] = field(default_factory=dict)


class _Stack:
    """One declared stack: its live resources are collected here."""

    def __init__(self, reader: _Reader, placed: Placed, listed: Mapping[Call, Listed]) -> None:
        self.placed, self._reader, self._listed = placed, reader, listed
        self.key: ObservedKey | Encryption | Unknown | None = None
        self.groups: StackSeen | Unknown | None = None
        self._resources: dict[str, Resource] = {}
        self._stores: dict[tuple[str, str, str], _Found | Unknown] = {}
        self._shared: dict[Aspect, Unknown] = {}
        self._own = Own({})

    def read(self) -> None:
        members = self._members()
        if isinstance(members, Unknown):
            self._shared[Aspect.OWN] = members
        else:
            self._own = Own(members, self._shared_key())
        for store in self.placed.stores:
            found = self._store(store)
            if found is not None:
                self._stores[key(self.placed, store)] = found
        self._beside()
        self._groups()
        self._backups()
        self._alarms()

    def found(self) -> dict[tuple[str, str, str], StoreSeen | Unknown]:
        seen = self._seen(self._resources)
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
        listed = self._reader.ask_all(calls.MEMBERS, self.placed.name, StackName=self.placed.name)
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

    def _id(self, kind: str, physical: str) -> str:
        """The logical id of the stack; one of our own for what is live and not in it."""
        noun = kind.rpartition("::")[2]
        return self._own.id(kind, physical) or f"Live{noun}{''.join(c for c in physical if c.isalnum())}"

    def _add(self, kind: str, physical: str, resource: Resource) -> str:
        logical_id = self._id(kind, physical)
        self._resources[logical_id] = resource
        return logical_id

    # Stores

    def _store(self, store: Store) -> _Found | Unknown | None:
        name = self.placed.fill(store.name)
        match store:
            case Database():
                found = self._instance(store, name)
                return self._cluster(store, name) if found is None or isinstance(found, Unknown) else found
            case DocumentDatabase():
                return self._cluster(store, name)
            case Cache():
                return self._cache(name)
            case Broker():
                return self._broker(store, name)
            case Bucket():
                return self._bucket(f"{name}-{self._reader.account}-{self.placed.region}")
        return None  # a registry: what runs registers itself

    def _instance(self, store: Database, name: str) -> _Found | Unknown | None:
        listed = self._listed[calls.INSTANCES]
        if isinstance(listed, Unknown):
            return listed
        i = next((i for i in listed if i["DBInstanceIdentifier"] == name and not i.get("DBClusterIdentifier")), None)
        if i is None:
            return None
        found = _Found(i["DBInstanceArn"], self._id(words.INSTANCE, name), str(i.get("DBInstanceStatus", "available")))
        groups = [g["DBParameterGroupName"] for g in i.get("DBParameterGroups", ())]
        parameters = self._parameters(words.INSTANCE, calls.PARAMETERS, groups, set(database_parameters(store)), found)
        self._add(words.INSTANCE, name, words.instance(i, self._own, parameters, None))
        return found

    def _cluster(self, store: Database | DocumentDatabase, name: str) -> _Found | Unknown | None:
        listed, nodes = self._listed[calls.CLUSTERS], self._listed[calls.INSTANCES]
        documents = isinstance(store, DocumentDatabase)
        if isinstance(listed, Unknown):
            return listed
        if isinstance(nodes, Unknown) and not documents:
            return nodes  # it may be an instance that could not be listed
        own = [c for c in listed if c["DBClusterIdentifier"] == name and (c.get("Engine") == "docdb") == documents]
        if not own:
            return None
        c, kind = own[0], words.DOCUMENTS if documents else words.CLUSTER
        found = _Found(c["DBClusterArn"], self._id(kind, name), str(c.get("Status", "available")))
        declared = set(DOCUMENT_PARAMETERS if isinstance(store, DocumentDatabase) else database_parameters(store))
        group = [c["DBClusterParameterGroup"]] if c.get("DBClusterParameterGroup") else []
        parameters = self._parameters(kind, calls.CLUSTER_PARAMETERS, group, declared, found)
        logical_id = self._add(kind, name, words.cluster(c, self._own, parameters))
        for i in () if isinstance(nodes, Unknown) else nodes:
            if i.get("DBClusterIdentifier") == name:
                node = words.instance(i, self._own, None, {"Ref": logical_id})
                node["Type"] = words.DOCUMENT_NODE if documents else words.INSTANCE
                self._add(node["Type"], i["DBInstanceIdentifier"], node)
        if isinstance(nodes, Unknown):
            found.unread[Aspect.NODES] = nodes
        return found

    def _parameters(
        self, kind: str, call: Call, groups: Sequence[str], declared: Collection[str], found: _Found
    ) -> str | None:
        if not groups:
            return None
        asked = "DBClusterParameterGroupName" if call is calls.CLUSTER_PARAMETERS else "DBParameterGroupName"
        asked = "CacheParameterGroupName" if call is calls.CACHE_PARAMETERS else asked
        listed = self._reader.ask_all(call, groups[0], **{asked: groups[0]})
        if isinstance(listed, Unknown):
            found.unread[Aspect.PARAMETERS] = listed
            listed = []
        values = words.parameters(listed, declared)
        named = "Properties" if kind == words.CACHE else "Parameters"
        return self._add(words.PARAMETERS[kind], groups[0], words.shaped(words.PARAMETERS[kind], {named: values}))

    def _cache(self, name: str) -> _Found | Unknown | None:
        listed = self._listed[calls.CACHES]
        if isinstance(listed, Unknown):
            return listed
        g = next((g for g in listed if g["ReplicationGroupId"] == name), None)
        if g is None:
            return None
        found = _Found(g["ARN"], self._id(words.CACHE, name))
        nodes = self._listed[calls.NODES]
        if isinstance(nodes, Unknown):
            found.unread[Aspect.NODES] = found.unread[Aspect.PARAMETERS] = found.unread[Aspect.GROUPS] = nodes
        node = next(
            (n for n in ([] if isinstance(nodes, Unknown) else nodes) if n.get("ReplicationGroupId") == name), {}
        )
        group = node.get("CacheParameterGroup", {}).get("CacheParameterGroupName")
        parameters = self._parameters(
            words.CACHE, calls.CACHE_PARAMETERS, [group] if group else [], set(CACHE_PARAMETERS), found
        )
        users = [self._user_group(u, found) for u in g.get("UserGroupIds") or [NOBODY]]
        resource = words.cache(g, node, self._own, parameters, users)
        tags = self._reader.ask(calls.CACHE_TAGS, name, ResourceName=g["ARN"])
        if isinstance(tags, Unknown):
            found.unread[Aspect.TAGS] = tags
        resource["Properties"]["Tags"] = words.tags(tags.get("TagList", ())) if isinstance(tags, dict) else []
        self._add(words.CACHE, name, resource)
        return found

    def _user_group(self, name: str, found: _Found) -> str:
        groups, users = self._listed[calls.USER_GROUPS], self._listed[calls.USERS]
        for listed in (groups, users):
            if isinstance(listed, Unknown):
                found.unread[Aspect.USERS] = listed
        if isinstance(groups, Unknown) or isinstance(users, Unknown):
            return self._id(words.USERS, name)
        members: list[str] = next((g.get("UserIds", []) for g in groups if g["UserGroupId"] == name), [])
        for user in (u for u in users if u["UserId"] in members):
            self._add(words.USER, user["UserId"], words.user(user))
        ids = [{"Ref": self._id(words.USER, u)} for u in members]
        return self._add(words.USERS, name, words.shaped(words.USERS, {"UserGroupId": name, "UserIds": ids}))

    def _broker(self, store: Broker, name: str) -> _Found | Unknown | None:
        listed = self._listed[calls.BROKER_LIST]
        if isinstance(listed, Unknown):
            return listed
        c = next((c for c in listed if c["ClusterName"] == name), None)
        if c is None:
            return None
        arn = c["ClusterArn"]
        found = _Found(arn, self._id(words.BROKER, arn))
        self._add(words.BROKER, arn, words.broker(c, self._own, self._broker_settings(c, found)))
        topics = self._reader.ask_all(calls.TOPIC_LIST, name, ClusterArn=arn)
        if isinstance(topics, Unknown):
            found.unread[Aspect.TOPICS] = topics
            return found
        declared = {setting for t in store.topics for setting in t.settings}
        for listed_topic in topics:
            if listed_topic["TopicName"].startswith("__"):
                continue  # Kafka's own
            t = self._reader.ask(calls.TOPIC, name, ClusterArn=arn, TopicName=listed_topic["TopicName"])
            if isinstance(t, Unknown):
                found.unread[Aspect.TOPICS] = t
            elif t is not None:
                try:
                    resource = words.topic(t, found.logical_id, declared)
                except ValueError:
                    found.unread[Aspect.TOPICS] = Unknown(f"settings of {t['TopicName']} cannot be understood")
                else:
                    self._add(words.TOPIC, str(t.get("TopicArn", t["TopicName"])), resource)
        return found

    def _broker_settings(self, c: Mapping[str, Any], found: _Found) -> str | None:
        software = c.get("CurrentBrokerSoftwareInfo", {})
        if not (arn := software.get("ConfigurationArn")):
            return None
        answer = self._reader.ask(
            calls.BROKER_SETTINGS, c["ClusterName"], Arn=arn, Revision=software.get("ConfigurationRevision", 1)
        )
        if isinstance(answer, Unknown):
            found.unread[Aspect.PARAMETERS] = answer
        text = answer["ServerProperties"].decode() if isinstance(answer, dict) else ""
        return self._add(words.SETTINGS, arn, words.shaped(words.SETTINGS, {"ServerProperties": text}))

    def _bucket(self, name: str) -> _Found | Unknown | None:
        ask = self._reader.ask
        there = ask(calls.BUCKET, name, Bucket=name)
        if there is None or isinstance(there, Unknown):
            return there
        with ThreadPoolExecutor(len(OF_A_BUCKET)) as pool:
            answers = dict(zip(OF_A_BUCKET, pool.map(lambda c: ask(c, name, Bucket=name), OF_A_BUCKET), strict=True))
        found = _Found(f"arn:{self._reader.partition}:s3:::{name}", self._id(words.BUCKET, name))
        for call, answer in answers.items():
            if isinstance(answer, Unknown):
                found.unread[OF_A_BUCKET[call]] = answer
        by_name = {call.operation: answer or {} for call, answer in answers.items() if not isinstance(answer, Unknown)}
        by_name = {call.operation: by_name.get(call.operation, {}) for call in OF_A_BUCKET}
        self._add(words.BUCKET, name, words.bucket(name, by_name, self._own))
        if policy := by_name[calls.BUCKET_POLICY.operation].get("Policy"):
            try:
                resource = words.bucket_policy(found.arn, found.logical_id, policy, self._own, self._reader.account)
            except ValueError:
                found.unread[Aspect.POLICY] = Unknown("the bucket policy cannot be understood")
            else:
                self._resources[f"{found.logical_id}Policy"] = resource
        return found

    # What stands around them

    def _beside(self) -> None:
        """Resources that only have to be there, such as the key and the bucket for access logs."""
        for (kind, physical), logical_id in self._own.members.items():
            if kind in (words.KEY, words.BUCKET, words.ROLE) and logical_id not in self._resources:
                self._resources[logical_id] = words.shaped(kind, {})
                if kind == words.KEY:
                    arn = f"{self._reader.prefix.format('kms')}:key/{physical}"
                    self.key = self._reader.around.key(arn)

    def _groups(self) -> None:
        wanted = self._own.physical(words.GROUP)
        listed: Listed = []
        if wanted:
            chosen = [{"Name": "group-id", "Values": wanted}]  # by id alone, one that is gone would be an error
            listed = self._reader.ask_all(calls.GROUPS, self.placed.name, Filters=chosen)
        if isinstance(listed, Unknown):
            self._shared[Aspect.GROUPS] = self.groups = listed
            return
        own = [g for g in listed if g["GroupId"] in wanted]
        ids = {self._add(words.GROUP, g["GroupId"], words.group(g, self._own)) for g in own}
        self.groups = self._seen({i: self._resources[i] for i in ids})

    def _backups(self) -> None:
        arns = {
            f.arn: (f.logical_id, str(self._resources[f.logical_id]["Type"]))
            for f in self._stores.values()
            if isinstance(f, _Found)
        }
        for name in self._own.physical(words.VAULT):
            answer = self._reader.ask(calls.VAULT, name, BackupVaultName=name)
            if isinstance(answer, Unknown):
                self._shared[Aspect.BACKUPS] = answer
            elif answer is not None:
                self._add(words.VAULT, name, words.vault(answer, self._own))
        for name in self._own.physical(words.PLAN):
            answer = self._reader.ask(calls.PLAN, name, BackupPlanId=name)
            if isinstance(answer, Unknown):
                self._shared[Aspect.BACKUPS] = answer
            elif answer is not None and not answer.get("DeletionDate"):
                self._selections(name, self._add(words.PLAN, name, words.plan(answer["BackupPlan"], self._own)), arns)

    def _selections(self, plan: str, logical_id: str, arns: Mapping[str, tuple[str, str]]) -> None:
        listed = self._reader.ask_all(calls.SELECTIONS, plan, BackupPlanId=plan)
        if isinstance(listed, Unknown):
            self._shared[Aspect.BACKUPS] = listed
            return
        for number, chosen in enumerate(listed):
            asked = {"BackupPlanId": plan, "SelectionId": chosen["SelectionId"]}
            answer = self._reader.ask(calls.SELECTION, chosen.get("SelectionName", plan), **asked)
            if isinstance(answer, Unknown):
                self._shared[Aspect.BACKUPS] = answer
            elif answer is not None:
                selection = words.selection(answer["BackupSelection"], logical_id, arns, self._own)
                self._resources[f"{logical_id}Selection{number}"] = selection

    def _alarms(self) -> None:
        alarms, topics = self._reader.around.alarms, self._reader.around.topics
        for listed in (alarms, topics):
            if isinstance(listed, Unknown):
                self._shared[Aspect.ALARMS] = listed
        there = set() if isinstance(topics, Unknown) else {t["TopicArn"] for t in topics}
        for arn in self._own.physical(words.ALARM_TOPIC):
            if arn in there:
                self._add(words.ALARM_TOPIC, arn, words.shaped(words.ALARM_TOPIC, {}))
        for alarm in () if isinstance(alarms, Unknown) else alarms:
            if self._own.id(words.ALARM, alarm["AlarmName"]):
                self._add(words.ALARM, alarm["AlarmName"], words.alarm(alarm, self._own))
