"""LifecyclePlatform-*: who the users are, where in their life they stand, what is done about it.

Source: lifecycle-postgresql.md.
"""

from datetime import timedelta

from holdfast import Assumed, Backups, Bucket, Data, Database, Fact, Inferred, Prefix, Stack, Upkeep
from stacks.sources import ACCOUNT, lines

ARCHIVE = "lifecycle-archive-{env}"

STACK = Stack(
    id="LifecyclePlatform-{env}",
    system="lifecycle",
    owner="lifecycle-platform",
    stores=(
        Database(
            name="lifecycle-{env}",
            purpose="Users and their stages, workflows, segments, triggers, the events of all of these, and metrics.",
            schema="lifecycle",
            data=Data.PERSONAL,
            backups=Backups(
                schedules={"daily": "cron(0 2 * * ? *)", "six-hourly": "cron(0 8,14,20 * * ? *)"},
                keep=timedelta(days=90),
            ),
            recovery=timedelta(days=30),
            upkeep=Upkeep(
                partitioned=("lifecycle_events", "trigger_executions", "metrics_daily"),
                archive=ARCHIVE,
            ),
            source=(11, 34, 58, 84, 110, 128, 146, 166, 185, 206),
            sources={
                Fact.DATA: Inferred("e-mail addresses, and all that is known of a user", 16, 18, 32),
                # Tables, and in ops.partition_policy and ops.row_policy how long their rows live.
                "schema": (7, *lines(9, 222), *lines(226, 230)),
                "engine": 7,
                "recovery": 236,
                "daily backup": (234, 237),
                "six-hourly backup": Inferred("six hours apart, beginning with the daily one", 234, 235, 237),
                "partitioned": (*lines(241, 245), *lines(250, 255)),
            },
            assumed={
                "engine": "the source says PostgreSQL, and not what runs it; one instance with a standby is the least",
                "port": "the source gives none; the engine's own is the first one that is tried by strangers",
                "size": "the source gives no volume; a small pair of instances that grows its own storage",
                "hour of the upkeep": "the source gives none; 05:00 UTC is away from all backups",
                "partitions ahead": "the source gives none; three months and a year outlast weeks of failing jobs",
                "earliest row": "the source gives none; 2020 is years before its first partition",
            },
        ),
        Bucket(
            name=ARCHIVE,
            purpose="Events older than two years, which the source sends to cold storage.",
            data=Data.PERSONAL,
            locked=timedelta(days=365),
            prefixes=(
                Prefix(
                    path="archive/{table}/",
                    purpose="One folder per partition: chunks and their manifest.",
                    tiers={"GLACIER_IR": timedelta(days=0), "DEEP_ARCHIVE": timedelta(days=180)},
                    assumed="the source says cold storage and neither class, age nor end; nothing here expires",
                ),
            ),
            source=226,
            sources={
                Fact.DATA: Inferred("events name their user", 191, 226),
                "archive/{table}/": 226,
            },
            assumed={"locked": "the source gives no lock; a year is time to notice that an archive is needed"},
        ),
    ),
    document="lifecycle-postgresql.md",
    sources={Fact.SYSTEM: Inferred("the platform is that of the life cycle of users", 5)},
    assumed=(
        Assumed(Fact.STACK, "the source names the platform, and no stack"),
        Assumed(Fact.OWNER, "the source names the platform and no team; the platform's own name stands in"),
        Assumed(Fact.ENVIRONMENT, "the source knows no environments; those of the estate"),
        Assumed(Fact.REGION, "the source names no region; that of the environment"),
        Assumed(Fact.NAME, "the source names tables, and neither their database nor a place for the archive"),
        ACCOUNT,
    ),
)
