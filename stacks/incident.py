"""The documented state of 2026-04-23, in an emulated account: what the audit was made to find.

`python -m stacks.incident` puts the emulator that `holdfast local up` started into it, in place of what it holds.
Source: callytics-dynamodb.md. What it does not say is as the code declares it, so that the audit finds nothing else;
where it can be read in two ways, the other one is a ``Reading``.
"""

from __future__ import annotations

import base64
import copy
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any

from holdfast.days import day
from holdfast.errors import InputError
from holdfast.local.client import Client, Json, Stack, archive, assembly
from holdfast.local.state import put

AUDIT = date(2026, 4, 23)
LAST_DEPLOY = date(2026, 2, 4)  # of the call-analytics stack: 78 days before the audit
INTENT = date(2026, 3, 2)  # the commit that was never deployed: 52 days before the audit
STACK_DELETED = date(2025, 12, 29)
DUPLICATE_MADE = date(2026, 1, 10)

PROD, TEST = "us-east-1", "us-west-2"
NEVER_DEPLOYED = "CallAnalytics-Prod-Storage"
UNTAGGED = ("OrangeTheoryStack-prod", "LeadTrackingStack-prod")
NOT_IN_PROD = "MessageSystemStack-prod"
ORPHANS, DELETED_STACK = "ConnectionServiceStack-prod", "RingCentralOAuthStack-prod"
BY_HAND = "LegacyTablesStack-prod"
# Of all its tables the source finds a customer-managed key on those six alone, which share one.
OF_CALLYTICS = (
    *("CallAnalytics-", "MessageSystemStack-", "OrangeTheoryStack-", "RCSubscription-", "LeadTrackingStack-"),
    *("ConnectionServiceStack-", "LegacyTablesStack-"),
)
PROTECTED_BY_HAND = ("call-analysis", "call-events")  # the source has a step that switches their protection off
# Its deletion protection is off where the code has it on, and the source gives no cause.
DRIFTED = "rc-subscription-prod-webhook-subscriptions"
CONNECTIONS = "orangetheory-UserConnections-prod"

ANALYSIS = "call-analytics-prod-call-analysis-us-east-1"
# Written as nested maps, which no index sees: an index key is an attribute of the item itself.
NESTED = (
    "staff_performance...name",
    "call_categorization.follow_up_type",
    "call_outcome.outcome_category",
)
ITEMS = {
    "orangetheory-BlackoutPeriods-test": 29,
    "studio-BlackoutPeriods-test": 1,
    "call-analytics-prod-call-analysis-config-us-east-1": 8,
    "call-analysis": 205,  # one in a hundred
    "call-events": 246,  # one in a hundred
    "CallAnalysisMetadata": 401,
    "client-configurations": 2,
    "ConnectionService-UserOrganizations-prod": 62,
    "ConnectionService-SubAccountLinks-prod": 13,
}
SOME = 3  # items of every other table, so that no index of theirs is empty
READS = {  # consumed read units of seven days
    "call-analysis": 3482.0,
    "call-events": 8819.0,
    "CallAnalysisMetadata": 16.0,
    "client-configurations": 2.0,
    "ConnectionService-UserOrganizations-prod": 2.5,
    "ConnectionService-SubAccountLinks-prod": 2.0,
    "ConnectionService-CallAnalysisConfigurations-prod": 450.0,
}
# Written into the stack's file, for a loader that is switched off. Its names end in -test: no such table exists.
PHANTOMS = {
    "CONFIG_TABLE_V2": "ConnectionService-OrgConfigurations-test",
    "ORG_TABLE_V2": "ConnectionService-Organizations-test",
    "CONN_TABLE_V2": "ConnectionService-Connections-test",
    "USE_V2_CONFIG_LOADER": "false",
}
WITH_PHANTOMS = ("AnalyticsGenerator", "ForceRefresh")
REFRESHER = "RingCentralTokenRefresher-Multi-Tenant"
TABLES_OF_REFRESHER = {
    "CONFIG_TABLE_NAME": "ConnectionService-CallAnalysisConfigurations-prod",
    "CLIENT_CONFIG_TABLE_V1": "client-configurations",
}


class Reading(Enum):
    """What the source leaves open and may have been so, too."""

    PHANTOMS_IN_PROD = "the functions with phantom tables run in prod as well"
    CONNECTIONS_ENCRYPTED = "the OAuth connections have a customer-managed key"
    NEVER_PROTECTED = "webhook-subscriptions was never deployed with deletion protection"
    OLD_TABLES_PROTECTED = "all four tables made by hand have deletion protection"


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A table that the account has, with what its items and metrics need to know."""

    region: str
    name: str
    properties: Json


def inject(client: Client, outdir: Path, *, now: datetime, readings: frozenset[Reading] = frozenset()) -> None:
    """Put an empty account into that state. ``outdir`` is the estate, synthesized with env=all.

    ``now`` is on the day of the audit: every documented date keeps its distance to it.
    """
    stacks = {stack.id: stack for stack in assembly(outdir)}
    live: list[Live] = []
    for stack in stacks.values():
        if stack.id not in (NOT_IN_PROD, ORPHANS, BY_HAND):
            template = client.with_code(as_it_was(stack.id, stack.template, readings), stack.region)
            tags = {} if stack.id in UNTAGGED else stack.tags
            client.deploy(stack.name, template, stack.region, tags=tags, protected=stack.protected)
            live += _tables(stack)
    live += _orphans(client, stacks[ORPHANS])
    protected = None if Reading.OLD_TABLES_PROTECTED in readings else PROTECTED_BY_HAND
    live += _made_by_hand(client, stacks[BY_HAND], protected)
    client.dynamodb(PROD, "UpdateTable", TableName=DRIFTED, DeletionProtectionEnabled=False)
    for table in live:
        _fill(client, table)
    for region in sorted({table.region for table in live}):
        _reads(client, region, [table for table in live if table.region == region], now - timedelta(days=1))
    for region in (TEST, PROD) if Reading.PHANTOMS_IN_PROD in readings else (TEST,):
        for name in WITH_PHANTOMS:
            _function(client, region, name, PHANTOMS)
    _function(client, PROD, REFRESHER, TABLES_OF_REFRESHER)
    set_dates(client, now)


def as_it_was(stack: str, template: Json, readings: frozenset[Reading] = frozenset()) -> Json:
    """The template of a stack, or that of its contract, as it was deployed last."""
    template = as_it_was_meant(stack, template, readings)
    for table in _resources(template):
        if stack == NEVER_DEPLOYED:
            for guard in ("DeletionProtectionEnabled", "PointInTimeRecoverySpecification"):
                table.pop(guard, None)
        if Reading.NEVER_PROTECTED in readings and table["TableName"] == DRIFTED:
            table.pop("DeletionProtectionEnabled", None)
    return template


def as_it_was_meant(stack: str, template: Json, readings: frozenset[Reading] = frozenset()) -> Json:
    """The same, as the code had it from the commit on that asked for protection: with neither tags nor keys yet."""
    template = copy.deepcopy(template)
    for table in _resources(template):
        if stack in UNTAGGED:
            table.pop("Tags", None)
        encrypted = Reading.CONNECTIONS_ENCRYPTED in readings and table["TableName"] == CONNECTIONS
        if stack.startswith(OF_CALLYTICS) and stack != ORPHANS and not encrypted:
            table.pop("SSESpecification", None)
    return template


def commits(contracts: Mapping[str, Json], now: datetime) -> Iterator[tuple[str, datetime, dict[str, Json]]]:
    """What the repository of the code holds on the day of the audit: message, time and contracts of each commit."""

    def of(made: Callable[[str, Json], Json]) -> dict[str, Json]:
        return {id_: contract | {"template": made(id_, contract["template"])} for id_, contract in contracts.items()}

    yield "Declare the tables", (now - (AUDIT - LAST_DEPLOY)).replace(hour=0, minute=0), of(as_it_was)
    yield "Protect the tables of prod", now - (AUDIT - INTENT), of(as_it_was_meant)
    yield "Tag all tables, and encrypt what is personal", now, dict(contracts)


def _orphans(client: Client, stack: Stack) -> list[Live]:
    """Six tables that their stack left behind when it was deleted, with the key that they share."""
    client.deploy(DELETED_STACK, stack.template, stack.region, tags=stack.tags)
    client.delete(DELETED_STACK, stack.region)
    return _tables(stack)


def _made_by_hand(client: Client, stack: Stack, protected: tuple[str, ...] | None) -> list[Live]:
    """Four tables from before any stack, with the settings that a table has by default; None protects all."""
    tables = _tables(stack)
    for table in tables:
        wanted = {key: table.properties[key] for key in ("AttributeDefinitions", "KeySchema", "BillingMode")}
        on = protected is None or table.name in protected
        client.dynamodb(table.region, "CreateTable", TableName=table.name, DeletionProtectionEnabled=on, **wanted)
    return tables


def _tables(stack: Stack) -> list[Live]:
    return [Live(region=stack.region, name=p["TableName"], properties=p) for p in _resources(stack.template)]


def _resources(template: Json) -> Iterator[Json]:
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::DynamoDB::Table":
            yield resource["Properties"]


def _fill(client: Client, table: Live) -> None:
    items = [_item(table, number) for number in range(ITEMS.get(table.name, SOME))]
    for first in range(0, len(items), 25):
        requests = [{"PutRequest": {"Item": item}} for item in items[first : first + 25]]
        client.dynamodb(table.region, "BatchWriteItem", RequestItems={table.name: requests})


def _item(table: Live, number: int) -> Json:
    kinds = {a["AttributeName"]: a["AttributeType"] for a in table.properties["AttributeDefinitions"]}
    nested = NESTED if table.name == ANALYSIS else ()
    item: Json = {name: _value(kind, name, number) for name, kind in kinds.items() if name not in nested}
    for name in nested:
        outer, _, inner = name.partition(".")
        item[outer] = {"M": {inner.strip("."): {"S": f"{name} {number}"}}}
    return item


def _value(kind: str, name: str, number: int) -> Json:
    if kind == "N":
        return {"N": str(number)}
    text = f"{name}-{number}"
    return {"S": text} if kind == "S" else {"B": base64.b64encode(text.encode()).decode()}


def _reads(client: Client, region: str, tables: list[Live], at: datetime) -> None:
    """Reads of tables as documented; every index that holds anything was read, too."""
    when = at.timestamp()
    data: list[Json] = []
    for table in tables:
        data.append(_metric(when, READS.get(table.name, 100.0), TableName=table.name))
        for index in table.properties.get("GlobalSecondaryIndexes", []):
            if table.name != ANALYSIS or not {k["AttributeName"] for k in index["KeySchema"]} & set(NESTED):
                dimensions = {"TableName": table.name, "GlobalSecondaryIndexName": index["IndexName"]}
                data.append(_metric(when, 10.0, **dimensions))
    body = {"Namespace": "AWS/DynamoDB", "MetricData": data}
    client.json("monitoring", region, "GraniteServiceVersion20100801.PutMetricData", body)


def _metric(when: float, value: float, **dimensions: str) -> Json:
    named = [{"Name": name, "Value": of} for name, of in dimensions.items()]
    return {"MetricName": "ConsumedReadCapacityUnits", "Dimensions": named, "Timestamp": when, "Value": value}


def _function(client: Client, region: str, name: str, variables: Json) -> None:
    code = archive("index.py", "def handler(event, context):\n    return None\n")
    body: dict[str, Any] = {
        "FunctionName": name,
        "Runtime": "python3.12",
        "Handler": "index.handler",
        "Role": f"arn:aws:iam::{client.account}:role/{name}",
        "Code": {"ZipFile": base64.b64encode(code).decode()},
        "Environment": {"Variables": variables},
    }
    client.rest("lambda", region, "POST", "/2015-03-31/functions", json.dumps(body).encode())


def set_dates(client: Client, now: datetime) -> None:
    """Each documented date as far from the day of ``now`` as it is from that of the audit."""
    moved = day(now) - AUDIT

    def at(documented: date) -> str:
        return f"{documented + moved}T09:00:00.000Z"

    made = datetime(DUPLICATE_MADE.year, DUPLICATE_MADE.month, DUPLICATE_MADE.day, 9, tzinfo=UTC) + moved
    deployed = {"CreationTime": at(LAST_DEPLOY), "LastUpdatedTime": at(LAST_DEPLOY)}
    deleted = {
        "CreationTime": at(STACK_DELETED - timedelta(days=1)),
        "LastUpdatedTime": at(STACK_DELETED - timedelta(days=1)),
        "DeletionTime": at(STACK_DELETED),
    }
    dates = {
        "account": client.account,
        "now": now.isoformat(),  # by then CloudFormation lists the deleted stack no longer
        "stacks": {f"{PROD}/{NEVER_DEPLOYED}": deployed, f"{PROD}/{DELETED_STACK}": deleted},
        "tables": {f"{TEST}/orangetheory-BlackoutPeriods-test": {"CreationDateTime": int(made.timestamp())}},
    }
    client.rest("holdfast", PROD, "POST", "/_holdfast/dates", json.dumps(dates).encode())


TOLD = """\
The account is as it was on 2026-04-23, as if that were today:
  three call-analytics tables unprotected, because their stack was last deployed 78 days ago;
  webhook-subscriptions' deletion protection off, though it was deployed; six tables that outlived their stack,
  and no other under a key of its own; four tables made by hand; eleven tables without tags; three empty
  indexes; 29 items in a duplicate whose successor has 1; functions in us-west-2 whose variables name tables
  that do not exist."""


def main(now: datetime | None = None) -> int:
    """As if the day of the audit were that of ``now``, which is what the clock says unless given."""
    moment = now or datetime.now(UTC)
    try:
        put(lambda client, outdir: inject(client, outdir, now=moment))
    except InputError as error:
        print(f"incident: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("incident: interrupted: run `python -m stacks.incident` again to finish it", file=sys.stderr)
        return 2
    print(TOLD, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
