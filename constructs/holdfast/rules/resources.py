"""What stands beside the tables: keys without a table, topics, queues, functions and their logs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from holdfast.catalog import Placed
from holdfast.intrinsics import Reference, Unknown
from holdfast.keys import needs_key
from holdfast.model import Processor
from holdfast.monitoring import failure_queue, processor_alarms, topic_policy
from holdfast.rules.base import EXEMPT, PASS, Rule, Severity, Verdict, fail, unknown
from holdfast.rules.estate import alike, changes
from holdfast.rules.protection import open_statements, same_policy
from holdfast.template import TOPIC, StackSeen, heard

Resource = Mapping[str, Any]
Check = Callable[[StackSeen, Resource], Verdict]


def _property(name: str, good: Callable[[StackSeen, Any], bool], problem: str) -> Check:
    """A property that must be there and good."""

    def check(stack: StackSeen, resource: Resource) -> Verdict:
        seen = stack.resolver.get(resource.get("Properties", {}), name)
        if isinstance(seen, Unknown):
            return unknown(f"{name} cannot be read: {seen.reason}")
        return PASS if good(stack, seen) else fail(problem)

    return check


def queue_encrypted(stack: StackSeen, resource: Resource) -> Verdict:
    get, p = stack.resolver.get, resource.get("Properties", {})
    sse, key = get(p, "SqsManagedSseEnabled"), get(p, "KmsMasterKeyId")
    if stack.is_a(key, "AWS::KMS::Key") or alike(sse, True):
        return PASS
    unread = next((v for v in (sse, key) if isinstance(v, Unknown)), None)
    return fail("messages are not encrypted at rest") if unread is None else unknown(f"encryption: {unread.reason}")


def own_key(name: str, problem: str) -> Check:
    """A property that must refer to a key of the same template."""
    return _property(name, lambda stack, seen: stack.is_a(seen, "AWS::KMS::Key"), problem)


def policy_closed(stack: StackSeen, resource: Resource) -> Verdict:
    strangers = list(open_statements(resource.get("Properties", {}).get("PolicyDocument", {})))
    return fail(f"the policy lets anybody in: {strangers[0]}") if strangers else PASS


def tls_only(stack: StackSeen, resource: Resource) -> Verdict:
    document = stack.resolver.get(resource.get("Properties", {}), "PolicyDocument", {})
    statements = stack.resolver.get(document, "Statement", [])
    for statement in statements if isinstance(statements, list) else []:
        if isinstance(statement, Mapping) and statement.get("Effect") == "Deny":
            test = stack.resolver.get(stack.resolver.get(statement, "Condition", {}), "Bool", {})
            if alike(stack.resolver.get(test, "aws:SecureTransport", ""), False):
                return PASS
    return fail("the policy does not refuse plain HTTP")


def closed_and_tls_only(stack: StackSeen, resource: Resource) -> Verdict:
    closed = policy_closed(stack, resource)
    return tls_only(stack, resource) if closed == PASS else closed


def mapping_bounded(stack: StackSeen, resource: Resource) -> Verdict:
    get, p = stack.resolver.get, resource.get("Properties", {})
    destination = get(get(get(p, "DestinationConfig", {}), "OnFailure", {}), "Destination")
    retries = str(get(p, "MaximumRetryAttempts", ""))
    problems = {
        "it is switched off": not alike(get(p, "Enabled", True), True),
        "it filters records out": "FilterCriteria" in p,
        "what stays bad is lost: its failures go to no queue of the stack": not stack.is_a(
            destination, "AWS::SQS::Queue"
        ),
        "a bad record blocks its shard: retries are not bounded": not (
            retries.isdigit() and int(retries) <= MAX_RETRIES
        ),
        "one bad record fails its whole batch": get(p, "FunctionResponseTypes") != ["ReportBatchItemFailures"],
        "a failing batch is never split": not alike(get(p, "BisectBatchOnFunctionError", False), True),
    }
    wrong = [text for text, holds in problems.items() if holds]
    return fail("; ".join(wrong)) if wrong else PASS


MAX_RETRIES = 100


def declared_topic_policy(stack: StackSeen, resource: Resource) -> Verdict:
    closed = policy_closed(stack, resource)
    p = resource.get("Properties", {})
    topics = p.get("Topics")
    if closed != PASS:
        return closed
    if not (isinstance(topics, list) and len(topics) == 1 and stack.is_a(stack.resolver.value(topics[0]), TOPIC)):
        return fail("the policy is on no topic of the stack")
    return same_policy(p.get("PolicyDocument", {}), topic_policy(topics[0]), "the topic policy")


def demanded(stack: StackSeen, placed: Placed) -> Iterator[tuple[Rule, Verdict]]:
    """What has to be there at all: a key, a topic and its policy, where the stack has data or alarms that need them."""
    rules = {rule.id: rule for _, rule, _ in RULES_BY_TYPE}
    for rule, kind, needed in (
        (OWN_KEY, "AWS::KMS::Key", needs_key(placed)),
        (OWN_KEY, "AWS::KMS::Alias", needs_key(placed)),
        (rules["HF301"], TOPIC, placed.alarmed),
        (rules["HF302"], "AWS::SNS::TopicPolicy", placed.alarmed),
    ):
        if needed and not list(stack.resources(kind)):
            yield rule, fail(f"there is no {kind}")
    for _, alias in stack.resources("AWS::KMS::Alias"):
        if not stack.is_a(stack.resolver.get(alias.get("Properties", {}), "TargetKeyId"), "AWS::KMS::Key"):
            yield OWN_KEY, fail("the alias points to no key of the stack")


OLDEST = {"python3.": 12, "nodejs": 22}  # the oldest release of each language that still gets fixes


def supported_runtime(_: StackSeen, seen: Any) -> bool:
    found = re.fullmatch(r"(python3\.|nodejs)(\d+)(\.x)?", str(seen))
    return found is not None and int(found[2]) >= OLDEST[found[1]]


RULES_BY_TYPE: tuple[tuple[str, Rule, Check], ...] = (
    (
        "AWS::SNS::Topic",
        Rule(
            id="HF301",
            title="Alarm topics are encrypted with the stack's key",
            why="Alarm texts name tables and functions. CloudWatch cannot publish through the key that AWS manages, so it has "
            "to be the stack's own.",
            fix="Set KmsMasterKeyId of the topic of {stack} to the stack's key; the construct does.",
            severity=Severity.MEDIUM,
            controls=("SecurityHub SNS.1",),
        ),
        own_key("KmsMasterKeyId", "the topic has no key of its own"),
    ),
    (
        "AWS::SNS::TopicPolicy",
        Rule(
            id="HF302",
            title="Topic policies let CloudWatch in, and no stranger",
            why="Anybody who may publish can raise alarms at will, or drown the real ones.",
            fix="Allow cloudwatch.amazonaws.com with aws:SourceAccount, as holdfast.monitoring.topic_policy does for {stack}.",
            severity=Severity.HIGH,
        ),
        declared_topic_policy,
    ),
    (
        "AWS::SNS::TopicPolicy",
        Rule(
            id="HF303",
            title="Topics refuse plain HTTP",
            why="Without a statement that denies it, messages may travel unencrypted.",
            fix="Deny sns:Publish where aws:SecureTransport is false, as holdfast.monitoring.topic_policy does for {stack}.",
            severity=Severity.MEDIUM,
        ),
        tls_only,
    ),
    (
        "AWS::SQS::Queue",
        Rule(
            id="HF304",
            title="Queues are encrypted at rest",
            why="A failure queue holds pointers to records that may be personal.",
            fix="Set SqsManagedSseEnabled: true, or KmsMasterKeyId, on the queue of {stack}.",
            severity=Severity.MEDIUM,
            controls=("SecurityHub SQS.1",),
        ),
        queue_encrypted,
    ),
    (
        "AWS::SQS::QueuePolicy",
        Rule(
            id="HF305",
            title="Queues refuse plain HTTP and strangers",
            why="Without a statement that denies it, messages may travel unencrypted; an open principal lets anybody read or "
            "write them.",
            fix="Deny sqs:* where aws:SecureTransport is false, as enforce_ssl=True does on the queue of {stack}.",
            severity=Severity.MEDIUM,
        ),
        closed_and_tls_only,
    ),
    (
        "AWS::Lambda::EventSourceMapping",
        Rule(
            id="HF306",
            title="Stream consumers fail in bounds",
            why="By default a stream consumer retries a bad record for a day, blocks everything behind it, and then drops it.",
            fix="Give the mapping of {stack} an on-failure destination, bounded retries, bisection and partial batch responses.",
            severity=Severity.HIGH,
        ),
        mapping_bounded,
    ),
    (
        "AWS::Lambda::Function",
        Rule(
            id="HF307",
            title="Functions run on a supported runtime",
            why="A retired runtime gets no security fixes, and at some point cannot be updated any more.",
            fix="Use a current runtime for the function of {stack}.",
            severity=Severity.MEDIUM,
            controls=("SecurityHub Lambda.2",),
        ),
        _property("Runtime", supported_runtime, "the runtime is retired, or unheard of"),
    ),
    (
        "AWS::Logs::LogGroup",
        Rule(
            id="HF308",
            title="Logs are encrypted with the stack's key",
            why="Logs of a function that reads personal data belong under the same key as the data.",
            fix="Set KmsKeyId of the log group of {stack} to the stack's key.",
            severity=Severity.LOW,
        ),
        own_key("KmsKeyId", "the log group has no key of its own"),
    ),
    (
        "AWS::Logs::LogGroup",
        Rule(
            id="HF309",
            title="Logs end some day",
            why="A log group without retention keeps everything for ever, and is paid for for ever.",
            fix="Set RetentionInDays on the log group of {stack}.",
            severity=Severity.LOW,
        ),
        _property("RetentionInDays", lambda _, seen: str(seen).isdigit(), "the log group keeps everything for ever"),
    ),
)
CONSUMER = Rule(
    id="HF310",
    title="Every declared stream consumer is deployed",
    why="A stream whose consumer is gone loses its changes after a day, without an error anywhere.",
    fix="Restore the function and its event source mapping on {table}.",
    severity=Severity.HIGH,
)


def consumed(stack: StackSeen, placed: Placed, processor: Processor) -> Verdict:
    """Whether a declared stream consumer is there and reads its table's stream."""
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


def watched(stack: StackSeen, placed: Placed, processor: Processor) -> Verdict:
    """Whether the alarms of a declared stream consumer are there, as declared, and heard."""
    seen = {p["AlarmName"]: p for p in stack.alarms.values() if isinstance(p, dict) and "AlarmName" in p}
    name = placed.fill(processor.name)
    for alarm in processor_alarms(name, failure_queue(name)):
        found = seen.get(alarm.name)
        if changed := changes(alarm, found):
            return fail(f"not as declared: {', '.join(changed)}")
        if found and heard(stack, found) is not True:
            return fail(f"no topic of the stack hears {alarm.name}")
    return PASS


OWN_KEY = Rule(
    id="HF312",
    title="A stack that needs a key has one, with an alias",
    why="Personal data and alarm topics are encrypted with the stack's own key; people and policies find it by its alias.",
    fix="Restore the key of {stack} and its alias; the construct makes both.",
    severity=Severity.HIGH,
)
WATCHED = Rule(
    id="HF311",
    title="Stream consumers are watched",
    why="A consumer that falls behind loses changes after a day; what it gave up on waits in a queue that nobody reads.",
    fix="Restore the alarms of the stream consumer of {table} as holdfast.monitoring.processor_alarms makes them.",
    severity=Severity.MEDIUM,
)
RULES = (*dict.fromkeys(rule for _, rule, _ in RULES_BY_TYPE), CONSUMER, WATCHED, OWN_KEY)
