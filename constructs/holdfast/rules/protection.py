"""Protection: what the policy requires of a table is on, in whatever source shows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from holdfast.catalog import Placed
from holdfast.intrinsics import Unknown
from holdfast.keys import key_policy
from holdfast.model import Guard
from holdfast.observed import Observed, ObservedKey, Source
from holdfast.policy import RECOVERY_DAYS, REQUIRED_TAGS
from holdfast.rules.base import EXEMPT, PASS, Rule, Severity, Subject, Verdict, fail, unknown

STATE = "KeyState "  # what a live key that is not enabled has among its extras
# Conditions that keep a statement with an open principal inside the account or organization.
CONFINING = frozenset(
    {"aws:SourceAccount", "aws:PrincipalAccount", "aws:PrincipalOrgID", "kms:CallerAccount", "aws:SourceOwner"}
)


def expect(guard: Guard, read: Callable[[Observed], Any], want: Any, what: str) -> Callable[[Subject], Verdict]:
    """The common check: where the policy requires ``guard``, what is read must be ``want``."""

    def check(s: Subject) -> Verdict:
        if guard not in s.required:
            return EXEMPT
        seen = read(s.seen)
        if isinstance(seen, Unknown):
            return unknown(f"{what} cannot be read: {seen.reason}")
        return PASS if seen == want else fail(f"{what} is {_say(seen)}, required is {_say(want)}")

    return check


def recovery_period(s: Subject) -> Verdict:
    if Guard.PITR not in s.required or s.seen.recovery is False:
        return EXEMPT  # that recovery is off is another rule's finding
    days = s.seen.recovery_days
    if isinstance(days, Unknown):
        return unknown(f"the recovery period cannot be read: {days.reason}")
    if days is None:
        return PASS  # DynamoDB keeps 35 days unless told otherwise
    if not str(days).isdigit() or int(days) > RECOVERY_DAYS:
        return unknown(f"a recovery period of {days} is none that DynamoDB takes")
    if int(days) == RECOVERY_DAYS:
        return PASS
    return fail(f"recovery reaches back {days} days, required are {RECOVERY_DAYS}")


def expiry(s: Subject) -> Verdict:
    want, seen = s.table.lifetime.ttl, s.seen.ttl
    if isinstance(seen, Unknown):
        return unknown(f"expiry cannot be read: {seen.reason}")
    if seen == want:
        return PASS if want else EXEMPT
    if seen is None:
        return fail(f"items do not expire, though {want} is declared as their expiry")
    return fail(f"items expire by {seen}, declared is {want or 'that they do not'}")


def customer_key(s: Subject) -> Verdict:
    if Guard.CUSTOMER_KEY not in s.required:
        return EXEMPT
    match s.seen.encryption:
        case Unknown(reason=reason):
            return unknown(f"the key cannot be read: {reason}")
        case ObservedKey() as key:
            return usable(key)
        case other:
            return fail(f"personal data is encrypted with an {other.value} key, required is the stack's own")


def usable(key: ObservedKey) -> Verdict:
    """Whether a live key can decrypt: one that is disabled or about to be deleted takes its data with it."""
    states = sorted(e.removeprefix(STATE) for e in key.extras if e.startswith(STATE))
    return fail(f"the key is {states[0]}, so nobody can read what it encrypts, now or soon") if states else PASS


def with_key(check: Callable[[ObservedKey, Subject], Verdict]) -> Callable[[Subject], Verdict]:
    """A check of the customer-managed key that a table uses; without one it is another rule's finding."""

    def checked(s: Subject) -> Verdict:
        return check(s.seen.encryption, s) if isinstance(s.seen.encryption, ObservedKey) else EXEMPT

    return checked


def rotation(key: ObservedKey) -> Verdict:
    if isinstance(key.rotation, Unknown):
        return unknown(f"rotation of the key cannot be read: {key.rotation.reason}")
    return PASS if key.rotation else fail("the key is never rotated")


def open_policy(key: ObservedKey) -> Verdict:
    if isinstance(key.policy, Unknown):
        return unknown(f"the key policy cannot be read: {key.policy.reason}")
    strangers = list(open_statements(key.policy))
    return fail(f"the key policy lets anybody in: {strangers[0]}") if strangers else PASS


def key_kept(key: ObservedKey, s: Subject) -> Verdict:
    if Guard.RETAIN not in s.required:
        return EXEMPT
    for name, policy in (("DeletionPolicy", key.deletion_policy), ("UpdateReplacePolicy", key.update_replace_policy)):
        if isinstance(policy, Unknown):
            return unknown(f"{name} of the key cannot be read: {policy.reason}")
        if policy != "Retain":
            return fail(f"{name} of the key is {_say(policy)}, but the table that needs the key is retained")
    return PASS


def open_statements(policy: Mapping[str, Any]) -> Iterable[str]:
    """Statements of a resource policy that let any principal in, without a condition that confines it."""
    statements = policy.get("Statement", [])
    for statement in statements if isinstance(statements, list) else [statements]:
        if not isinstance(statement, Mapping) or statement.get("Effect") != "Allow":
            continue
        principal = statement.get("Principal", statement.get("NotPrincipal"))
        named = principal.values() if isinstance(principal, Mapping) else [principal]
        everybody = any(p == "*" or (isinstance(p, list) and "*" in p) for p in named) or "NotPrincipal" in statement
        conditions = statement.get("Condition", {})
        tests = conditions.items() if isinstance(conditions, Mapping) else ()
        confined = {key for operator, test in tests if "Not" not in operator for key in test}
        if everybody and not confined & CONFINING:
            yield statement.get("Sid") or json.dumps(statement.get("Action"))


def declared_key(key: ObservedKey, placed: Placed, account: str | None = None) -> Verdict:
    """Whether a key is the one that its stack declares; a live one speaks of ``account`` where a template refers."""
    extras = sorted(e for e in key.extras if not e.startswith(STATE))  # its state is another rule's finding
    if extras:
        return fail(f"the key has settings that nobody declared: {', '.join(extras)}")
    if isinstance(key.policy, Unknown):
        return unknown(f"the key policy cannot be read: {key.policy.reason}")
    declared = key_policy(placed)
    return same_policy(key.policy, _filled(declared, account) if account else declared, "the key policy")


def _filled(part: Any, account: str) -> Any:
    """A declared policy as it is deployed: with the number of the account where the template has a reference."""
    match part:
        case {"Ref": "AWS::AccountId"}:
            return account
        case {"Fn::Join": ["", [*words]]}:
            return "".join(_filled(w, account) for w in words)
        case dict():
            return {name: _filled(value, account) for name, value in part.items()}
        case list():
            return [_filled(value, account) for value in part]
        case _:
            return part


def own_key(s: Subject) -> Verdict:
    """Whether the key of a table is as its stack declares it, and of its own account where it is live."""
    key = s.seen.encryption
    if not isinstance(key, ObservedKey):
        return EXEMPT  # another rule's finding
    if s.seen.source is not Source.LIVE:
        return declared_key(key, s.placed)
    account = s.seen.where.split(":")[4]
    if key.where.startswith("arn:") and key.where.split(":")[4] != account:
        return fail(f"the key belongs to account {key.where.split(':')[4]}, which can take it away")
    return declared_key(key, s.placed, account)


def same_policy(seen: Mapping[str, Any], declared: Mapping[str, Any], what: str) -> Verdict:
    """Whether two policy documents hold the same statements, whatever their order and that of their actions."""
    statements = seen.get("Statement")
    if not isinstance(statements, list) or not all(isinstance(t, dict) and "Effect" in t for t in statements):
        return unknown(f"{what} is decided at deploy time, or no policy")
    have, want = ({_canonical(t) for t in ts} for ts in (statements, declared["Statement"]))
    if have == want:
        return PASS
    changed = sorted({str(json.loads(t).get("Sid", "a statement without Sid")) for t in have ^ want})
    return fail(f"{what} is not as declared: {', '.join(changed)}")


def _canonical(statement: Mapping[str, Any]) -> str:
    actions = statement.get("Action")
    listed = sorted(map(str, actions)) if isinstance(actions, list) else actions
    return json.dumps(dict(statement) | {"Action": listed}, sort_keys=True)


def encryption(s: Subject) -> Verdict:
    if Guard.CUSTOMER_KEY in s.required:
        return EXEMPT  # another rule's finding
    match s.seen.encryption:
        case Unknown(reason=reason):
            return unknown(f"the key cannot be read: {reason}")
        case ObservedKey():
            return fail(f"it is encrypted with a key of the stack, declared is {s.placed.stack.encryption.value}")
        case seen:
            want = s.placed.stack.encryption
            return PASS if seen is want else fail(f"it is encrypted with an {seen.value} key, declared is {want.value}")


def tags_present(s: Subject) -> Verdict:
    if isinstance(s.seen.tags, Unknown):
        return unknown(f"tags cannot be read: {s.seen.tags.reason}")
    missing = [t for t in REQUIRED_TAGS if t not in s.seen.tags]
    return fail(f"tags are missing: {', '.join(missing)}") if missing else PASS


def tag_values(s: Subject) -> Verdict:
    if isinstance(s.seen.tags, Unknown):
        return unknown(f"tags cannot be read: {s.seen.tags.reason}")
    want = s.placed.tags | s.placed.table_tags(s.table)
    wrong, unread = [], []
    for name, value in want.items():
        seen = s.seen.tags.get(name, value)  # a missing tag is another rule's finding
        if isinstance(seen, Unknown):
            unread.append(name)
        elif seen != value:
            wrong.append(f"{name} is {seen!r} instead of {value!r}")
    if wrong:
        return fail("; ".join(wrong))
    return unknown(f"tag {', '.join(unread)} is decided at deploy time") if unread else PASS


def _say(value: object) -> str:
    return "not set" if value is None else {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


RULES = (
    Rule(
        id="HF001",
        title="Durable production tables refuse to be deleted",
        why="Deletion protection makes DeleteTable fail, whoever calls it: API, console or CloudFormation. Without it one "
        "call, or one replaced resource, removes the table and every item in it.",
        fix="Remove the override: the construct turns it on. On the live table: "
        "aws dynamodb update-table --table-name {table} --deletion-protection-enabled --region {region}",
        severity=Severity.CRITICAL,
        controls=("SecurityHub DynamoDB.6", "Config dynamodb-table-deletion-protection-enabled"),
        check=expect(Guard.DELETION_PROTECTION, lambda o: o.deletion_protection, True, "deletion protection"),
        waivable=False,
    ),
    Rule(
        id="HF002",
        title="A deleted stack leaves its tables behind",
        why="With DeletionPolicy Retain the table survives when its stack, or its declaration, is deleted. Any other value, "
        "and none at all, deletes the data with the stack.",
        fix="Remove the override: the construct sets removal_policy=RemovalPolicy.RETAIN. In a template: "
        '"DeletionPolicy": "Retain" on {table}',
        severity=Severity.CRITICAL,
        check=expect(Guard.RETAIN, lambda o: o.deletion_policy, "Retain", "DeletionPolicy"),
        waivable=False,
    ),
    Rule(
        id="HF003",
        title="A replaced table is kept",
        why="A change of key or name makes CloudFormation build a new table and drop the old one; UpdateReplacePolicy Retain "
        "keeps the old one. CloudFormation does not take it from DeletionPolicy.",
        fix="Remove the override: the construct sets removal_policy=RemovalPolicy.RETAIN. In a template: "
        '"UpdateReplacePolicy": "Retain" on {table}',
        severity=Severity.CRITICAL,
        check=expect(Guard.RETAIN, lambda o: o.update_replace_policy, "Retain", "UpdateReplacePolicy"),
        waivable=False,
    ),
    Rule(
        id="HF004",
        title="Durable production tables can be restored to any second",
        why="Point-in-time recovery is what undoes a bad write, a bad migration or a deleted item. It covers only the time "
        "during which it was on.",
        fix="Remove the override: the construct turns it on. On the live table: aws dynamodb update-continuous-backups "
        "--table-name {table} --point-in-time-recovery-specification "
        "PointInTimeRecoveryEnabled=true,RecoveryPeriodInDays=35 --region {region}",
        severity=Severity.HIGH,
        controls=(
            "SecurityHub DynamoDB.2",
            "Config dynamodb-pitr-enabled",
            *(f"NIST.800-53.r5 {c}" for c in ("CP-10", "CP-6(2)", "CP-9", "SC-5(2)", "SI-12", "SI-13(5)")),
            *(f"PCI-DSS.v4.0 {c}" for c in ("3.2.1", "3.3.1.1", "3.3.1.3", "3.3.2", "3.3.3", "10.3.3", "10.5.1")),
            *(
                f"HIPAA {c}"
                for c in ("164.308(a)(7)(i)", "164.308(a)(7)(ii)(A)", "164.308(a)(7)(ii)(B)", "164.312(a)(2)(ii)")
            ),
        ),
        check=expect(Guard.PITR, lambda o: o.recovery, True, "point-in-time recovery"),
    ),
    Rule(
        id="HF005",
        title="Recovery reaches back 35 days",
        why="A mistake is often found weeks after it was made. A shorter window is accepted by every stock check and cannot "
        "be lengthened afterwards for the days that are gone.",
        fix="Remove the override: the construct sets 35 days. On the live table: aws dynamodb update-continuous-backups "
        "--table-name {table} --point-in-time-recovery-specification "
        "PointInTimeRecoveryEnabled=true,RecoveryPeriodInDays=35 --region {region}",
        severity=Severity.HIGH,
        check=recovery_period,
    ),
    Rule(
        id="HF006",
        title="Items expire by the declared attribute",
        why="Transient data without expiry grows without end and keeps what should be gone; a wrong attribute name expires "
        "nothing, or the wrong items.",
        fix="Remove the override: the construct sets the declared attribute. An attribute that is active has to be turned off "
        "before another one is turned on: decide first which is right for {table}.",
        severity=Severity.MEDIUM,
        check=expiry,
    ),
    Rule(
        id="HF007",
        title="Personal data is encrypted with a key of our own",
        why="Only a customer-managed key lets us see, limit and revoke who decrypts. The key that AWS manages passes most "
        "stock checks and can be neither limited nor revoked.",
        fix="Pass the stack's key to the construct (GuardedTable does) and remove the override of SSESpecification.",
        severity=Severity.HIGH,
        controls=(
            "Config dynamodb-table-encrypted-kms",
            *(
                f"NIST.800-53.r5 {c}"
                for c in ("AU-9(3)", "CP-9d", "SC-8(3)", "SC-8(4)", "SC-13a", "SC-28(1)", "SI-19(4)")
            ),
            *(f"PCI-DSS.v4.0 {c}" for c in ("3.5.1", "8.3.2")),
            *(f"HIPAA {c}" for c in ("164.312(a)(2)(iv)", "164.312(e)(2)(ii)", "164.308(a)(4)(ii)(A)")),
        ),
        check=customer_key,
        waivable=False,
    ),
    Rule(
        id="HF008",
        title="The key is rotated",
        why="A key that is never rotated protects all data ever written with one secret.",
        fix="Set EnableKeyRotation: true on the key of {stack}; the construct does.",
        severity=Severity.MEDIUM,
        controls=("SecurityHub KMS.4",),
        check=with_key(lambda key, _: rotation(key)),
    ),
    Rule(
        id="HF009",
        title="The key policy lets no stranger in",
        why="A principal of * without a condition on the account lets anybody who knows the key's ARN use it.",
        fix="Name the account's root or a service as principal, as holdfast.keys.key_policy does for {stack}.",
        severity=Severity.CRITICAL,
        controls=("SecurityHub KMS.5",),
        check=with_key(lambda key, _: open_policy(key)),
    ),
    Rule(
        id="HF010",
        title="Tables carry every tag",
        why="Tags say who owns a table, what its data is and how long it lives; audits, budgets and other teams' tools find "
        "tables by them. Tags on the stack alone never reach the template.",
        fix="Remove the override: the construct tags every table.",
        severity=Severity.LOW,
        controls=("SecurityHub DynamoDB.5", "Config tagged-dynamodb-table"),
        check=tags_present,
    ),
    Rule(
        id="HF011",
        title="Tags say what the declaration says",
        why="A wrong DataClass or Environment tag is worse than none: scans and policies believe it.",
        fix="Change the declaration of {table} instead of the tag; the construct writes the tags from it.",
        severity=Severity.LOW,
        check=tag_values,
    ),
    Rule(
        id="HF012",
        title="A retained table keeps its key",
        why="A table that outlives its key is unreadable for ever.",
        fix='"DeletionPolicy": "Retain" on the key of {stack}; the construct sets it where a table is retained.',
        severity=Severity.CRITICAL,
        controls=("SecurityHub KMS.3",),
        check=with_key(key_kept),
        waivable=False,
    ),
    Rule(
        id="HF014",
        title="The key is as declared",
        why="The account administers the key and uses it through the services of its stack only. A statement more, less or "
        "wider changes who can read personal data, and no other check looks inside.",
        fix="Remove the override on the key of {stack}; change holdfast.keys.key_policy if the change is meant.",
        severity=Severity.HIGH,
        check=own_key,
    ),
    Rule(
        id="HF015",
        title="Other data is encrypted as declared",
        why="A table that moves to another key, or loses the one that was promised, changes who can read it and what it costs; "
        "with a stranger's key it can become unreadable.",
        fix="Remove the override of SSESpecification on {table}; the construct sets what its stack declares.",
        severity=Severity.MEDIUM,
        check=encryption,
    ),
)
