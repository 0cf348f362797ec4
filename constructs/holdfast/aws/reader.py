"""Reads one account and region: everything that can be read, and for everything else why not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from typing import Any

from holdfast.audit import mentions
from holdfast.aws import calls, stores
from holdfast.aws.failure import CallError, Kind
from holdfast.aws.options import Options
from holdfast.aws.session import AUDIT_MINUTES, Api, apis
from holdfast.cfn import bounded
from holdfast.cfn.template import Source, StackSeen
from holdfast.contract.assembly import are_resources
from holdfast.days import day
from holdfast.errors import InputError
from holdfast.estate.placement import Placed
from holdfast.kinds.table import live as tables
from holdfast.kinds.table.template import table_names
from holdfast.model.facts import Encryption
from holdfast.policy.required import DEFAULT
from holdfast.shared.account import (
    SUCCEEDED,
    Account,
    Mention,
    Part,
    StackLive,
    Stores,
    StoreSeen,
    Units,
    Unreadable,
)
from holdfast.shared.calls import Call
from holdfast.threads import Pool
from holdfast.unknown import Unknown

Progress = Callable[[int, int], None]  # calls that are done, of how many

WORKERS = 12  # for each operation, so that one that is throttled leaves the others theirs
METRICS_PER_CALL = 500
DAY = 86_400
YAML = "its template is YAML, and only JSON is read (`cdk import` stores YAML, the first deploy that changes it JSON)"
STACK_TAG = "aws:cloudformation:stack-name"  # it stays when the stack is deleted and the table is kept


def read_all(
    options: Options,
    *,
    now: datetime,
    names: Collection[str] = (),
    places: Sequence[Placed] = (),
    progress: Progress | None = None,
) -> list[Account]:
    """Every account and region; ``names`` are tables to look for in variables beside those that exist.

    ``places`` are the stacks whose other stores are read as well. InputError where no account can be read at all; else
    one that cannot is unknown as a whole.
    """
    needed = calls.AUDIT if places else calls.READ
    until = time.monotonic() + 60 * AUDIT_MINUTES
    found: list[Account] = []
    closed: list[tuple[str, str, InputError]] = []
    for whose, one in options.apart():
        try:
            opened = list(apis(one, needed, until))
        except InputError as error:
            closed += ((whose, region, error) for region in one.regions or ("no region",))
            continue
        for api in opened:
            try:
                found.append(read(api, now=now, names=names, places=places, progress=progress))
            except InputError as error:
                closed.append((whose, api.region, error))
    if closed and not found:
        raise closed[0][2]
    return [*found, *(_closed(*one, places) for one in closed)]


def _closed(whose: str, region: str, error: InputError, places: Sequence[Placed]) -> Account:
    """An account that could not be entered: whatever is looked for may be there."""
    why = Unknown(str(error))
    return Account(
        id=f"unknown ({whose})",
        region=region,
        tables=why,
        stacks=why,
        deleted=why,
        mentions=why,
        unreadable=(Unreadable(what=f"the account of {whose}", reason=why.reason),),
        stores=Stores(found={stores.key(p, s): why for p in places if p.region == region for s in p.stores}),
    )


def read(
    api: Api,
    *,
    now: datetime,
    names: Collection[str] = (),
    places: Sequence[Placed] = (),
    progress: Progress | None = None,
) -> Account:
    """One account and region. InputError where nothing at all can be read."""
    return _Reader(api, names, places, progress or (lambda done, of: None)).read(now)


class _Reader:
    def __init__(self, api: Api, names: Collection[str], places: Sequence[Placed], progress: Progress) -> None:
        self._api, self._names, self._places, self._progress = api, names, places, progress
        self._required = set((places[0].policy if places else DEFAULT).tags)
        self._holes: dict[tuple[Part, Call, str, str | None], list[str]] = {}
        self._lock = threading.Lock()
        self._done = self._total = 0
        self._account = ""

    def read(self, now: datetime) -> Account:
        account = self._account = self._api.identity()
        with Pool(8) as pool:
            stacks = pool.submit(self._stacks)
            deleted = pool.submit(self._deleted)
            watching = pool.submit(self._alarms)
            topics = pool.submit(self._list, Part.ALARMS, calls.TOPICS)
            functions = pool.submit(self._list, Part.MENTIONS, calls.FUNCTIONS)
            sources = pool.submit(self._list, Part.MENTIONS, calls.EVENT_SOURCES)
            policies = pool.submit(self._policies)
            others = pool.submit(self._stores, account, stacks, watching, topics) if self._places else None
            listed = self._list(Part.TABLES, calls.LIST_TABLES)
            tables_ = (
                listed if isinstance(listed, Unknown) else self._tables(listed, account, now, stacks, watching, topics)
            )
        named = {*self._names, *(() if isinstance(tables_, Unknown) else tables_)}
        return Account(
            id=account,
            region=self._api.region,
            tables=tables_,
            stacks=stacks.result(),
            deleted=deleted.result(),
            mentions=self._mentions(functions.result(), sources.result(), policies.result(), named, account),
            stores=others.result() if others else None,
            unreadable=tuple(self._unreadable()),
        )

    # Calls, and the holes that they leave.

    def _ask(self, part: Part, call: Call, about: str, **parameters: Any) -> dict[str, Any] | Unknown:
        try:
            return self._api.call(call, **parameters)
        except CallError as failure:
            return self._hole(part, failure, about)

    def _pages(self, part: Part, call: Call, **parameters: Any) -> list[dict[str, Any]] | Unknown:
        """All pages or none: half a list would say that the rest does not exist."""
        try:
            return list(self._api.pages(call, **parameters))
        except CallError as failure:
            return self._hole(part, failure, "")

    def _list(self, part: Part, call: Call, **parameters: Any) -> list[Any] | Unknown:
        pages = self._pages(part, call, **parameters)
        return pages if isinstance(pages, Unknown) else [item for page in pages for item in page[call.member]]

    def _hole(self, part: Part, failure: CallError, about: str) -> Unknown:
        with self._lock:
            self._holes.setdefault((part, failure.call, failure.reason, failure.action), []).append(about)
        return Unknown(failure.reason)

    def _forget(self, gone: set[str]) -> None:
        """What could not be read of a table that no longer exists leaves nothing open."""
        with self._lock:
            for hole, about in list(self._holes.items()):
                if hole[0] is Part.TABLES and gone.intersection(about):
                    self._holes[hole] = [name for name in about if name not in gone]
                    if not self._holes[hole]:
                        del self._holes[hole]

    def _unreadable(self) -> Iterator[Unreadable]:
        for (part, call, reason, action), about in self._holes.items():
            named = sorted(a for a in about if a)
            whose = f" of {named[0]}" if named else ""
            more = f" and {len(named) - 1} more" if len(named) > 1 else ""
            yield Unreadable(what=f"{call.reads}{whose}{more}", reason=reason, action=action, part=part)

    # Tables.

    def _tables(
        self,
        names: list[str],
        account: str,
        now: datetime,
        stacks: Future[dict[str, StackLive] | Unknown],
        watching: Future[list[Any] | Unknown],
        topics: Future[list[Any] | Unknown],
    ) -> dict[str, StoreSeen]:
        prefix = f"arn:{self._api.partition}:dynamodb:{self._api.region}:{account}:table/"
        arns = {name: prefix + name for name in names}
        about = (calls.DESCRIBE_TABLE, calls.BACKUPS, calls.TIME_TO_LIVE, calls.RESOURCE_POLICY)
        self._total = len(names) * len(about)
        pools = [Pool(WORKERS) for _ in about]
        try:
            asked = [
                {name: pool.submit(self._about_table, call, name, arns[name]) for name in names}
                for call, pool in zip(about, pools, strict=True)
            ]
            tags = self._tags(arns)
            described, backups, ttls, policies = ({n: f.result() for n, f in a.items()} for a in asked)
        finally:
            for pool in pools:
                pool.close()
        gone = set(self._gone(described, backups, ttls, policies))
        self._forget(gone)
        there = {name: table for name, answer in described.items() if (table := tables.described(answer)) is not None}
        around = self._surroundings(there, now, watching.result(), topics.result())
        owners = _owners(stacks.result())
        found = {
            name: tables.Answers(
                arn=arns[name],
                table=there.get(name, _unknown(described[name])),
                backups=_known(backups[name]),
                ttl=_known(ttls[name]),
                policy=None if _missing(policies[name]) else _known(policies[name]),
                tags=tags[name],
                owner=_owner(name, tags[name], *owners),
            )
            for name in names
            if name not in gone
        }
        return tables.seen(found, around, self._api.region)

    def _about_table(self, call: Call, name: str, arn: str) -> dict[str, Any] | CallError:
        key = {"ResourceArn": arn} if call is calls.RESOURCE_POLICY else {"TableName": name}
        try:
            return self._api.call(call, **key)
        except CallError as failure:
            if failure.kind is not Kind.GONE and not _missing(failure):
                self._hole(Part.TABLES, failure, name)
            return failure
        finally:
            with self._lock:
                self._done += 1
                done = self._done
            self._progress(done, self._total)

    def _gone(self, described: Mapping[str, Any], *others: Mapping[str, Any]) -> Iterator[str]:
        """Tables that were listed and no longer exist; only DescribeTable can say that for certain."""
        for name, table in described.items():
            if _is_gone(table):
                yield name
            elif any(_is_gone(other[name]) for other in others) and isinstance(table, dict):
                try:
                    self._api.call(calls.DESCRIBE_TABLE, TableName=name)
                except CallError as failure:
                    if failure.kind is Kind.GONE:
                        yield name

    def _tags(self, arns: Mapping[str, str]) -> dict[str, Mapping[str, str] | Unknown]:
        """In pages of a hundred; a table that these leave out may have no tags, or too new ones: it is asked itself."""
        refused: CallError | None = None
        pages: list[dict[str, Any]] = []
        try:
            if arns:
                pages = list(self._api.pages(calls.TAGS, ResourceTypeFilters=["dynamodb:table"], ResourcesPerPage=100))
        except CallError as failure:
            refused = failure
        by_arn = {r["ResourceARN"]: _pairs(r["Tags"]) for page in pages for r in page.get("ResourceTagMappingList", ())}
        rest = [name for name, arn in arns.items() if not self._settled(name, by_arn.get(arn, {}))]
        with Pool(WORKERS) as pool:
            alone = dict(zip(rest, pool.map(lambda name: self._own_tags(arns[name], refused), rest), strict=True))
        return {name: alone[name] if name in alone else by_arn[arn] for name, arn in arns.items()}

    def _settled(self, name: str, tags: Mapping[str, str]) -> bool:
        """Whether the pages can be believed: they lag behind, so a declared table that lacks a tag is asked itself."""
        return bool(tags) and (name not in self._names or self._required <= set(tags))

    def _own_tags(self, arn: str, refused: CallError | None) -> Mapping[str, str] | Unknown:
        try:
            pages = list(self._api.pages(calls.TABLE_TAGS, ResourceArn=arn))
        except CallError as failure:
            if failure.kind is Kind.GONE:
                return Unknown(failure.reason)
            if refused is not None:
                self._hole(Part.TABLES, refused, "")
            return self._hole(Part.TABLES, failure, arn.rpartition("/")[2])
        return _pairs([tag for page in pages for tag in page.get("Tags", ())])

    # What stands around them.

    def _surroundings(
        self,
        there: Mapping[str, Mapping[str, Any]],
        now: datetime,
        watching: list[Any] | Unknown,
        topics: list[Any] | Unknown,
    ) -> tables.Surroundings:
        arns = sorted({arn for t in there.values() if (arn := tables.key_arn(t))})
        with Pool(WORKERS) as pool:
            keys = dict(zip(arns, pool.map(self._key, arns), strict=True))
        known = topics if isinstance(topics, Unknown) else [t["TopicArn"] for t in topics]
        return tables.Surroundings(keys=keys, alarms=watching, topics=known, units=self._units(there, now))

    def _key(self, arn: str) -> tables.Key:
        try:
            described = self._api.call(calls.DESCRIBE_KEY, KeyId=arn)
        except CallError as failure:
            return tables.DELETED_KEY if failure.kind is Kind.GONE else self._hole(Part.KEYS, failure, arn)
        if tables.of_aws(described):
            return Encryption.AWS_MANAGED
        rotation = self._ask(Part.KEYS, calls.KEY_ROTATION, arn, KeyId=arn)
        policy = self._ask(Part.KEYS, calls.KEY_POLICY, arn, KeyId=arn, PolicyName="default")
        return tables.key(described, rotation, policy)

    def _alarms(self) -> list[Any] | Unknown:
        return self._list(Part.ALARMS, calls.ALARMS, AlarmTypes=["MetricAlarm"], MaxRecords=100)

    def _units(self, there: Mapping[str, Mapping[str, Any]], now: datetime) -> dict[tables.Metric, Units | Unknown]:
        """Units of every table and index over thirty days; what was not used has no data points at all."""
        # Each is paid for, and of tables that are not declared it is not asked.
        asked = [m for n, t in there.items() if n in self._names or not self._names for m in tables.metrics(n, t)]
        chunks = [asked[i : i + METRICS_PER_CALL] for i in range(0, len(asked), METRICS_PER_CALL)]
        with Pool(4) as pool:
            found = pool.map(lambda chunk: self._units_of(chunk, now), chunks)
            return {metric: units for part in found for metric, units in part.items()}

    def _units_of(self, metrics: list[tables.Metric], now: datetime) -> dict[tables.Metric, Units | Unknown]:
        by_id = {f"m{n}": metric for n, metric in enumerate(metrics)}
        # From midnight on, so that the data points are those of days.
        start = datetime.combine(day(now), datetime.min.time(), UTC) - timedelta(days=tables.MONTH)
        queries = [_query(i, metric) for i, metric in by_id.items()]
        pages = self._pages(Part.READS, calls.METRICS, MetricDataQueries=queries, StartTime=start, EndTime=now)
        if isinstance(pages, Unknown):
            return dict.fromkeys(metrics, pages)
        results: dict[str, list[dict[str, Any]]] = {}  # one for each page that has some of its days
        for result in (r for page in pages for r in page.get("MetricDataResults", ())):
            results.setdefault(result.get("Id", ""), []).append(result)
        return {metric: tables.units(results.get(i, ()), day(now)) for i, metric in by_id.items()}

    # Stores that are not tables.

    def _stores(
        self,
        account: str,
        stacks: Future[dict[str, StackLive] | Unknown],
        watching: Future[list[Any] | Unknown],
        topics: Future[list[Any] | Unknown],
    ) -> Stores:
        around = stores.AccountRead(
            account=account,
            stacks=stacks.result(),
            alarms=watching.result(),
            topics=topics.result(),
            key=lambda arn: tables.observed_key(arn, self._key(arn)),
        )
        return stores.read(
            self._api, self._places, around, lambda failure, about: self._hole(Part.STORES, failure, about)
        )

    # Stacks.

    def _stacks(self) -> dict[str, StackLive] | Unknown:
        listed = self._list(Part.STACKS, calls.STACKS)
        if isinstance(listed, Unknown):
            return listed
        present = [s for s in listed if s["StackStatus"] not in ("DELETE_COMPLETE", "REVIEW_IN_PROGRESS")]
        with Pool(WORKERS) as pool:
            return dict(zip((s["StackName"] for s in present), pool.map(self._stack, present), strict=True))

    def _stack(self, stack: Mapping[str, Any]) -> StackLive:
        name = stack["StackName"]
        answer = self._ask(Part.STACKS, calls.TEMPLATE, name, StackName=name, TemplateStage="Processed")
        template = answer if isinstance(answer, Unknown) else _template(str(answer["TemplateBody"]))
        seen: StackSeen | Unknown
        if isinstance(template, Unknown):
            seen = template
        else:
            seen = StackSeen(
                id=name,
                where=f"{self._api.region}/{name}",
                template=template,
                name=name,
                region=self._api.region,
                account=self._account,
                protected=self._protected(stack),
                source=Source.DEPLOYED,
            )
        return StackLive(
            seen=seen,
            status=stack["StackStatus"],
            created=stack["CreationTime"],
            updated=stack.get("LastUpdatedTime"),
            succeeded=self._succeeded(stack),
            exports={o["ExportName"]: o["OutputValue"] for o in stack.get("Outputs", ()) if "ExportName" in o},
        )

    def _protected(self, stack: Mapping[str, Any]) -> bool | Unknown | None:
        """Whether a stack refuses to be deleted: the list of all may leave that out, so a declared one is asked."""
        name, said = stack["StackName"], stack.get("EnableTerminationProtection")
        if said is None and any(p.name == name and p.region == self._api.region for p in self._places):
            found = self._list(Part.STACKS, calls.STACKS, StackName=name)
            if isinstance(found, Unknown):
                return found
            told = [s["EnableTerminationProtection"] for s in found if "EnableTerminationProtection" in s]
            return bool(told[0]) if told else Unknown("CloudFormation does not say")
        return said

    def _succeeded(self, stack: Mapping[str, Any]) -> datetime | None:
        """When an update last succeeded, where the last did not; CloudFormation keeps events for ninety days."""
        if stack["StackStatus"] in SUCCEEDED or not stack.get("LastUpdatedTime"):
            return None
        try:
            for page in self._api.pages(calls.EVENTS, StackName=stack["StackName"]):
                for event in page["StackEvents"]:
                    itself = event.get("PhysicalResourceId") == stack.get("StackId")
                    if itself and event.get("ResourceStatus") in SUCCEEDED and event.get("Timestamp"):
                        when: datetime = event["Timestamp"]
                        return when
        except CallError as failure:
            self._hole(Part.STACKS, failure, stack["StackName"])
        return None

    def _deleted(self) -> dict[str, datetime] | Unknown:
        """The stacks that CloudFormation still lists after their deletion, for ninety days."""
        listed = self._list(Part.DELETED, calls.DELETED_STACKS, StackStatusFilter=["DELETE_COMPLETE"])
        if isinstance(listed, Unknown):
            return listed
        found: dict[str, datetime] = {}
        for stack in listed:
            when = stack.get("DeletionTime") or stack.get("LastUpdatedTime") or stack["CreationTime"]
            found[stack["StackName"]] = max(when, found.get(stack["StackName"], when))
        return found

    # Mentions.

    def _policies(self) -> list[dict[str, Any]] | Unknown:
        wanted = ["User", "Role", "Group", "LocalManagedPolicy"]
        return self._pages(Part.MENTIONS, calls.POLICIES, Filter=wanted, MaxItems=1000)

    def _mentions(
        self,
        functions: list[Any] | Unknown,
        sources: list[Any] | Unknown,
        policies: list[dict[str, Any]] | Unknown,
        names: Collection[str],
        account: str,
    ) -> tuple[Mention, ...] | Unknown:
        if isinstance(functions, Unknown) and isinstance(sources, Unknown) and isinstance(policies, Unknown):
            return functions
        found: list[Mention] = []
        if not isinstance(functions, Unknown):
            found += mentions.in_functions(functions, names)
            self._unread_variables(functions)
        if not isinstance(sources, Unknown):
            found += mentions.in_event_sources(sources)
        if not isinstance(policies, Unknown):
            found += mentions.in_policies(policies, names, region=self._api.region, account=account)
        return tuple(found)

    def _unread_variables(self, functions: Iterable[Mapping[str, Any]]) -> None:
        """Variables whose key Lambda may not use come as an error inside a good answer."""
        for function in functions:
            error = function.get("Environment", {}).get("Error")
            if error:
                reason = f"Lambda cannot decrypt them ({error.get('ErrorCode', 'no reason given')})"
                self._hole(Part.MENTIONS, CallError(calls.FUNCTIONS, Kind.OTHER, reason), function["FunctionName"])


def _template(text: str) -> dict[str, Any] | Unknown:
    """A template as it is deployed; it may be of another team, and hold anything."""
    if not text.lstrip().startswith("{"):
        return Unknown(YAML)
    try:
        found = bounded.tree(text)
    except ValueError as error:
        return Unknown(f"its template cannot be read: {error}")
    return found if are_resources(found.get("Resources")) else Unknown("its template has no resources")


def _query(identity: str, of: tables.Metric) -> dict[str, Any]:
    dimensions = [{"Name": "TableName", "Value": of.table}]
    dimensions += [{"Name": "GlobalSecondaryIndexName", "Value": of.index}] if of.index else []
    metric = {"Namespace": "AWS/DynamoDB", "MetricName": of.name, "Dimensions": dimensions}
    return {"Id": identity, "MetricStat": {"Metric": metric, "Period": DAY, "Stat": "Sum"}}


def _owners(stacks: Mapping[str, StackLive] | Unknown) -> tuple[dict[str, str], Unknown | None]:
    """Which stack's template has a table, and why some templates could not tell."""
    if isinstance(stacks, Unknown):
        return {}, stacks
    found: dict[str, str] = {}
    unread: Unknown | None = None
    for name, stack in stacks.items():
        if isinstance(stack.seen, Unknown):
            unread = Unknown(f"the template of {name} could not be read: {stack.seen.reason}")
        else:
            found |= {table: name for _, table in table_names(stack.seen) if isinstance(table, str)}
    return found, unread


def _owner(
    name: str, tags: Mapping[str, str] | Unknown, in_template: Mapping[str, str], unread: Unknown | None
) -> str | Unknown | None:
    """The stack whose template has the table, or that once tagged it."""
    if name in in_template:
        return in_template[name]
    if not isinstance(tags, Unknown) and STACK_TAG in tags:
        return tags[STACK_TAG]
    if unread is not None:
        return unread
    return Unknown(f"in no template, and its tags: {tags.reason}") if isinstance(tags, Unknown) else None


def _pairs(tags: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {t["Key"]: t["Value"] for t in tags}


def _is_gone(answer: object) -> bool:
    return isinstance(answer, CallError) and answer.kind is Kind.GONE


def _missing(answer: object) -> bool:
    """Whether a table has no resource policy, which DynamoDB calls an error."""
    return isinstance(answer, CallError) and answer.code == "PolicyNotFoundException"


def _known(answer: dict[str, Any] | CallError) -> dict[str, Any] | Unknown:
    return _unknown(answer) if isinstance(answer, CallError) else answer


def _unknown(answer: object) -> Unknown:
    return Unknown(answer.reason if isinstance(answer, CallError) else "the answer cannot be understood")
