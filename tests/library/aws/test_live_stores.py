"""The reader of databases, caches, brokers and buckets: RDS, ElastiCache, MSK, S3, Backup and EC2 of the emulator.

Each answer that the emulator gave is also given again with one thing changed, or refused: that needs no emulator, and
reaches what its API cannot change.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import live_golden
import pytest
from accounts import NOW
from declare import on_aurora
from emulator import Aws
from live_stores import PLACED, Change, Door, deployed, door, look, open_door
from support import Json

from holdfast import Bucket, Registry
from holdfast.audit.audit import Audit
from holdfast.audit.seen import judge
from holdfast.aws.calls import AUDIT, STORES, TAGS
from holdfast.aws.failure import answered
from holdfast.aws.reader import read
from holdfast.estate.placement import Placed
from holdfast.kinds.broker.live import BROKERS
from holdfast.kinds.bucket.live import LOCATION, LOCK, bucket_policy
from holdfast.rules import STORE_RULES
from holdfast.shared.account import StoreSeen
from holdfast.shared.calls import Call, policy
from holdfast.shared.live import StackResources
from holdfast.verdict import Outcome

AURORA = replace(PLACED, stack=on_aurora(PLACED.stack))
DATABASE, CACHE, BROKER = "shop-live", "shop-cache-live", "shop-events-live"
BUCKET, DOCUMENTS = "shop-files-live", "shop-documents-live"
ARCHIVE = "shop-archive-live"
EVERY = {DATABASE, CACHE, BROKER, BUCKET, ARCHIVE, DOCUMENTS}


def failed(found: Audit) -> set[tuple[str, str | None]]:
    return {(f.rule.id, f.table) for f in found.findings if f.outcome is Outcome.FAIL}


def told(found: Audit) -> set[tuple[str, str, str | None]]:
    wrong = (Outcome.FAIL, Outcome.UNKNOWN)
    return {(f.outcome.value, f.rule.id, f.table) for f in found.findings if f.outcome in wrong}


@pytest.mark.parametrize("placed", [PLACED, AURORA], ids=["instance", "aurora"])
def test_what_was_deployed_is_live_by_every_rule_that_an_api_can_answer(placed: Placed) -> None:
    seen = door(placed).read(placed)
    assert seen.unreadable == ()
    assert seen.stores is not None
    assert {name for _, _, name in seen.stores.found} == EVERY
    assert told(look(seen, placed=placed)) == set()
    judged = set()
    for store in (s for s in placed.stores if not isinstance(s, Registry)):
        found = seen.stores.found[placed.id, type(store).__name__, placed.fill(store.name)]
        assert isinstance(found, StoreSeen)
        for rule in (r for r in STORE_RULES if not r.only_deployed):
            verdict = judge(rule, placed, store, found)
            assert verdict.outcome in (Outcome.PASS, Outcome.EXEMPT), (rule.id, store.name, verdict)
            judged |= {rule.id} if verdict.outcome is Outcome.PASS else set()
    assert judged == {r.id for r in STORE_RULES if not r.only_deployed}


def _both(rule: str) -> set[tuple[str, str | None]]:
    """Of every bucket."""
    return {(rule, BUCKET), (rule, ARCHIVE)}


def _of(listed: str, name: str, identity: str, **changes: Any) -> Change:
    """One member of a listing, changed."""

    def change(answer: Json) -> None:
        for item in answer[listed]:
            if item[identity] == name:
                item.update(changes)

    return change


def _instance(**changes: Any) -> tuple[str, Change]:
    return "rds:DescribeDBInstances", _of("DBInstances", DATABASE, "DBInstanceIdentifier", **changes)


def _documents(**changes: Any) -> tuple[str, Change]:
    return "rds:DescribeDBClusters", _of("DBClusters", DOCUMENTS, "DBClusterIdentifier", **changes)


def _cache(**changes: Any) -> tuple[str, Change]:
    return "elasticache:DescribeReplicationGroups", _of("ReplicationGroups", CACHE, "ReplicationGroupId", **changes)


def _broker(**changes: Any) -> tuple[str, Change]:
    return "kafka:ListClusters", _of("ClusterInfoList", BROKER, "ClusterName", **changes)


def _set(*path: Any, to: Any) -> Change:
    def change(answer: Json) -> None:
        found: Any = answer
        for name in path[:-1]:
            found = found[name]
        found[path[-1]] = to

    return change


def _parameter(name: str, value: str) -> Change:
    def change(answer: Json) -> None:
        for parameter in answer["Parameters"]:
            if parameter["ParameterName"] == name:
                parameter["ParameterValue"] = value

    return change


def _clear(answer: Json) -> None:
    answer.clear()


def _admits(answer: Json) -> None:
    for group in answer["SecurityGroups"]:
        if group["Description"] == f"Cache {CACHE}":
            group["IpPermissions"].append(
                {"IpProtocol": "tcp", "FromPort": 6379, "ToPort": 6379, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}
            )


def _muted(answer: Json) -> None:
    for alarm in answer["MetricAlarms"]:
        alarm["ActionsEnabled"] = False


OTHER_KEY = "arn:aws:kms:eu-west-1:000000000000:key/someone-elses"
PLAIN = {"EncryptionInTransit": {"ClientBroker": "TLS_PLAINTEXT", "InCluster": True}}
LOST: dict[str, tuple[tuple[str, Change], set[tuple[str, str | None]]]] = {
    "a database can be deleted": (_instance(DeletionProtection=False), {("HF001", DATABASE)}),
    "recovery reaches back a day": (_instance(BackupRetentionPeriod=1), {("HF004", DATABASE)}),
    "a database is under another key": (_instance(KmsKeyId=OTHER_KEY), {("HF007", DATABASE)}),
    "a database is not encrypted": (_instance(StorageEncrypted=False), {("HF007", DATABASE)}),
    "a database is public": (_instance(PubliclyAccessible=True), {("HF516", DATABASE)}),
    "a database takes passwords": (_instance(IAMDatabaseAuthenticationEnabled=False), {("HF517", DATABASE)}),
    "a database is in one zone": (_instance(MultiAZ=False), {("HF518", DATABASE)}),
    "a database writes no log": (_instance(EnabledCloudwatchLogsExports=[]), {("HF519", DATABASE)}),
    "a database has another group": (
        _instance(VpcSecurityGroups=[{"VpcSecurityGroupId": "sg-other", "Status": "active"}]),
        {("HF520", DATABASE)},
    ),
    "a database misses fixes": (_instance(AutoMinorVersionUpgrade=False), {("HF521", DATABASE)}),
    "somebody knows the password": (_instance(MasterUserSecret=None), {("HF522", DATABASE)}),
    "a database lost its tags": (_instance(TagList=[]), {("HF010", DATABASE)}),
    "plain text is taken": (("rds:DescribeDBParameters", _parameter("rds.force_ssl", "0")), {("HF515", DATABASE)}),
    "documents can be deleted": (_documents(DeletionProtection=False), {("HF001", DOCUMENTS)}),
    "documents are kept a day": (_documents(BackupRetentionPeriod=1), {("HF004", DOCUMENTS)}),
    "documents write no audit log": (_documents(EnabledCloudwatchLogsExports=["profiler"]), {("HF519", DOCUMENTS)}),
    "documents are sent in plain text": (
        ("rds:DescribeDBClusterParameters", _parameter("tls", "disabled")),
        {("HF515", DOCUMENTS)},
    ),
    "a cache is under another key": (_cache(KmsKeyId=OTHER_KEY), {("HF007", CACHE)}),
    "a cache takes plain text": (_cache(TransitEncryptionMode="preferred"), {("HF515", CACHE)}),
    "a cache does not fail over": (_cache(AutomaticFailover="disabled"), {("HF518", CACHE)}),
    "a cache writes no log": (_cache(LogDeliveryConfigurations=[]), {("HF519", CACHE)}),
    "a cache lost its tags": (("elasticache:ListTagsForResource", _set("TagList", to=[])), {("HF010", CACHE)}),
    "a cache has no users": (_cache(UserGroupIds=[]), {("HF530", CACHE)}),
    "applications may do everything": (
        ("elasticache:DescribeUsers", _of("Users", CACHE, "UserId", AccessString="on ~* +@all")),
        {("HF530", CACHE)},
    ),
    "the default user may log in": (
        ("elasticache:DescribeUsers", _of("Users", f"{CACHE}-default", "UserId", AccessString="on ~* +@all")),
        {("HF530", CACHE)},
    ),
    "a full cache drops anything": (
        ("elasticache:DescribeCacheParameters", _parameter("maxmemory-policy", "allkeys-lru")),
        {("HF531", CACHE)},
    ),
    "an address range is let in": (("ec2:DescribeSecurityGroups", _admits), {("HF520", CACHE), ("HF503", None)}),
    "brokers take plain text": (_broker(EncryptionInfo=PLAIN), {("HF515", BROKER), ("HF007", BROKER)}),
    "anybody may connect": (
        _broker(ClientAuthentication={"Unauthenticated": {"Enabled": True}}),
        {("HF517", BROKER)},
    ),
    "a broker is missing": (_broker(NumberOfBrokerNodes=2), {("HF518", BROKER)}),
    "brokers write no log": (_broker(LoggingInfo={}), {("HF519", BROKER)}),
    "brokers lost their tags": (_broker(Tags={}), {("HF010", BROKER)}),
    "topics have one replica": (("kafka:DescribeTopic", _set("ReplicationFactor", to=1)), {("HF532", BROKER)}),
    "a topic is gone": (("kafka:ListTopics", lambda answer: answer["Topics"].pop()), {("HF532", BROKER)}),
    "objects are under AWS's key": (("s3:GetBucketEncryption", _clear), _both("HF007")),
    "old versions are dropped": (
        ("s3:GetBucketVersioning", _set("Status", to="Suspended")),
        _both("HF004"),
    ),
    "plain HTTP is answered": (("s3:GetBucketPolicy", _clear), _both("HF515")),
    "the public is not blocked": (
        ("s3:GetPublicAccessBlock", _set("PublicAccessBlockConfiguration", "BlockPublicPolicy", to=False)),
        _both("HF516"),
    ),
    "access is not logged": (("s3:GetBucketLogging", _clear), _both("HF519")),
    "a bucket lost its tags": (("s3:GetBucketTagging", _clear), _both("HF010")),
    "nothing is moved or deleted": (
        ("s3:GetBucketLifecycleConfiguration", _clear),
        _both("HF006"),
    ),
    "everything is deleted": (
        (
            "s3:GetBucketLifecycleConfiguration",
            lambda answer: answer["Rules"].append({"Status": "Enabled", "Filter": {}, "Expiration": {"Days": 30}}),
        ),
        _both("HF006"),
    ),
    "backups are not selected": (
        ("backup:GetBackupSelection", _set("BackupSelection", "Resources", to=[])),
        {("HF513", DATABASE), ("HF513", BUCKET), ("HF513", DOCUMENTS)},
    ),
    "backups are dropped early": (
        ("backup:GetBackupPlan", _set("BackupPlan", "Rules", 0, "Lifecycle", to={"DeleteAfterDays": 1})),
        {("HF513", DATABASE), ("HF513", BUCKET), ("HF513", DOCUMENTS)},
    ),
    "the vault is unlocked": (
        ("backup:DescribeBackupVault", _set("Locked", to=False)),
        {("HF513", DATABASE), ("HF513", BUCKET), ("HF513", DOCUMENTS)},
    ),
    "nobody hears the alarms": (
        ("cloudwatch:DescribeAlarms", _muted),
        {("HF205", DATABASE), ("HF205", BROKER), ("HF205", DOCUMENTS)},
    ),
    "the key is not rotated": (("kms:GetKeyRotationStatus", _set("KeyRotationEnabled", to=False)), {("HF008", None)}),
    "a database is gone": (
        ("rds:DescribeDBInstances", _of("DBInstances", DATABASE, "DBInstanceIdentifier", DBInstanceIdentifier="x")),
        {("HF201", DATABASE)},
    ),
}


@pytest.mark.parametrize("lost", LOST)
def test_what_is_lost_live_is_one_finding_by_rule_and_store(lost: str) -> None:
    (operation, change), expected = LOST[lost]
    changed = door()
    changed.changed[operation] = change
    found = look(changed.read())
    # What belongs to a rule that came later than this list may be said as well, never anything of another store.
    assert expected <= failed(found)
    assert failed(found) - expected <= {("HF527", table) for _, table in expected}
    for finding in (f for f in found.findings if (f.rule.id, f.table) in expected and f.table and f.rule.id != "HF201"):
        assert finding.source.value == "live"
        assert finding.gap is not None
        assert (finding.gap.deployed, finding.gap.live) == ("on", "off")
        assert finding.where.startswith("arn:aws:")


def test_a_failover_that_is_being_switched_off_is_off() -> None:
    changed = door()
    operation, change = _cache(AutomaticFailover="disabling")
    changed.changed[operation] = change
    assert failed(look(changed.read())) == {("HF518", CACHE)}


def test_every_rule_that_is_judged_live_can_fail() -> None:
    assert {rule for _, expected in LOST.values() for rule, _ in expected} >= {
        r.id for r in STORE_RULES if not r.only_deployed
    } - {"HF534", "HF527"}


def test_the_golden_file_of_live_stores() -> None:
    clean, found = live_golden.said(look(door().read())), {}
    for lost, ((operation, change), _) in LOST.items():
        changed = door()
        changed.changed[operation] = change
        found[lost] = live_golden.said(look(changed.read())) - clean
    for call in (*STORES, TAGS):
        refused = door()
        refused.refused[call] = "AccessDenied"
        found[f"without {call.action}"] = live_golden.said(look(refused.read())) - clean
    live_golden.check("stores", found)


@pytest.mark.parametrize("call", [*STORES, TAGS], ids=lambda c: c.operation)
def test_without_one_action_the_rest_is_judged_and_nothing_fails(call: Call) -> None:
    refused = door()
    refused.refused[call] = "AccessDenied"
    seen = refused.read()
    assert call in refused.asked
    assert {u.action for u in seen.unreadable} == {call.action}
    found = look(seen)
    assert failed(found) == set()
    unknown = [f for f in found.findings if f.outcome is Outcome.UNKNOWN]
    assert "HF614" in {f.rule.id for f in unknown}
    assert all(str(call.action) in f.detail for f in unknown)
    if call not in (TAGS, LOCK):  # the shop locks no bucket
        assert {f.rule.id for f in unknown} - {"HF614"}


def test_where_nothing_may_be_read_nothing_fails_and_every_store_is_unknown() -> None:
    refused = door()
    refused.refused = dict.fromkeys(STORES, "AccessDeniedException")
    found = look(refused.read())
    assert failed(found) == set()
    assert {f.table for f in found.findings if f.rule.id == "HF201" and f.outcome is Outcome.UNKNOWN} == EVERY


def test_msk_says_forbidden_where_others_say_access_denied() -> None:
    refused = door()
    refused.refused[BROKERS] = "ForbiddenException"
    assert [u.action for u in refused.read().unreadable] == ["kafka:ListClusters"]


def test_a_bucket_that_is_gone_is_not_there_and_not_unread() -> None:
    gone = door()
    missing = next(asked for asked in gone.answers if asked[0] is LOCATION)
    gone.answers = gone.answers | {missing: answered(LOCATION, 404, "NoSuchBucket", "no")}
    seen = gone.read()
    assert seen.unreadable == ()
    assert failed(look(seen)) == {("HF201", BUCKET)}


def test_the_lock_of_an_archive_is_judged_live() -> None:
    locked = tuple(replace(s, locked=timedelta(days=30)) if isinstance(s, Bucket) else s for s in PLACED.stores)
    placed = replace(PLACED, stack=replace(PLACED.stack, stores=locked))
    lock = {"ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 30}}}
    asked = next(asked for asked in door().answers if asked[0] is LOCK)

    def verdict(seen: Door) -> tuple[Outcome, str]:
        (found,) = [
            f for f in look(seen.read(placed), placed=placed).findings if f.rule.id == "HF534" and f.table == BUCKET
        ]
        return found.outcome, found.gap.live if found.gap else ""

    assert verdict(door()) == (Outcome.FAIL, "off")
    on = door()
    on.answers = on.answers | {asked: {"ObjectLockConfiguration": lock}}
    assert verdict(on) == (Outcome.FAIL, "on")  # live, but not in the deployed template
    refused = door()
    refused.refused[LOCK] = "AccessDenied"
    assert verdict(refused) == (Outcome.FAIL, "unknown")


def test_a_policy_names_roles_of_the_stack_by_reference_and_others_by_their_arn() -> None:
    own = StackResources({("AWS::IAM::Role", "emptier"): "Emptier"})
    roles = ["arn:aws:iam::000000000000:role/emptier", "arn:aws:iam::000000000001:role/theirs"]
    resources = ["arn:aws:s3:::files", "arn:aws:s3:::files/*", "arn:aws:s3:::filesystem/*"]
    document = {"Statement": [{"Principal": {"AWS": roles}, "Resource": resources, "Condition": "000000000000"}]}
    (written,) = bucket_policy("arn:aws:s3:::files", "Files", json.dumps(document), own, "000000000000")["Properties"][
        "PolicyDocument"
    ]["Statement"]
    assert written["Principal"] == {"AWS": [{"Fn::GetAtt": ["Emptier", "Arn"]}, roles[1]]}
    files = {"Fn::GetAtt": ["Files", "Arn"]}
    assert written["Resource"] == [files, {"Fn::Join": ["", [files, "/*"]]}, resources[2]]
    assert written["Condition"] == {"Ref": "AWS::AccountId"}


def test_a_topic_whose_settings_cannot_be_understood_is_unknown() -> None:
    strange = door()
    strange.changed["kafka:DescribeTopic"] = _set("Configs", to="no base64 of JSON")
    assert told(look(strange.read())) == {("unknown", "HF532", BROKER)}


def test_a_policy_allows_what_the_topics_of_a_broker_need() -> None:
    statements = policy(AUDIT)["Statement"]
    allowed = {(action, s["Resource"]) for s in statements for action in s["Action"]}
    assert {(c.action, c.resource) for c in STORES} <= allowed
    assert ("kafka-cluster:Connect", "arn:aws:kafka:*:*:*") in allowed
    assert all("*" not in action for action, _ in allowed)


# By hand, in the emulator's own words


def _changes(aws: Aws) -> dict[str, tuple[Any, set[tuple[str, str | None]]]]:
    rds, s3, ec2 = (aws.client(service, PLACED.region) for service in ("rds", "s3", "ec2"))
    bucket = f"{BUCKET}-{aws.account}-{PLACED.region}"
    groups = {g["Description"]: g["GroupId"] for g in ec2.describe_security_groups()["SecurityGroups"]}
    open_port = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
    return {
        "deletion protection": (
            lambda: rds.modify_db_instance(DBInstanceIdentifier=DATABASE, DeletionProtection=False),
            {("HF001", DATABASE)},
        ),
        "versions": (
            lambda: s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Suspended"}),
            {("HF004", BUCKET)},
        ),
        "lifecycle": (lambda: s3.delete_bucket_lifecycle(Bucket=bucket), {("HF006", BUCKET)}),
        "policy": (lambda: s3.delete_bucket_policy(Bucket=bucket), {("HF515", BUCKET)}),
        "port": (
            lambda: ec2.authorize_security_group_ingress(
                GroupId=groups[f"PostgreSQL {DATABASE}"], IpPermissions=[open_port]
            ),
            {("HF520", DATABASE), ("HF503", None)},
        ),
    }


def test_what_somebody_changes_by_hand_in_the_emulated_account_is_found() -> None:
    aws = deployed()  # an account of its own: these changes stay
    api = open_door(aws)
    expected: set[tuple[str, str | None]] = set()
    assert failed(look(read(api, places=[PLACED], now=NOW))) == expected
    for change, found in _changes(aws).values():
        change()
        expected |= found
    assert failed(look(read(api, places=[PLACED], now=NOW))) == expected


def test_reading_no_store_asks_nothing_about_stores() -> None:
    bare = Door(door().answers)
    seen = read(bare, places=(), now=NOW)  # type: ignore[arg-type]
    assert seen.stores is None
    assert not bare.asked & set(STORES)
