"""Who connects to a store, and how: over TLS, with IAM, from inside, and with no copy elsewhere."""

from __future__ import annotations

from holdfast.cfn.dig import dig
from holdfast.cfn.places import at
from holdfast.cfn.template import Source
from holdfast.kinds.base import StoreSubject
from holdfast.kinds.cache import needs as cache
from holdfast.kinds.cache import types as cache_types
from holdfast.kinds.cache.types import CACHE
from holdfast.kinds.kinds import asked, read
from holdfast.kinds.need import of_kind
from holdfast.kinds.table.observed import TABLE
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.resources import alarmed, there, tls_only
from holdfast.rules.subjects import Resource, StackSubject, TableSubject
from holdfast.shared.account import Aspect
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Verdict, fail, unknown

# What copies the items of a table, or fills it from elsewhere.
COPYING = frozenset({"ImportSourceSpecification", "KinesisStreamSpecification"})


def not_copied(s: TableSubject) -> Verdict:
    """Whether the items of a table stay in it; of a live one other rules speak."""
    if s.seen.source is Source.LIVE:
        return EXEMPT
    if isinstance(s.seen.extras, Unknown):
        return unknown(f"settings cannot be read: {s.seen.extras.reason}")
    copied = sorted(s.seen.extras.keys() & COPYING)
    return fail(f"its items are copied from or to elsewhere: {', '.join(copied)}") if copied else PASS


def backups_stay(r: Resource) -> Verdict:
    """Whether a backup plan copies nothing to another vault."""
    rules = dig(r.stack, r.body, "Properties", "BackupPlan", "BackupPlanRule", default=[])
    if isinstance(rules, Unknown):
        return unknown(f"the rules of the plan cannot be read: {rules.reason}")
    copied = [rule for rule in rules if isinstance(rule, dict) and rule.get("CopyActions")]
    return fail("its backups are copied to another vault") if copied else PASS


ON_THE_WAY = Rule(
    id="HF515",
    title="Stores, topics and queues refuse connections without TLS",
    why="A client that may connect in the clear sooner or later does, with its password, and messages travel unencrypted.",
    remediation="Restore forced TLS: rds.force_ssl, transit encryption, TLS between brokers, or the statement in the policy of the "
    "bucket, topic or queue of {stack} that denies it where aws:SecureTransport is false.",
    severity=Severity.HIGH,
    paths=read(lambda n: n.tls)
    + at("AWS::SNS::TopicPolicy", "Type", "PolicyDocument", "Topics")
    + at("AWS::SQS::QueuePolicy", "Type", "PolicyDocument"),
    controls=(
        "SecurityHub RDS.38",
        "SecurityHub ElastiCache.5",
        "SecurityHub MSK.1",
        "SecurityHub S3.5",
        "SecurityHub DocumentDB.6",
    ),
    aspects=frozenset({Aspect.OWN, Aspect.PARAMETERS, Aspect.POLICY}),
    checks=(
        Check(StoreSubject, asked(lambda n: n.tls)),
        Check(Resource, tls_only, ("AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy")),
        Check(StackSubject, there("AWS::SNS::TopicPolicy", alarmed)),  # a topic without a policy takes plain HTTP
    ),
)
PRIVATE = Rule(
    id="HF516",
    title="Tables and stores are not public, and not copied",
    why="A store with a public address is one forgotten password away from the Internet. A replica, a copy of backups, an inventory or a "
    "Kinesis stream puts the same data where nothing of what protects it holds.",
    remediation="Remove the copy or the public address of {table}; the construct sets the block on public access and copies "
    "nothing.",
    severity=Severity.CRITICAL,
    paths=read(lambda n: n.private) + at(TABLE, *sorted(COPYING)) + at("AWS::Backup::BackupPlan", "BackupPlan"),
    controls=("SecurityHub RDS.2", "SecurityHub S3.8", "SecurityHub MSK.4", "PCI 1.4.4"),
    aspects=frozenset({Aspect.PUBLIC}),
    checks=(
        Check(StoreSubject, asked(lambda n: n.private)),
        Check(TableSubject, not_copied),
        Check(Resource, backups_stay, ("AWS::Backup::BackupPlan",)),
    ),
    waivable=False,
)
WHO = Rule(
    id="HF517",
    title="Clients authenticate with IAM",
    why="A shared password cannot be taken back from one person, and does not tell who used it.",
    remediation="Restore IAM authentication on {table}, and nothing beside it.",
    severity=Severity.HIGH,
    paths=read(lambda n: n.clients),
    controls=("SecurityHub RDS.10", "SecurityHub RDS.12", "SecurityHub MSK.6", "PCI 8.3.4"),
    checks=(Check(StoreSubject, asked(lambda n: n.clients)),),
)
CREDENTIALS = Rule(
    id="HF522",
    title="Database passwords are generated and rotated",
    why="A password that a person chose is written down elsewhere, too; one that never changes is known to all who ever left.",
    remediation="Let {table} manage its master password, under the key of {stack}; the construct does.",
    severity=Severity.HIGH,
    paths=read(lambda n: n.passwords),
    controls=("SecurityHub SecretsManager.1",),
    aspects=frozenset({Aspect.OWN}),
    checks=(Check(StoreSubject, asked(lambda n: n.passwords)),),
)
ACCESS = Rule(
    id="HF530",
    title="Cache users have access to their declared keys only",
    why="One service with all keys and all commands can flush the sessions of all others.",
    remediation="Restore the users of {table}: the declared access string by IAM, and a default user that is off.",
    severity=Severity.HIGH,
    paths=at(CACHE, "UserGroupIds")
    + at("AWS::ElastiCache::UserGroup", "UserIds")
    + at("AWS::ElastiCache::User", "AccessString", "AuthenticationMode", "NoPasswordRequired", "Passwords", "UserName"),
    controls=("SecurityHub ElastiCache.6",),
    aspects=frozenset({Aspect.USERS}),
    checks=(Check(StoreSubject, of_kind(cache_types.IDENTITY, cache.access_list)),),
)
RULES = (
    ON_THE_WAY,
    PRIVATE,
    WHO,
    CREDENTIALS,
    ACCESS,
)
