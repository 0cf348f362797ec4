"""Roles and policies of a stack: each belongs to a service of AWS, and deletes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from holdfast.cfn.dig import flat
from holdfast.cfn.places import at
from holdfast.cfn.types import POLICY, ROLE
from holdfast.kinds.database.settings import MONITORING_POLICY
from holdfast.kinds.kinds import KINDS
from holdfast.model.regions import partition
from holdfast.rules.access import SERVICE
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.subjects import Resource
from holdfast.shared.vault.settings import BACKUP_POLICY, BUCKET_BACKUP_POLICY
from holdfast.unknown import Unknown
from holdfast.verdict import PASS, Verdict, fail, unknown

# What AWS itself wrote, and the constructs attach.
MANAGED = {
    BACKUP_POLICY,
    BUCKET_BACKUP_POLICY,
    MONITORING_POLICY,
    "service-role/AWSLambdaBasicExecutionRole",  # of the functions that CDK brings along
}

# Everything that takes data or its protection away, or gives it another holder.
TOO_MUCH = re.compile(
    r"\*|^(iam|sts|organizations|ram):|:(Delete|Bypass|Schedule|Disable|Modify|Restore|Share|CreateGrant)"
    r"|:Put(Bucket|Key|Lifecycle|ObjectLegalHold|ObjectRetention|ObjectLock|Resource|Encryption)"
)

HARMLESS = {
    "dynamodb:DeleteItem",  # of an application; point-in-time recovery has it back
    "ec2:DeleteNetworkInterface",  # Lambda leaves subnets as it enters them
    *(action for kind in KINDS for action in kind.harmless),
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


ROLES = Rule(
    id="HF507",
    title="Roles trust AWS services only, and cannot delete data",
    why="Who can take a role, or change a function that has it, can do all that its policies allow. The policy for applications is "
    "attached to every service of a system: one action or one path more in it is given to all of them.",
    remediation="Restore the roles and policies of {stack}; each allows what its one job needs.",
    severity=Severity.HIGH,
    paths=at("AWS::IAM::Role", "AssumeRolePolicyDocument", "ManagedPolicyArns", "Policies")
    + at("AWS::IAM::ManagedPolicy", "Type", "ManagedPolicyName", "PolicyDocument"),
    controls=("SecurityHub IAM.1", "SecurityHub IAM.21", "NIST AC-6"),
    checks=(
        Check(Resource, modest_role, ("AWS::IAM::Role",)),
        Check(Resource, modest_policy, ("AWS::IAM::ManagedPolicy",)),
    ),
)
RULES = (ROLES,)
