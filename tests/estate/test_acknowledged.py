"""cdk-nag's packs over the whole estate: nothing unexplained, everything explained on record.

The exit code of a synth is not enough: one acknowledgement in a pack turns its other warnings into a success.
"""

from __future__ import annotations

from support import Json

from holdfast.policy.required import MAX_RECOVERY_DAYS

ACCEPT = "run `make accept` first: what differs from its contract is a violation, too"
PACKS = {"AwsSolutions", "NIST.800.53.R5", "HIPAA.Security"}

REASONS = {
    f"recovered to any second of the last {MAX_RECOVERY_DAYS} days; the policy asks for no backup plan beside that",
    "transient data: worthless once stale, every item expires by its ttl",
    "transient data: worthless once stale, every item expires by its expiration",
    "test is a test environment: its tables may be rebuilt at any time",
    "it is the failure queue itself",
    "called by the stream alone, whose failures go to the mapping's own queue",
    "reaches nothing but AWS services, and no resource inside a VPC",
    "ListStreams knows no resource, and log streams are named by Lambda",
    # the other stores
    "test is a test environment: its stores may be rebuilt at any time",
    "EC2 knows no narrower resource for the network interfaces that Lambda makes in a subnet",
    "it holds access logs only: S3 delivers them to no bucket with another key, and nobody logs the log",
    "old versions answer for recovery; no source asks for a copy in a second region",
    "DocumentDB makes the secret itself and changes it every week; the rule only knows a password by reference",
    "no source asks for rotation: the administrator of the cluster changes the password there and here",
    "audit is exported; the rule looks for names of audited events, which are no kinds of log",
    "DiscoverInstances knows no resource; a condition names the one namespace",
    "the objects of one declared prefix, whose names applications choose",
    "the settings below one root, which belongs to the registry alone",
    "the objects of one prefix of one bucket, whose names are those of partitions to come",
    "users of a user group come in with IAM; the rule only knows a shared token",
    "what AWS Backup documents for its role; a narrower one would miss what the service adds",
    "what AWS documents for enhanced monitoring, which takes no other policy",
}


def test_every_plugin_ran_and_is_content(report: list[Json]) -> None:
    """A plugin of which there is nothing to tell is not in the report: ours is not, the packs have acknowledgements."""
    assert {p["pluginName"] for p in report} == PACKS, ACCEPT
    assert {p["conclusion"] for p in report} == {"success"}, [p.get("metadata") for p in report]


def test_no_violation_is_unacknowledged(report: list[Json]) -> None:
    left = [
        (v["ruleName"], c["constructPath"]) for p in report for v in p["violations"] for c in v["violatingConstructs"]
    ]
    assert left == [], ACCEPT


def test_every_acknowledgement_gives_a_reason_that_is_listed_here(report: list[Json]) -> None:
    given = {v["reason"] for p in report for v in p.get("suppressedViolations", [])}
    assert given == REASONS, "add its line to REASONS here, or take it out"


def test_recovery_is_never_acknowledged_away_for_durable_prod_data(report: list[Json]) -> None:
    rules = {"AwsSolutions-DDB3", "NIST.800.53.R5-DynamoDBPITREnabled", "HIPAA.Security-DynamoDBPITREnabled"}
    excused = {
        c["constructPath"]
        for p in report
        for v in p.get("suppressedViolations", [])
        if v["ruleName"] in rules
        for c in v["violatingConstructs"]
    }
    prod = {path.split("/")[1] for path in excused if "prod" in path.split("/")[0].lower()}
    assert prod == {"OrangetheoryOAuthStates", "StudioCache", "RcSubscriptionIdempotency"}, "add its line here"
