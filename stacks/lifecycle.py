"""LifecyclePlatform-*: who the users are, where in their life they stand, what is done about it.

Source: lifecycle-postgresql.md.
"""

from datetime import timedelta

from holdfast import Assumed, Backups, Bucket, Data, Database, Fact, Prefix, Stack, Upkeep

ARCHIVE = "lifecycle-archive-{env}"

STACK = Stack(
    id="LifecyclePlatform-{env}",
    system="lifecycle",
    owner="lifecycle-platform",
    assumed=(Assumed(Fact.OWNER, "the source names the platform and no team; the platform's own name stands in"),),
    stores=(
        Database(
            name="lifecycle-{env}",
            purpose="Users and their stages, workflows, segments, triggers, the events of all of these, and metrics.",
            schema="lifecycle",
            data=Data.PERSONAL,  # e-mail addresses, and all that is known of a user
            backups=Backups(
                schedules={"daily": "cron(0 2 * * ? *)", "six-hourly": "cron(0 8,14,20 * * ? *)"},
                keep=timedelta(days=90),
            ),
            recovery=timedelta(days=30),
            upkeep=Upkeep(
                partitioned=("lifecycle_events", "trigger_executions", "metrics_daily"),
                archive=ARCHIVE,
            ),
            assumed={
                "port": "the source gives none; the engine's own is the first one that is tried by strangers",
                "size": "the source gives no volume; a small pair of instances that grows its own storage",
                "hour of the upkeep": "the source gives none; 05:00 UTC is away from all backups",
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
                    assumed="the source says cold storage and neither class, age, lock nor end; nothing here expires",
                ),
            ),
        ),
    ),
)
