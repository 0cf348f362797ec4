"""What stands beside the tables: keys without a table, topics, queues, functions and their logs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.cfn.alike import alike
from holdfast.cfn.intrinsics import Reference
from holdfast.cfn.places import at
from holdfast.cfn.types import TOPIC
from holdfast.estate.placement import Placed
from holdfast.model.owners import subscription
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.subjects import Consumer, Resource, StackSubject
from holdfast.shared.key.observed import encrypting_key
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Verdict, fail, unknown

Judge = Callable[[Resource], Verdict]


def _property(name: str, good: Callable[[Resource, Any], bool], problem: str) -> Judge:
    """A property that must be there and good."""

    def check(r: Resource) -> Verdict:
        seen = r.get(name)
        if isinstance(seen, Unknown):
            return unknown(f"{name} cannot be read: {seen.reason}")
        return PASS if good(r, seen) else fail(problem)

    return check


def queue_encrypted(r: Resource) -> Verdict:
    sse, key = r.get("SqsManagedSseEnabled"), r.get("KmsMasterKeyId")
    if encrypting_key(r.placed, r.stack, key) or alike(sse, True):
        return PASS
    unread = next((v for v in (sse, key) if isinstance(v, Unknown)), None)
    return fail("messages are not encrypted at rest") if unread is None else unknown(f"encryption: {unread.reason}")


def own_key(name: str, problem: str) -> Judge:
    """A property that must name the stack's key."""
    return _property(name, lambda r, seen: encrypting_key(r.placed, r.stack, seen), problem)


def tls_only(r: Resource) -> Verdict:
    get = r.stack.resolver.get
    statements = get(r.get("PolicyDocument", {}), "Statement", [])
    for statement in statements if isinstance(statements, list) else []:
        if isinstance(statement, Mapping) and statement.get("Effect") == "Deny":
            test = get(get(statement, "Condition", {}), "Bool", {})
            if alike(get(test, "aws:SecureTransport", ""), False):
                return PASS
    return fail("the policy does not refuse plain HTTP")


def there(kind: str, needed: Callable[[Placed], bool]) -> Callable[[StackSubject], Verdict]:
    """That a type has to be there at all: a key, a topic and its policy, where data or alarms need them."""

    def check(s: StackSubject) -> Verdict:
        if not needed(s.placed):
            return EXEMPT
        return PASS if any(True for _ in s.stack.resources(kind)) else fail(f"there is no {kind}")

    return check


def alarmed(placed: Placed) -> bool:
    return placed.alarmed


ends = _property("RetentionInDays", lambda _, seen: str(seen).isdigit(), "the log group keeps everything for ever")
SUBSCRIPTION = "AWS::SNS::Subscription"


def told(s: StackSubject) -> Verdict:
    """Whether the topic of the alarms tells every address of the owner."""
    if not s.placed.alarmed or not s.placed.tell:
        return EXEMPT
    get, found = s.stack.resolver.get, set()
    for _, resource in s.stack.resources(SUBSCRIPTION):
        properties = resource.get("Properties")
        if s.stack.is_a(get(properties, "TopicArn"), TOPIC) and "FilterPolicy" not in resource["Properties"]:
            found.add((str(get(properties, "Protocol")), str(get(properties, "Endpoint"))))
    missing = [address for address in s.placed.addresses if subscription(address) not in found]
    return fail(f"no subscription tells {', '.join(missing)}") if missing else PASS


OLDEST = {"python3.": 12, "nodejs": 22}  # the oldest release of each language that still gets fixes


def supported_runtime(_: Resource, seen: Any) -> bool:
    found = re.fullmatch(r"(python3\.|nodejs)(\d+)(\.x)?", str(seen))
    return found is not None and int(found[2]) >= OLDEST[found[1]]


ENCRYPTED = Rule(
    id="HF301",
    title="Topics, queues and log groups are encrypted at rest",
    why="Alarm texts name tables and functions, a failure queue holds pointers to records, and logs of what reads personal data "
    "belong under the same key as the data. CloudWatch cannot publish through the key that AWS manages, so the key of topics "
    "and logs has to be the stack's own.",
    remediation="Set the stack's key on topics and log groups of {stack} (KmsMasterKeyId, KmsKeyId), and SqsManagedSseEnabled: true or "
    "KmsMasterKeyId on its queues; the construct does.",
    severity=Severity.MEDIUM,
    paths=at(TOPIC, "Type", "KmsMasterKeyId")
    + at("AWS::SQS::Queue", "KmsMasterKeyId", "SqsManagedSseEnabled")
    + at("AWS::Logs::LogGroup", "KmsKeyId"),
    controls=("SecurityHub SNS.1", "SecurityHub SQS.1"),
    checks=(
        Check(Resource, own_key("KmsMasterKeyId", "the topic has no key of its own"), (TOPIC,)),
        Check(StackSubject, there(TOPIC, alarmed)),
        Check(Resource, queue_encrypted, ("AWS::SQS::Queue",)),
        Check(Resource, own_key("KmsKeyId", "the log group has no key of its own"), ("AWS::Logs::LogGroup",)),
    ),
)
RUNTIME = Rule(
    id="HF307",
    title="Functions run on a supported runtime",
    why="A retired runtime gets no security fixes, and at some point cannot be updated any more.",
    remediation="Use a current runtime for the function of {stack}.",
    severity=Severity.MEDIUM,
    paths=at("AWS::Lambda::Function", "Runtime"),
    controls=("SecurityHub Lambda.2",),
    checks=(
        Check(
            Resource,
            _property("Runtime", supported_runtime, "the runtime is retired or unknown"),
            ("AWS::Lambda::Function",),
        ),
    ),
)
RULES = (ENCRYPTED, RUNTIME)


def consumed(s: Consumer) -> Verdict:
    """Whether a declared stream consumer is there and reads its table's stream."""
    stack, placed, processor = s.stack, s.placed, s.processor
    get = stack.resolver.get

    def named(kind: str, attribute: str, name: str) -> list[str]:
        resources = stack.resources(kind)
        return [i for i, r in resources if stack.resolver.text(get(r.get("Properties"), attribute)) == name]

    functions = named("AWS::Lambda::Function", "FunctionName", placed.fill(processor.name))
    tables = named("AWS::DynamoDB::Table", "TableName", placed.fill(processor.table))
    if not tables:
        return EXEMPT  # another rule's finding
    if not functions:
        return fail(f"its consumer {placed.fill(processor.name)} is not in the stack")
    mapped = [
        (get(r.get("Properties"), "FunctionName"), get(r.get("Properties"), "EventSourceArn"))
        for _, r in stack.resources("AWS::Lambda::EventSourceMapping")
    ]
    concurrency = get(stack.template["Resources"][functions[0]].get("Properties"), "ReservedConcurrentExecutions", 1)
    if alike(concurrency, 0):
        return fail(f"{placed.fill(processor.name)} may not run: its concurrency is 0")
    stream = Reference(tables[0], "StreamArn")
    if any((Reference(functions[0], how), stream) in mapped for how in (None, "Arn")):
        return PASS
    return fail(f"its stream is not mapped to {placed.fill(processor.name)}")
