"""What stands beside the tables: keys without a table, topics, queues, functions and their logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from holdfast.catalog import Placed
from holdfast.intrinsics import Reference, Unknown
from holdfast.model import Processor
from holdfast.monitoring import failure_queue, processor_alarms
from holdfast.rules.base import EXEMPT, PASS, Rule, Severity, Verdict, fail, unknown
from holdfast.rules.protection import open_statements
from holdfast.template import StackSeen

Resource = Mapping[str, Any]
Check = Callable[[StackSeen, Resource], Verdict]


def _property(name: str, good: Callable[[Any], bool], problem: str) -> Check:
    """A property that must be there and good."""

    def check(stack: StackSeen, resource: Resource) -> Verdict:
        seen = stack.resolver.get(resource.get("Properties", {}), name)
        if isinstance(seen, Unknown):
            return unknown(f"{name} cannot be read: {seen.reason}")
        return PASS if good(seen) else fail(problem)

    return check


def queue_encrypted(stack: StackSeen, resource: Resource) -> Verdict:
    get, p = stack.resolver.get, resource.get("Properties", {})
    sse, key = get(p, "SqsManagedSseEnabled"), get(p, "KmsMasterKeyId")
    if key is not None:
        return PASS
    if isinstance(sse, Unknown):
        return unknown(f"SqsManagedSseEnabled cannot be read: {sse.reason}")
    return PASS if sse is True else fail("messages are not encrypted at rest")


def policy_closed(stack: StackSeen, resource: Resource) -> Verdict:
    strangers = list(open_statements(resource.get("Properties", {}).get("PolicyDocument", {})))
    return fail(f"the policy lets anybody in: {strangers[0]}") if strangers else PASS


def tls_only(stack: StackSeen, resource: Resource) -> Verdict:
    document = resource.get("Properties", {}).get("PolicyDocument", {})
    statements = document.get("Statement", [])
    denied = [s for s in statements if isinstance(s, Mapping) and s.get("Effect") == "Deny"]
    if any("false" in str(s.get("Condition", {}).get("Bool", {}).get("aws:SecureTransport", "")) for s in denied):
        return PASS
    return fail("the policy does not refuse plain HTTP")


def closed_and_tls_only(stack: StackSeen, resource: Resource) -> Verdict:
    closed = policy_closed(stack, resource)
    return tls_only(stack, resource) if closed == PASS else closed


def mapping_bounded(stack: StackSeen, resource: Resource) -> Verdict:
    get, p = stack.resolver.get, resource.get("Properties", {})
    problems = []
    if "DestinationConfig" not in p:
        problems.append("what stays bad is lost: no on-failure destination")
    if not isinstance(get(p, "MaximumRetryAttempts", -1), int) or get(p, "MaximumRetryAttempts", -1) < 0:
        problems.append("a bad record blocks its shard: retries are not bounded")
    if "ReportBatchItemFailures" not in (get(p, "FunctionResponseTypes") or []):
        problems.append("one bad record fails its whole batch")
    if get(p, "BisectBatchOnFunctionError") is not True:
        problems.append("a failing batch is never split")
    return fail("; ".join(problems)) if problems else PASS


def supported_runtime(seen: Any) -> bool:
    name, _, version = str(seen).partition("python3.")
    return name == "" and version.isdigit() and int(version) >= 12


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
        _property("KmsMasterKeyId", lambda seen: isinstance(seen, Reference), "the topic has no key of its own"),
    ),
    (
        "AWS::SNS::TopicPolicy",
        Rule(
            id="HF302",
            title="Topic policies let no stranger in",
            why="Anybody who may publish can raise alarms at will, or drown the real ones.",
            fix="Allow cloudwatch.amazonaws.com with aws:SourceAccount, as holdfast.monitoring.topic_policy does for {stack}.",
            severity=Severity.HIGH,
        ),
        policy_closed,
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
            fix="Use a current Python runtime for the function of {stack}.",
            severity=Severity.MEDIUM,
            controls=("SecurityHub Lambda.2",),
        ),
        _property("Runtime", supported_runtime, "the runtime is retired, or not Python"),
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
        _property("KmsKeyId", lambda seen: isinstance(seen, Reference), "the log group has no key of its own"),
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
        _property("RetentionInDays", lambda seen: isinstance(seen, int), "the log group keeps everything for ever"),
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
    if (Reference(functions[0]), Reference(tables[0], "StreamArn")) in mapped:
        return PASS
    return fail(f"its stream is not mapped to {placed.fill(processor.name)}")


def watched(stack: StackSeen, placed: Placed, processor: Processor) -> Verdict:
    """Whether the alarms of a declared stream consumer are there, as declared, and heard."""
    seen = {p["AlarmName"]: p for p in stack.alarms.values() if isinstance(p, dict) and "AlarmName" in p}
    name = placed.fill(processor.name)
    for alarm in processor_alarms(name, failure_queue(name)):
        want, found = alarm.properties("", {}), seen.get(alarm.name)
        if found is None:
            return fail(f"there is no alarm {alarm.name}")
        if any(found.get(n) != want[n] for n in ("Threshold", "Metrics")) or not found.get("AlarmActions"):
            return fail(f"alarm {alarm.name} is not as declared, or tells nobody")
    return PASS


WATCHED = Rule(
    id="HF311",
    title="Stream consumers are watched",
    why="A consumer that falls behind loses changes after a day; what it gave up on waits in a queue that nobody reads.",
    fix="Restore the alarms of the stream consumer of {table} as holdfast.monitoring.processor_alarms makes them.",
    severity=Severity.MEDIUM,
)
RULES = (*dict.fromkeys(rule for _, rule, _ in RULES_BY_TYPE), CONSUMER, WATCHED)
