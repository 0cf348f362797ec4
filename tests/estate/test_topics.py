"""Topics as declared in the template, and the contract of producers and consumers on librdkafka's own mock cluster."""

from __future__ import annotations

import base64
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from declare import PROD, TEST
from meeting_synth import STACKS, only, resources, synthesized, template
from support import Json

from holdfast import DeclarationError
from stacks import meeting_conventions as names

TASKS, DEAD = "meeting.tasks", "meeting.tasks.dlq"
DAY = 86_400_000
# Typed out by hand: partitions, replicas, replicas in sync, milliseconds.
TOPICS = {
    "meeting.tasks": (12, 3, "2", str(7 * DAY)),
    "meeting.tasks.dlq": (3, 3, "2", str(30 * DAY)),
    "meeting.system_events": (6, 3, "2", str(3 * DAY)),
}


def declared(found: Json) -> dict[str, tuple[int, int, str, str]]:
    seen = {}
    for _, topic in resources(found, "MSK::Topic"):
        p = topic["Properties"]
        settings = json.loads(base64.b64decode(p["Configs"]))
        assert settings.pop("cleanup.policy") == "delete"
        figures = (settings.pop("min.insync.replicas"), settings.pop("retention.ms"))
        assert settings == {}
        seen[p["TopicName"]] = (p["PartitionCount"], p["ReplicationFactor"], *figures)
    return seen


@pytest.mark.parametrize("env", ["prod", "test"])
def test_the_template_has_exactly_the_three_topics(env: str) -> None:
    assert declared(template(env)) == TOPICS
    (cluster,) = (i for i, _ in resources(template(env), "MSK::Cluster"))
    for _, topic in resources(template(env), "MSK::Topic"):
        assert topic["Properties"]["ClusterArn"] == {"Fn::GetAtt": [cluster, "Arn"]}


@pytest.mark.parametrize(("env", "kept"), [("prod", "Retain"), ("test", "Delete")])
def test_topics_outlive_their_stack_in_prod_only(env: str, kept: str) -> None:
    for _, topic in resources(template(env), "MSK::Topic"):
        assert (topic["DeletionPolicy"], topic["UpdateReplacePolicy"]) == (kept, kept)
    properties = only(template(env), "MSK::Configuration")["Properties"]["ServerProperties"].splitlines()
    assert sorted(properties) == [
        "auto.create.topics.enable=false",
        "default.replication.factor=3",
        f"delete.topic.enable={'false' if env == 'prod' else 'true'}",
        "min.insync.replicas=2",
        "unclean.leader.election.enable=false",
    ]


def test_an_environment_may_have_another_prefix_in_topics_and_alarms() -> None:
    files = synthesized(environments=(replace(PROD, topic_prefix="blue"), TEST))
    assert declared(files[f"{STACKS['test']}.template.json"]) == TOPICS
    found = files[f"{STACKS['prod']}.template.json"]
    assert declared(found) == {name.replace("meeting.", "blue."): figures for name, figures in TOPICS.items()}
    watched = {
        d["Value"]
        for _, alarm in resources(found, "CloudWatch::Alarm")
        for query in alarm["Properties"]["Metrics"]
        for d in query.get("MetricStat", {}).get("Metric", {}).get("Dimensions", ())
        if d["Name"] == "Topic"
    }
    assert watched == {"blue.tasks", "blue.tasks.dlq", "blue.system_events"}


def test_a_prefix_that_kafka_would_refuse_ends_the_synth_with_one_line() -> None:
    with pytest.raises(DeclarationError, match=r"^topic 'a b\.tasks': a prefix .* give another one$"):
        synthesized(environments=(PROD, replace(TEST, topic_prefix="a b")))


# --- the contract, on librdkafka's mock cluster: three brokers in this process ---


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a cluster that lives as long as the producer that holds it; topics appear when they are named."""
    holder = Producer({"test.mock.num.brokers": 3, "bootstrap.servers": "ignored"})
    for topic in TOPICS:
        assert topic in holder.list_topics(topic, timeout=60).topics
    brokers = holder.list_topics(timeout=60).brokers.values()
    yield ",".join(f"{b.host}:{b.port}" for b in brokers)
    holder.flush(1)


def producer(cluster: str) -> Any:
    return Producer({**names.PRODUCER, "bootstrap.servers": cluster})


def consumer(cluster: str, group: str) -> Any:
    return Consumer({**names.CONSUMER, "bootstrap.servers": cluster, "group.id": group})


def messages(consumer: Any, count: int, seconds: float = 60) -> Iterator[Any]:
    deadline = time.monotonic() + seconds
    while count:
        assert time.monotonic() < deadline, f"{count} messages did not come"
        message = consumer.poll(0.1)
        if message is not None:
            assert message.error() is None, message.error()
            count -= 1
            yield message


def work(value: bytes) -> None:
    if value.startswith(b"broken"):
        raise ValueError(f"{value.decode()} cannot be done")


def dispatch(message: Any, letters: Any) -> bool:
    """What a service does with a task: a few attempts, then the dead letters with the reason."""
    for _ in range(names.MAX_ATTEMPTS):
        try:
            work(message.value())
        except ValueError as error:
            reason = str(error)
        else:
            return True
    headers = names.dead_letter_headers(
        message.topic(), message.partition(), message.offset(), reason=reason, attempts=names.MAX_ATTEMPTS
    )
    letters.produce(names.BROKER.topic(names.DEAD_TASKS), message.value(), message.key(), headers=headers)
    assert letters.flush(10) == 0
    return False


def test_tasks_are_done_once_in_order_and_failures_reach_the_dead_letters(cluster: str) -> None:
    sender, delivered = producer(cluster), []
    for number in range(60):
        value = f"broken-{number}" if number % 20 == 7 else f"task-{number}"
        sender.produce(
            names.BROKER.topic(names.TASKS),
            value,
            f"meeting-{number % 5}",
            on_delivery=lambda error, message: delivered.append((error, message.topic())),
        )
    assert sender.flush(10) == 0
    assert delivered == [(None, TASKS)] * 60

    (tasks,), (dead,) = names.TASKS.groups, names.DEAD_TASKS.groups
    worker, undertaker = consumer(cluster, tasks), consumer(cluster, dead)
    try:
        undertaker.subscribe([DEAD])
        undertaker.poll(0)  # joins while the worker does
        worker.subscribe([TASKS])
        done: dict[bytes, list[int]] = defaultdict(list)
        failed = []
        for message in messages(worker, 60):
            if dispatch(message, sender):
                done[message.key()].append(int(message.value().split(b"-")[1]))
            else:
                failed.append((message.partition(), message.offset(), message.value()))
            worker.commit(message=message, asynchronous=False)
        assert {key: len(order) for key, order in done.items()} == {
            f"meeting-{n}".encode(): 9 if n == 2 else 12 for n in range(5)
        }
        assert all(order == sorted(order) for order in done.values())
        committed = worker.committed(worker.assignment())
        assert sum(p.offset for p in committed if p.offset > 0) == 60

        letters = [(m.value(), m.key(), dict(m.headers())) for m in messages(undertaker, 3)]
        assert [(value, key) for value, key, _ in letters] == [
            (f"broken-{n}".encode(), b"meeting-2") for n in (7, 27, 47)
        ]
        assert [headers for _, _, headers in letters] == [
            {
                "dead-letter-topic": b"meeting.tasks",
                "dead-letter-partition": str(partition).encode(),
                "dead-letter-offset": str(offset).encode(),
                "dead-letter-reason": value + b" cannot be done",
                "dead-letter-attempts": b"3",
            }
            for partition, offset, value in failed
        ]
    finally:
        worker.close()
        undertaker.close()


def test_producers_wait_for_all_replicas_and_consumers_commit_by_hand() -> None:
    assert (names.PRODUCER["acks"], names.PRODUCER["enable.idempotence"]) == ("all", True)
    assert names.CONSUMER["enable.auto.commit"] is False
    with pytest.raises(KafkaException, match="acks"):
        Producer({**names.PRODUCER, "acks": 1, "bootstrap.servers": "ignored"})


def test_the_client_settings_of_the_deployed_broker_are_legal() -> None:
    expires = time.time() + 60  # noqa: TID251  # by the clock of librdkafka
    settings = {**names.SECURITY, "oauth_cb": lambda _: ("token", expires), "bootstrap.servers": "ignored"}
    assert Producer({**names.PRODUCER, **settings}) is not None
    assert names.BROKER.port == 9098
