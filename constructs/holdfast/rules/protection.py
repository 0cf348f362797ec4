"""Protection: what the policy requires of a table is on, in whatever source shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.cfn.places import at
from holdfast.cfn.template import Source
from holdfast.cfn.types import KEY
from holdfast.estate.placement import Placed
from holdfast.kinds.base import StoreSubject
from holdfast.kinds.kinds import IDENTITY, KINDS, MEMBERS, asked, read
from holdfast.kinds.table.observed import TABLE, Observed
from holdfast.model.facts import Guard
from holdfast.policy.required import MAX_RECOVERY_DAYS
from holdfast.rules import every_store
from holdfast.rules.access import admits_own_only, judge_policy, open_statements
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.subjects import KeySubject, Resource, TableSubject
from holdfast.shared.access_policy import filled, same_policy
from holdfast.shared.account import Aspect
from holdfast.shared.key.observed import USABLE, NamedKey, ObservedKey
from holdfast.shared.key.policy import keeps_key, key_policy
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Outcome, Verdict, fail, unknown

# What other stores hold is made again.
KEPT = tuple(of for kind in KINDS if Guard.RETAIN in kind.declaration.offers for of in kind.identity)
LOST = tuple(of for of in IDENTITY if of not in KEPT)
EXTERNAL = Verdict(Outcome.EXEMPT, "the key is external: the account shows it")
SHARED = Verdict(Outcome.EXEMPT, "the key is of another stack, and judged there")
OTHERS = Verdict(Outcome.EXEMPT, "the key is external: who administers and uses it is decided where it is declared")
STATE = "KeyState "  # what a live key that is not enabled has among its extras
DELETED = f"{STATE}Deleted"  # then nothing else can be said of it


def expect(guard: Guard, read: Callable[[Observed], Any], want: Any, what: str) -> Callable[[TableSubject], Verdict]:
    """The common check: where the policy requires ``guard``, what is read must be ``want``."""

    def check(s: TableSubject) -> Verdict:
        if guard not in s.required:
            return EXEMPT
        seen = read(s.seen)
        if isinstance(seen, Unknown):
            return unknown(f"{what} cannot be read: {seen.reason}")
        return PASS if seen == want else fail(f"{what} is {_say(seen)}, required is {_say(want)}")

    return check


def recovery_period(s: TableSubject) -> Verdict:
    if Guard.PITR not in s.required or s.seen.recovery is False:
        return EXEMPT  # that recovery is off is another rule's finding
    days = s.seen.recovery_days
    if isinstance(days, Unknown):
        return unknown(f"the recovery period cannot be read: {days.reason}")
    if days is None:
        return PASS  # DynamoDB keeps 35 days unless told otherwise
    if not str(days).isdigit() or int(days) > MAX_RECOVERY_DAYS:
        return unknown(f"a recovery period of {days} is none that DynamoDB takes")
    wanted = s.placed.recovery_days(s.table)
    return PASS if int(days) >= wanted else fail(f"recovery reaches back {days} days, required are {wanted}")


def expiry(s: TableSubject) -> Verdict:
    want, seen = s.table.lifetime.ttl, s.seen.ttl
    if isinstance(seen, Unknown):
        return unknown(f"the TTL cannot be read: {seen.reason}")
    if seen == want:
        return PASS if want else EXEMPT
    if seen is None:
        return fail(f"items do not expire, though {want} is declared as their TTL")
    return fail(f"items expire by {seen}, declared is {want or 'that they do not'}")


def customer_key(s: TableSubject) -> Verdict:
    if Guard.CUSTOMER_KEY not in s.required:
        return EXEMPT
    match s.seen.encryption:
        case Unknown(reason=reason):
            return unknown(f"the key cannot be read: {reason}")
        case ObservedKey(where=name) | NamedKey(name=name) if _named_key(s) not in (None, name):
            return fail(f"personal data is encrypted with the key {name}, declared is {_named_key(s)}")
        case ObservedKey() as key:
            return usable(key)
        case NamedKey(name=name) if name == _named_key(s):
            return PASS
        case NamedKey(name=name):
            return fail(f"personal data is encrypted with the key {name}, which is not the stack's own")
        case other:
            return fail(f"personal data is encrypted with an {other.value} key, required is the stack's own")


def _named_key(s: TableSubject) -> str | None:
    """The key that is not of the stack's own; which one another stack made, its policy says and no name."""
    return s.placed.external_key if s.seen.source is Source.LIVE else s.placed.foreign_key


def usable(key: ObservedKey) -> Verdict:
    """Whether a key can decrypt: one that is disabled or about to be deleted takes its data with it."""
    states = sorted(e.removeprefix(STATE) for e in key.extras if e.startswith(STATE))
    problems = [f"the key is {s}, so what it encrypts cannot be read, now or soon" for s in states]
    problems += [p for p in key.unusable if isinstance(p, str)]
    if problems:
        return fail("; ".join(problems))
    return next((unknown(p.reason) for p in key.unusable if isinstance(p, Unknown)), PASS)


def with_key(check: Callable[[ObservedKey, TableSubject], Verdict]) -> Callable[[TableSubject], Verdict]:
    """A check of the customer-managed key that a table uses; without one it is another rule's finding."""

    def checked(s: TableSubject) -> Verdict:
        if isinstance(s.seen.encryption, ObservedKey):
            return check(s.seen.encryption, s)
        named = isinstance(s.seen.encryption, NamedKey) and s.seen.encryption.name == s.placed.foreign_key
        return (SHARED if s.placed.key_holder else EXTERNAL) if named else EXEMPT

    return checked


def rotation(key: ObservedKey) -> Verdict:
    if DELETED in key.extras:
        return EXEMPT
    if isinstance(key.rotation, Unknown):
        return unknown(f"rotation of the key cannot be read: {key.rotation.reason}")
    return PASS if key.rotation else fail("the key is never rotated")


def open_policy(key: ObservedKey) -> Verdict:
    if DELETED in key.extras:
        return EXEMPT
    if isinstance(key.policy, Unknown):
        return unknown(f"the key policy cannot be read: {key.policy.reason}")
    first = next(open_statements(key.policy), None)
    return fail(f"the key policy admits every principal: {first}") if first else PASS


def closed_policy(key: ObservedKey, account: str | None = None) -> Verdict:
    """Whether a key's policy lets in the account alone, and through the services of its stack."""
    if DELETED in key.extras:
        return EXEMPT
    if isinstance(key.policy, Unknown):
        return unknown(f"the key policy cannot be read: {key.policy.reason}")
    return judge_policy(key.policy, None, account)


def closed_table(s: TableSubject) -> Verdict:
    """Whether no policy of a table, or of its key, admits another account; a template's is judged as a resource's."""
    account = s.seen.where.split(":")[4] if s.seen.source is Source.LIVE else None
    own = PASS
    if account and not isinstance(s.seen.extras, Unknown) and "ResourcePolicy" in s.seen.extras:
        if not (s.table.extra and "ResourcePolicy" in s.table.extra.properties):
            return fail("it has a resource policy, which is not declared")
        own = judge_policy(s.seen.extras["ResourcePolicy"]["PolicyDocument"], None, account)
    return own if own is not PASS else with_key(lambda key, s: closed_key(key, s, account))(s)


def closed_key(key: ObservedKey, s: TableSubject, account: str | None) -> Verdict:
    """Through which services others use an external key is not known: that it is not open is what counts."""
    return open_policy(key) if s.placed.external_key else closed_policy(key, account)


def of_key(check: Callable[[ObservedKey], Verdict]) -> tuple[Check[Any], ...]:
    """A check of every customer-managed key, on behalf of each table that uses it."""
    return (Check(TableSubject, with_key(lambda key, _: check(key))), Check(KeySubject, lambda s: check(s.key)))


def needed_key(s: KeySubject) -> Verdict:
    """Whether a key stays that stores cannot be read without; no API shows it."""
    return _kept(s.key) if keeps_key(s.placed) and s.account is None else EXEMPT


def key_kept(key: ObservedKey, s: TableSubject) -> Verdict:
    return _kept(key) if Guard.RETAIN in s.required and not s.placed.external_key else EXEMPT


def _kept(key: ObservedKey) -> Verdict:
    for name, policy in (("DeletionPolicy", key.deletion_policy), ("UpdateReplacePolicy", key.update_replace_policy)):
        if isinstance(policy, Unknown):
            return unknown(f"{name} of the key cannot be read: {policy.reason}")
        if policy != "Retain":
            return fail(f"{name} of the key is {_say(policy)}, but what needs the key is retained")
    return PASS


def declared_key(key: ObservedKey, placed: Placed, account: str | None = None) -> Verdict:
    """Whether a key is the one that its stack declares; a live one speaks of ``account`` where a template refers."""
    extras = sorted(e for e in key.extras if not e.startswith(STATE))  # its state is another rule's finding
    if extras:
        return fail(f"the key has undeclared settings: {', '.join(extras)}")
    if isinstance(key.policy, Unknown):
        return unknown(f"the key policy cannot be read: {key.policy.reason}")
    declared = key_policy(placed)
    return same_policy(key.policy, filled(declared, account) if account else declared, "the key policy")


def own_key(s: TableSubject) -> Verdict:
    """Whether the key of a table is as its stack declares it, and of its own account where it is live."""
    key = s.seen.encryption
    if not isinstance(key, ObservedKey):
        return EXEMPT  # another rule's finding
    if s.placed.external_key:
        return OTHERS
    holder = s.placed.key_holder or s.placed
    if s.seen.source is not Source.LIVE:
        return declared_key(key, holder)
    account = s.seen.where.split(":")[4]
    if key.where.startswith("arn:") and key.where.split(":")[4] != account:
        return fail(f"the key belongs to account {key.where.split(':')[4]}, which can take it away")
    return declared_key(key, holder, account)


def encryption(s: TableSubject) -> Verdict:
    if Guard.CUSTOMER_KEY in s.required:
        return EXEMPT  # another rule's finding
    match s.seen.encryption:
        case Unknown(reason=reason):
            return unknown(f"the key cannot be read: {reason}")
        case ObservedKey():
            return fail(f"it is encrypted with a key of the stack, declared is {s.placed.stack.encryption.value}")
        case NamedKey(name=name):
            return fail(f"it is encrypted with the key {name}, declared is {s.placed.stack.encryption.value}")
        case seen:
            want = s.placed.stack.encryption
            return PASS if seen is want else fail(f"it is encrypted with an {seen.value} key, declared is {want.value}")


def tags_present(s: TableSubject) -> Verdict:
    if isinstance(s.seen.tags, Unknown):
        return unknown(f"tags cannot be read: {s.seen.tags.reason}")
    wanted = dict.fromkeys((*s.placed.policy.tags, *s.placed.tags, *s.placed.table_tags(s.table)))
    missing = [t for t in wanted if t not in s.seen.tags]
    return fail(f"tags are missing: {', '.join(missing)}") if missing else PASS


def tag_values(s: TableSubject) -> Verdict:
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


DELETION_PROTECTED = Rule(
    id="HF001",
    title="Durable production tables and databases have deletion protection",
    why="Deletion protection makes every delete call fail: of a person, a script or CloudFormation. Without it "
    "one call, or one replaced resource, removes the table or database and everything in it.",
    remediation="Remove the override: the construct turns it on. On the live table: "
    "aws dynamodb update-table --table-name {table} --deletion-protection-enabled --region {region}",
    severity=Severity.CRITICAL,
    guard=Guard.DELETION_PROTECTION,
    paths=at(TABLE, "DeletionProtectionEnabled") + read(lambda n: n.deletion_protection),
    controls=(
        "SecurityHub DynamoDB.6",
        "Config dynamodb-table-deletion-protection-enabled",
        "SecurityHub RDS.7",
        "SecurityHub RDS.8",
        "SecurityHub DocumentDB.5",
        "HIPAA 164.308(a)(7)(i)",
    ),
    checks=(
        Check(
            TableSubject,
            expect(Guard.DELETION_PROTECTION, lambda o: o.deletion_protection, True, "deletion protection"),
        ),
        Check(StoreSubject, asked(lambda n: n.deletion_protection)),
    ),
    waivable=False,
)
RETAINED = Rule(
    id="HF002",
    title="Durable production data and its key are retained",
    why="With DeletionPolicy Retain a table or store survives when its stack, or its declaration, is deleted; with "
    "UpdateReplacePolicy Retain the old one survives when a change of key or name makes CloudFormation build a new one. "
    "Neither follows from the other, and without them the data goes. What outlives its key is unreadable for ever.",
    remediation="Remove the override: the construct sets removal_policy=RemovalPolicy.RETAIN. In a template: "
    '"DeletionPolicy": "Retain" and "UpdateReplacePolicy": "Retain" on what holds the data, and on its key',
    severity=Severity.CRITICAL,
    guard=Guard.RETAIN,
    paths=at((TABLE, KEY, *dict.fromkeys((*KEPT, *MEMBERS.values()))), "DeletionPolicy", "UpdateReplacePolicy"),
    explains=at(LOST, "DeletionPolicy", "UpdateReplacePolicy"),
    controls=("SecurityHub KMS.3",),
    only_deployed="no API shows DeletionPolicy and UpdateReplacePolicy",
    checks=(
        Check(TableSubject, expect(Guard.RETAIN, lambda o: o.deletion_policy, "Retain", "DeletionPolicy")),
        Check(TableSubject, expect(Guard.RETAIN, lambda o: o.update_replace_policy, "Retain", "UpdateReplacePolicy")),
        Check(TableSubject, with_key(key_kept)),
        Check(KeySubject, needed_key),
        Check(StoreSubject, every_store.retained),
    ),
    waivable=False,
)
RECOVERABLE = Rule(
    id="HF004",
    title="Durable production data has point-in-time recovery",
    why="Point-in-time recovery, and old versions of objects, are what undoes a bad write, a bad migration or a deleted item. "
    "They cover only the time during which they were on, and a mistake is often found weeks after it was made: of a table "
    "what the policy asks for is kept, of a database what is declared.",
    remediation="Remove the override: the construct turns it on, for as long as required. On the live table: "
    "aws dynamodb update-continuous-backups --table-name {table} --point-in-time-recovery-specification "
    "PointInTimeRecoveryEnabled=true,RecoveryPeriodInDays={days} --region {region}",
    severity=Severity.HIGH,
    guard=Guard.PITR,
    paths=at(TABLE, "PointInTimeRecoverySpecification") + read(lambda n: n.recovery),
    controls=(
        "SecurityHub DynamoDB.2",
        "Config dynamodb-pitr-enabled",
        "SecurityHub RDS.11",
        "SecurityHub DocumentDB.2",
        "SecurityHub S3.14",
        *(f"NIST.800-53.r5 {c}" for c in ("CP-10", "CP-6(2)", "CP-9", "SC-5(2)", "SI-12", "SI-13(5)")),
        *(f"PCI-DSS.v4.0 {c}" for c in ("3.2.1", "3.3.1.1", "3.3.1.3", "3.3.2", "3.3.3", "10.3.3", "10.5.1")),
        *(
            f"HIPAA {c}"
            for c in ("164.308(a)(7)(i)", "164.308(a)(7)(ii)(A)", "164.308(a)(7)(ii)(B)", "164.312(a)(2)(ii)")
        ),
    ),
    aspects=frozenset({Aspect.VERSIONS, Aspect.LIFECYCLE}),
    checks=(
        Check(TableSubject, expect(Guard.PITR, lambda o: o.recovery, True, "point-in-time recovery")),
        Check(TableSubject, recovery_period),
        Check(StoreSubject, asked(lambda n: n.recovery)),
    ),
)
EXPIRING = Rule(
    id="HF006",
    title="Time to live and lifecycle rules match the declaration",
    why="Transient data without a TTL grows without end and keeps what should be gone; a wrong time-to-live attribute expires "
    "nothing, or the wrong items; a lifecycle rule too many deletes objects that have to stay.",
    remediation="Remove the override: the construct sets the declared attribute, and lifecycle rules by the declared prefixes. An "
    "attribute that is active has to be turned off before another one is turned on: decide first which is right for {table}.",
    severity=Severity.HIGH,
    guard=Guard.TTL,
    paths=at(TABLE, "TimeToLiveSpecification") + read(lambda n: n.expiry),
    controls=("SecurityHub S3.13",),
    aspects=frozenset({Aspect.LIFECYCLE}),
    checks=(Check(TableSubject, expiry), Check(StoreSubject, asked(lambda n: n.expiry))),
)
ENCRYPTED = Rule(
    id="HF007",
    title="Personal data is encrypted with a customer-managed key that can be used",
    why="Only a customer-managed key lets us see, limit and revoke who decrypts. The key that AWS manages passes most "
    "stock checks and can be neither limited nor revoked. For most stores the key can only be set when they are made.",
    remediation="Pass the stack's key to the construct and remove the override; a store that was made without it needs a copy "
    "into a new one.",
    severity=Severity.CRITICAL,
    guard=Guard.CUSTOMER_KEY,
    paths=at(TABLE, "SSESpecification") + at(KEY, "Type", *USABLE) + read(lambda n: n.customer_key),
    controls=(
        "Config dynamodb-table-encrypted-kms",
        "SecurityHub RDS.3",
        "SecurityHub RDS.27",
        "SecurityHub ElastiCache.4",
        "SecurityHub S3.17",
        "SecurityHub DocumentDB.1",
        *(f"NIST.800-53.r5 {c}" for c in ("AU-9(3)", "CP-9d", "SC-8(3)", "SC-8(4)", "SC-13a", "SC-28(1)", "SI-19(4)")),
        *(f"PCI-DSS.v4.0 {c}" for c in ("3.5.1", "8.3.2")),
        *(f"HIPAA {c}" for c in ("164.312(a)(2)(iv)", "164.312(e)(2)(ii)", "164.308(a)(4)(ii)(A)")),
    ),
    aspects=frozenset({Aspect.OWN, Aspect.ENCRYPTION}),
    checks=(
        Check(TableSubject, customer_key),
        Check(KeySubject, lambda s: usable(s.key)),
        Check(StoreSubject, asked(lambda n: n.customer_key)),
    ),
    waivable=False,
)
ROTATED = Rule(
    id="HF008",
    title="KMS keys are rotated",
    why="A key that is never rotated protects all data ever written with one secret.",
    remediation="Set EnableKeyRotation: true on the key of {stack}; the construct does.",
    severity=Severity.MEDIUM,
    paths=at(KEY, "EnableKeyRotation", "RotationPeriodInDays"),
    controls=("SecurityHub KMS.4",),
    checks=of_key(rotation),
)
CLOSED = Rule(
    id="HF009",
    forbids=True,
    title="Resource policies admit this account and its services only",
    why="A principal of * or of another account in the policy of a key, table, stream, topic, queue, bucket, vault, secret "
    "or function lets others read data past everything that guards it. A key that may be used otherwise than through "
    "the services that hold the data (kms:ViaService) decrypts for every caller that IAM lets through.",
    remediation="Name the account's root, a service or a role of {stack} as principal, with the conditions that "
    "holdfast.shared.key.policy.key_policy and holdfast.shared.alarms.alarm.topic_policy give.",
    severity=Severity.CRITICAL,
    paths=at(KEY, "KeyPolicy")
    + at(TABLE, "ResourcePolicy", "StreamSpecification/ResourcePolicy")
    + at(("AWS::S3::BucketPolicy", "AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy"), "PolicyDocument")
    + at("AWS::Backup::BackupVault", "AccessPolicy")
    + at("AWS::SecretsManager::ResourcePolicy", "ResourcePolicy")
    + at("AWS::Lambda::Permission", "Type", "FunctionUrlAuthType", "Principal", "SourceAccount", "SourceArn"),
    controls=("SecurityHub KMS.5",),
    checks=(
        Check(TableSubject, closed_table),
        Check(KeySubject, lambda s: closed_policy(s.key, s.account)),
        Check(Resource, admits_own_only),
    ),
)
TAGGED = Rule(
    id="HF010",
    title="Tables and stores have their declared tags",
    why="Tags say whose data it is, how sensitive and how long it lives; audits, budgets and other teams' tools read them. A wrong "
    "DataClass or Environment tag is worse than none: scans and policies believe it. Tags on the stack alone never reach the "
    "template.",
    remediation="Remove the override: the construct writes the tags from the declaration of {table}.",
    severity=Severity.LOW,
    guard=Guard.TAGS,
    paths=at((TABLE, *IDENTITY), "Tags"),
    controls=("SecurityHub DynamoDB.5", "Config tagged-dynamodb-table"),
    aspects=frozenset({Aspect.TAGS}),
    checks=(
        Check(TableSubject, tags_present),
        Check(TableSubject, tag_values),
        Check(StoreSubject, every_store.tagged),
    ),
)
KEY_DECLARED = Rule(
    id="HF014",
    title="The KMS key matches its declaration",
    why="The account administers the key and uses it through the services of its stack only. A statement more, less or "
    "wider changes who can read personal data, and no other check looks inside.",
    remediation="Remove the override on the key of {stack}; change holdfast.shared.key.policy.key_policy if the change is meant.",
    severity=Severity.HIGH,
    audited=True,
    paths=at(KEY, "KeyPolicy", "Enabled", "KeySpec", "KeyUsage", "MultiRegion", "Origin", "PendingWindowInDays"),
    checks=(Check(TableSubject, own_key), Check(KeySubject, lambda s: declared_key(s.key, s.placed, s.account))),
)
ENCRYPTED_OTHERWISE = Rule(
    id="HF015",
    title="The encryption of other data matches the declaration",
    why="A table that moves to another key, or loses the one that was promised, changes who can read it and what it costs; "
    "with a key of another account it can become unreadable.",
    remediation="Remove the override of SSESpecification on {table}; the construct sets what its stack declares.",
    severity=Severity.MEDIUM,
    audited=True,
    paths=at(TABLE, "SSESpecification"),
    checks=(Check(TableSubject, encryption),),
)
RULES = (
    DELETION_PROTECTED,
    RETAINED,
    RECOVERABLE,
    EXPIRING,
    ENCRYPTED,
    ROTATED,
    CLOSED,
    TAGGED,
    KEY_DECLARED,
    ENCRYPTED_OTHERWISE,
)
