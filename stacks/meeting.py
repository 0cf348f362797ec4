"""MeetingSystem: users, meetings, their rooms, tasks and recordings. Source: meeting-storage.md."""

from datetime import timedelta

from holdfast import Assumed, Backups, Bucket, Data, Database, DocumentDatabase, Fact, Stack
from stacks.meeting_conventions import BROKER, CACHE, POOL, PREFIXES, REGISTRY

# The source asks for full and incremental backups and names no hours: those of the lifecycle platform are taken.
BACKUPS = Backups(schedules={"daily": "cron(0 2 * * ? *)"}, keep=timedelta(days=35))

STACK = Stack(
    id="MeetingSystem-{env}",
    system="meeting",
    owner="meeting-system",
    assumed=(Assumed(Fact.OWNER, "the source names no team; its bucket and its paths are called meeting-system"),),
    stores=(
        Database(
            name="meeting-{env}",
            purpose="Users, meetings, signalling, recordings, settings and tasks.",
            schema="meeting",
            data=Data.PERSONAL,
            backups=BACKUPS,
            pool=POOL,
            assumed={
                "backups": "the source asks for regular full and incremental backups and gives no hours",
                "max_connections": "the source gives the pool alone: twice its size leaves room for upkeep",
            },
        ),
        CACHE,
        BROKER,
        Bucket(
            name="meeting-system-{env}",
            purpose="Recordings, uploads and pictures.",
            data=Data.PERSONAL,
            prefixes=PREFIXES,
            backups=BACKUPS,
        ),
        DocumentDatabase(
            name="meeting-documents-{env}",
            purpose="What the models answered; without it the meetings go on.",
            data=Data.PERSONAL,
            backups=BACKUPS,
            assumed={"collections": "the source names ai_results and leaves its fields to the models"},
        ),
        REGISTRY,
    ),
)
