"""Alarms on metrics that exist, for every table that needs them, and a page per system."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from conftest import Json

from holdfast import placements
from stacks import CATALOG

# Every metric and dimension set that these alarms may use, as the services document them.
PUBLISHED = {
    ("AWS/DynamoDB", "ReadThrottleEvents"): [{"TableName"}, {"TableName", "GlobalSecondaryIndexName"}],
    ("AWS/DynamoDB", "WriteThrottleEvents"): [{"TableName"}, {"TableName", "GlobalSecondaryIndexName"}],
    ("AWS/DynamoDB", "SuccessfulRequestLatency"): [{"TableName", "Operation"}],
    ("AWS/DynamoDB", "SystemErrors"): [{"TableName", "Operation"}],
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): [{"QueueName"}],
    ("AWS/Lambda", "IteratorAge"): [{"FunctionName"}],
}


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
        assert alarm["TreatMissingData"] == "notBreaching"


def test_alarm_names_are_unique_in_a_region(templates: dict[str, Json]) -> None:
    regions = {p.id: p.region for p in placements(CATALOG)}
    names = Counter((regions[stack], alarm["AlarmName"]) for stack, alarm in alarms(templates))
    assert {n: c for n, c in names.items() if c > 1} == {}
    assert all(len(name) <= 255 for _, name in names)


def test_every_durable_prod_table_is_watched_and_its_indexes_with_it(templates: dict[str, Json]) -> None:
    expected = Counter[str]()
    for p in placements(CATALOG):
        for t in p.tables:
            if p.stack.system == "miyabi" or (p.env.label == "prod" and type(t.lifetime).__name__ == "Durable"):
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
    assert len(found) >= 38 + 1


def test_thresholds(templates: dict[str, Json]) -> None:
    kinds = Counter((a["AlarmName"].rpartition("/")[2], a["Threshold"]) for _, a in alarms(templates))
    assert set(kinds) == {
        ("throttles", 10),
        ("latency", 50),
        ("system-errors", 1),
        ("failures", 0),
        ("behind", 3_600_000),
    }


def test_a_dashboard_per_system_shows_every_watched_table(templates: dict[str, Json]) -> None:
    pages: dict[str, Json] = {}
    for template in templates.values():
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::CloudWatch::Dashboard":
                body = resource["Properties"]["DashboardBody"]["Fn::Sub"]
                pages[resource["Properties"]["DashboardName"]] = json.loads(body)
    assert set(pages) == {"callytics-prod", "acs-prod", "miyabi-production", "miyabi-test"}
    for p in placements(CATALOG):
        for t in p.watched:
            text = json.dumps(pages[f"{p.stack.system}-{p.word}"])
            assert f'"{p.fill(t.name)}"' in text
    alarmed = {a["AlarmName"] for _, a in alarms(templates) if "processor" not in a["AlarmName"]}
    shown = {
        arn.partition(":alarm:")[2]
        for page in pages.values()
        for widget in page["widgets"]
        for arn in widget["properties"].get("alarms", [])
    }
    assert shown == alarmed
    for page in pages.values():
        for widget in page["widgets"]:
            assert widget["x"] + widget["width"] <= 24
            assert len(widget["properties"].get("alarms", [])) <= 100
