"""Alarms on metrics that exist, for every table that needs them, and a page per stack."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

from shop import ESTATE
from support import Json

from holdfast import Tier

# Every metric and dimension set that these alarms may use, as the services document them.
PUBLISHED = {
    ("AWS/DynamoDB", "ReadThrottleEvents"): [{"TableName"}, {"TableName", "GlobalSecondaryIndexName"}],
    ("AWS/DynamoDB", "WriteThrottleEvents"): [{"TableName"}, {"TableName", "GlobalSecondaryIndexName"}],
    ("AWS/DynamoDB", "SuccessfulRequestLatency"): [{"TableName", "Operation"}],
    ("AWS/DynamoDB", "SystemErrors"): [{"TableName", "Operation"}],
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): [{"QueueName"}],
    ("AWS/Lambda", "IteratorAge"): [{"FunctionName"}],
    ("AWS/Lambda", "Errors"): [{"FunctionName"}],
    **{
        ("AWS/RDS", m): [{"DBInstanceIdentifier"}]
        for m in ("CPUUtilization", "DatabaseConnections", "FreeStorageSpace")
    },
    **{("AWS/Backup", f"NumberOfBackupJobs{s}"): [{"BackupVaultName"}] for s in ("Failed", "Expired", "Aborted")},
    **{
        ("AWS/Kafka", f"{m}Lag"): [{"Cluster Name", "Consumer Group", "Topic"}]
        for m in ("SumOffset", "EstimatedMaxTime")
    },
    ("AWS/Kafka", "MessagesInPerSec"): [{"Cluster Name", "Broker ID", "Topic"}],
    ("AWS/Kafka", "KafkaDataLogsDiskUsed"): [{"Cluster Name", "Broker ID"}],
    **{
        ("AWS/DocDB", m): [{"DBClusterIdentifier"}]
        for m in ("CPUUtilization", "LowMemNumOperationsThrottled", "LowMemNumOperationsTimedOut")
    },
    ("AWS/ElastiCache", "DatabaseMemoryUsagePercentage"): [{"CacheClusterId"}],
    # Written by our own jobs; test_database_functions.py holds them to it.
    **{
        ("Holdfast/Database", m): [{"Database", "Table"}]
        for m in ("PartitionsAhead", "RowsInDefault", "RowsInQuarantine", "DetachedWaiting")
    },
    ("Holdfast/Database", "Drift"): [{"Database"}],
}
# Whoever writes these is dead when they are missing.
SILENCE = {"PartitionsAhead": "breaching", "Drift": "breaching", "behind": "missing", "late": "missing"}


def alarms(templates: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    for stack, template in templates.items():
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::CloudWatch::Alarm":
                yield stack, resource["Properties"]


def test_alarms_read_metrics_that_exist(templates: dict[str, Json]) -> None:
    for _, alarm in alarms(templates):
        read = [q["MetricStat"]["Metric"] for q in alarm["Metrics"] if "MetricStat" in q]
        assert 1 <= len(read) <= 10  # CloudWatch's limit for one alarm
        for metric in read:
            dimensions = {d["Name"] for d in metric["Dimensions"]}
            assert dimensions in PUBLISHED[metric["Namespace"], metric["MetricName"]]
        assert [q["Id"] for q in alarm["Metrics"] if q["ReturnData"]] == ["judged"]
        (expression,) = [q["Expression"] for q in alarm["Metrics"] if "Expression" in q]
        assert all(q["Id"] in expression for q in alarm["Metrics"] if "MetricStat" in q)


def test_alarms_tell_somebody_and_missing_data_is_good_news(templates: dict[str, Json]) -> None:
    for stack, alarm in alarms(templates):
        topics = [i for i, r in templates[stack]["Resources"].items() if r["Type"] == "AWS::SNS::Topic"]
        assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": topics[0]}]
        kind = alarm["AlarmName"].rpartition("/")[2]
        silence = SILENCE.get(kind, "notBreaching") if kind != "behind" or "InsufficientDataActions" in alarm else None
        assert alarm["TreatMissingData"] == (silence or "notBreaching")
        assert (alarm["TreatMissingData"] == "missing") == ("InsufficientDataActions" in alarm)


def test_alarm_names_are_unique_in_a_region(templates: dict[str, Json]) -> None:
    regions = {p.id: p.region for p in ESTATE.placements()}
    names = Counter((regions[stack], alarm["AlarmName"]) for stack, alarm in alarms(templates))
    assert {n: c for n, c in names.items() if c > 1} == {}
    assert all(len(name) <= 255 for _, name in names)


def test_every_durable_prod_table_is_watched_and_its_indexes_with_it(templates: dict[str, Json]) -> None:
    expected = Counter[str]()
    for p in ESTATE.placements():
        for t in p.tables:
            if p.stack.id == "Newsletter" or (p.env.label == "live" and type(t.lifetime).__name__ == "Durable"):
                expected[p.fill(t.name)] = 1 + len(t.indexes) + 1 + 1  # throttles, latency, system errors
    found = Counter[str]()
    for _, alarm in alarms(templates):
        tables = {
            d["Value"]
            for q in alarm["Metrics"]
            if "MetricStat" in q
            for d in q["MetricStat"]["Metric"]["Dimensions"]
            if d["Name"] == "TableName"
        }
        found.update(tables)
    assert found == expected
    assert len(found) >= 7


def test_thresholds(templates: dict[str, Json]) -> None:
    kinds = Counter((a["AlarmName"].rpartition("/")[2], a["Threshold"]) for _, a in alarms(templates))
    assert set(kinds) == {
        ("throttles", 10),
        ("latency", 50),
        ("system-errors", 1),
        ("failures", 0),
        ("behind", 3_600_000),
        # databases
        ("cpu", 70),
        ("storage", 5 * 2**30),
        ("connections", 160),
        ("errors", 0),
        ("failed-jobs", 0),
        ("backups", 0),
        ("Drift", 0),
        ("PartitionsAhead", 1),
        ("RowsInDefault", 0),
        ("RowsInQuarantine", 0),
        ("DetachedWaiting", 2),
        # brokers
        ("behind", 10_000),
        ("late", 120),
        ("dead-letters", 0),
        ("disk", 60),
        # documents
        ("memory", 0),
        # caches
        ("memory", 80),
    }


def test_a_dashboard_per_stack_shows_its_alarms_and_every_watched_table(templates: dict[str, Json]) -> None:
    pages: dict[str, Json] = {}
    for id_, template in templates.items():
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::CloudWatch::Dashboard":
                assert resource["Properties"]["DashboardName"] == id_
                assert re.fullmatch("[A-Za-z0-9_-]{1,255}", id_)  # all that CloudWatch takes
                pages[id_] = json.loads(resource["Properties"]["DashboardBody"]["Fn::Sub"])
    assert set(pages) == {p.id for p in ESTATE.placements() if p.env.tier is Tier.PROD} | {"Newsletter-dev"}
    for p in ESTATE.placements():
        for t in p.watched:
            assert f'"{p.fill(t.name)}"' in json.dumps(pages[p.id])
    for id_, page in pages.items():
        own = {a["AlarmName"] for _, a in alarms({id_: templates[id_]}) if "invoices-production/" not in a["AlarmName"]}
        shown = {
            arn.partition(":alarm:")[2] for widget in page["widgets"] for arn in widget["properties"].get("alarms", [])
        }
        assert shown == own
    for page in pages.values():
        for widget in page["widgets"]:
            assert widget["x"] + widget["width"] <= 24
            assert len(widget["properties"].get("alarms", [])) <= 100
