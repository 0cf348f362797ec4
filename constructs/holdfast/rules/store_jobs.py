"""The functions of a database, what calls them, and the roles of a stack: each does its job and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from holdfast.cfn.intrinsics import Reference
from holdfast.cfn.template import StackSeen
from holdfast.kinds.alarms import failed_jobs, function_names
from holdfast.kinds.database.declaration import DRIFT_SCHEDULE, Database
from holdfast.kinds.settings import BACKUP_POLICY, BUCKET_BACKUP_POLICY, MONITORING_POLICY
from holdfast.model.regions import partition
from holdfast.rules.access import SERVICE
from holdfast.rules.store_network import SUBNET
from holdfast.rules.store_subject import (
    FUNCTION,
    GROUP,
    LOG_GROUP,
    QUEUE,
    ROLE,
    Need,
    StoreSubject,
    all_own,
    at_least,
    dig,
    exactly,
    find,
    flat,
    mentioned,
    met,
    own,
    own_key,
)
from holdfast.rules.subjects import Resource
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Outcome, Verdict, fail, unknown

HANDLERS = {"migrate": "migrate", "drift": "drift", "retention": "retain"}
SECONDS = 780  # the shortest time that any of them is given
KEPT_SECONDS = 14 * 86_400  # as long as a queue can
SCHEDULE, POLICY = "AWS::Scheduler::Schedule", "AWS::IAM::ManagedPolicy"


def upkept(s: StoreSubject) -> Verdict:
    """The jobs of a database: its schema is applied at every deploy, and its partitions are kept every day."""
    if not isinstance(s.store, Database):
        return EXEMPT
    wanted = {"drift": DRIFT_SCHEDULE} | ({"retention": s.store.upkeep.schedule} if s.store.upkeep else {})
    verdicts = [_failures(s)]
    for job, name in function_names(s.name, s.store).items():
        function = _named(s.stack, FUNCTION, "FunctionName", name)
        if function is None:
            verdicts.append(fail(f"its function {name} is gone"))
            continue
        verdicts.append(_function(s, job, name, function))
        verdicts.append(_scheduled(s, name, wanted[job], function) if job in wanted else _triggered(s, function))
    bad = [v.detail for v in verdicts if v.outcome is Outcome.FAIL]
    if bad:
        return fail("; ".join(bad))
    return next((v for v in verdicts if v.outcome is Outcome.UNKNOWN), PASS)


def _named(stack: StackSeen, kind: str, attribute: str, name: str) -> str | None:
    """The one resource of a type with a name; two of one name are none."""
    found = [i for i, r in stack.resources(kind) if dig(stack, r, "Properties", attribute) == name]
    return found[0] if len(found) == 1 else None


def _function(s: StoreSubject, job: str, name: str, function: str) -> Verdict:
    assert isinstance(s.store, Database)
    variables = "Environment.Variables"
    wanted = [
        Need(f"{name} runs something else", "Handler", exactly(f"handler.{HANDLERS[job]}")),
        Need(f"the code of {name} is no asset", "Code.S3Key", lambda _, key: isinstance(key, str)),
        Need(f"{name} may not run", "ReservedConcurrentExecutions", at_least(1), 1),
        Need(f"{name} is stopped before {SECONDS} seconds", "Timeout", at_least(SECONDS), 3),
        Need(f"{name} stands in no subnets of the stack", "VpcConfig.SubnetIds", all_own(SUBNET), []),
        Need(f"{name} wears no groups of the stack", "VpcConfig.SecurityGroupIds", all_own(GROUP), []),
        Need(f"the settings of {name} are not under the stack's key", "KmsKeyArn", own_key),
        Need(f"what {name} fails at is lost: no queue", "DeadLetterConfig.TargetArn", own(QUEUE)),
        Need(f"{name} has no role of the stack", "Role", own(ROLE)),
        Need(f"{name} logs to no group of the stack", "LoggingConfig.LogGroup", own(LOG_GROUP)),
        Need(f"{name} works on another database", f"{variables}.DATABASE", exactly(s.name)),
        Need(f"{name} connects elsewhere", f"{variables}.HOST", _of(s, "Endpoint.Address")),
        Need(f"{name} connects elsewhere", f"{variables}.PORT", exactly(s.store.port)),
        Need(f"{name} takes another schema", f"{variables}.SCHEMA", exactly(s.store.schema)),
        Need(f"{name} uses another secret", f"{variables}.SECRET", _of(s, "MasterUserSecret.SecretArn")),
    ]
    verdict = met(s.part(function), wanted)
    if verdict == PASS and job == "retention" and not _archives(s, function):
        return fail(f"{name} archives to another bucket")
    return verdict


def _of(s: StoreSubject, attribute: str) -> Any:
    return lambda _, value: value == Reference(s.logical_id, attribute)


def _archives(s: StoreSubject, function: str) -> bool:
    assert isinstance(s.store, Database)
    assert s.store.upkeep
    bucket = next(t for t in s.placed.stores if t.name == s.store.upkeep.archive)
    found = find(s.stack, s.placed, bucket)
    if not isinstance(found, str):
        return True  # another rule's finding
    raw = s.part(function).resource["Properties"]["Environment"]["Variables"].get("ARCHIVE")
    return flat(s.stack, raw) == f"s3://${{{found}}}/archive"


def _scheduled(s: StoreSubject, name: str, expression: str, function: str) -> Verdict:
    schedule = _named(s.stack, SCHEDULE, "Name", name)
    if schedule is None:
        return fail(f"nothing calls {name} at {expression}")
    return met(
        s.part(schedule),
        [
            Need(f"{name} does not run at {expression}", "ScheduleExpression", exactly(expression)),
            Need(f"{name} does not run by UTC", "ScheduleExpressionTimezone", exactly("UTC", "Etc/UTC"), "UTC"),
            Need(f"the schedule of {name} is switched off", "State", exactly("ENABLED"), "ENABLED"),
            Need(f"the schedule of {name} ends", "EndDate", exactly(None)),
            Need(f"the schedule of {name} calls something else", "Target.Arn", exactly(Reference(function, "Arn"))),
            Need(f"the schedule of {name} has no role of the stack", "Target.RoleArn", own(ROLE)),
            Need(f"a call of {name} that fails is lost: no queue", "Target.DeadLetterConfig.Arn", own(QUEUE)),
        ],
    )


def _triggered(s: StoreSubject, function: str) -> Verdict:
    """Whether a deploy runs the function, and waits for what it says."""
    for _, trigger in s.stack.resources("Custom::Trigger"):
        version = dig(s.stack, trigger, "Properties", "HandlerArn")
        if not s.stack.is_a(version, "AWS::Lambda::Version"):
            continue
        handler = dig(s.stack, s.stack.template["Resources"][version.logical_id], "Properties", "FunctionName")
        if handler == Reference(function):
            waits = dig(s.stack, trigger, "Properties", "InvocationType", default="RequestResponse")
            return PASS if waits == "RequestResponse" else fail("a deploy does not wait for its schema")
    return fail("nothing applies its schema at a deploy")


def _failures(s: StoreSubject) -> Verdict:
    """The queue of what was given up: under the name that its alarm reads, kept, and closed to plain HTTP."""
    queue = _named(s.stack, QUEUE, "QueueName", failed_jobs(s.name))
    if queue is None:
        return fail(f"the queue {failed_jobs(s.name)} is gone")
    policies = [r for _, r in s.stack.resources("AWS::SQS::QueuePolicy")]
    if not any(queue in mentioned(r.get("Properties", {}).get("Queues")) for r in policies):
        return fail(f"the queue {failed_jobs(s.name)} has no policy")
    kept = Need(
        f"the queue {failed_jobs(s.name)} forgets", "MessageRetentionPeriod", at_least(KEPT_SECONDS), 4 * 86_400
    )
    return met(s.part(queue), [kept])


# What AWS itself wrote, and the constructs attach.
MANAGED = {
    BACKUP_POLICY,
    BUCKET_BACKUP_POLICY,
    MONITORING_POLICY,
    "service-role/AWSLambdaBasicExecutionRole",  # of the functions that CDK brings along
}
# Everything that takes data or its protection away, or makes its holder somebody else.
TOO_MUCH = re.compile(
    r"\*|^(iam|sts|organizations|ram):|:(Delete|Bypass|Schedule|Disable|Modify|Restore|Share|CreateGrant)"
    r"|:Put(Bucket|Key|Lifecycle|ObjectLegalHold|ObjectRetention|ObjectLock|Resource|Encryption)"
)
HARMLESS = {
    "dynamodb:DeleteItem",  # of an application; point-in-time recovery has it back
    "ec2:DeleteNetworkInterface",  # Lambda leaves subnets as it enters them
    "s3:DeleteObject",  # of an application; the version stays, and where it is locked nobody shortens that
}
WITHOUT_RESOURCE = ("ec2:", "servicediscovery:", "dynamodb:ListStreams")  # services whose calls know none


def modest_role(r: Resource) -> Verdict:
    """A role that services of AWS take, with policies of the stack."""
    stack, p = r.stack, r.properties
    trust = stack.resolver.get(p, "AssumeRolePolicyDocument", {})
    statements = trust.get("Statement") if isinstance(trust, dict) else None
    if not isinstance(statements, list):
        return unknown("who may take the role cannot be read")
    for statement in statements:
        principal = statement.get("Principal") if isinstance(statement, dict) else None
        if (
            not isinstance(principal, dict)
            or principal.keys() != {"Service"}
            or not isinstance(principal["Service"], str)
            or not SERVICE.fullmatch(principal["Service"])
        ):
            return fail("others than one service of AWS may take the role")
    for raw in p.get("ManagedPolicyArns", []):
        arn = flat(stack, raw)
        if isinstance(arn, Unknown):
            return unknown(f"a policy of the role cannot be read: {arn.reason}")
        if arn.partition(f"arn:{partition(stack.region)}:iam::aws:policy/")[2] not in MANAGED and not stack.is_a(
            stack.resolver.value(raw), POLICY
        ):
            return fail(f"the role has the policy {arn}, which is not the stack's")
    inline = stack.resolver.get(p, "Policies", [])
    documents = [
        q.get("PolicyDocument") if isinstance(q, dict) else None
        for q in (inline if isinstance(inline, list) else [inline])
    ]
    return next((v for d in documents if (v := _modest(d)) != PASS), PASS)


def modest_policy(r: Resource) -> Verdict:
    for name, kind in (("Users", ""), ("Groups", ""), ("Roles", ROLE)):
        given = r.get(name, [])
        if not isinstance(given, list) or not all(r.stack.is_a(g, kind) for g in given):
            return fail(f"the policy is attached to {name.lower()} that are not the stack's")
    return _modest(r.get("PolicyDocument", {}))


def _modest(document: Any) -> Verdict:
    statements = document.get("Statement") if isinstance(document, dict) else None
    if not isinstance(statements, list) or not all(isinstance(t, dict) for t in statements):
        return unknown("what a policy allows cannot be read")
    for statement in statements:
        if statement.get("Effect") == "Deny":
            continue
        actions = list(_listed(statement.get("Action")))
        if "NotAction" in statement or "NotResource" in statement or not actions:
            return fail("a policy allows whatever it does not name")
        if wide := [a for a in actions if a not in HARMLESS and TOO_MUCH.search(a)]:
            return fail(f"a policy allows {', '.join(wide)}")
        if "*" in _listed(statement.get("Resource")) and not all(a.startswith(WITHOUT_RESOURCE) for a in actions):
            return fail(f"a policy allows {', '.join(actions)} on everything")
    return PASS


def _listed(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value] if value is not None else []:
        yield str(item)
