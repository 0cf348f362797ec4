"""MeetingSystem: users, meetings, their rooms, tasks and recordings. Source: meeting-storage.md."""

from datetime import timedelta

from holdfast import Assumed, Backups, Bucket, Data, Database, DocumentDatabase, Fact, Inferred, RowUpkeep, Stack
from stacks.meeting_conventions import BROKER, CACHE, POOL, PREFIXES, REGISTRY
from stacks.sources import ACCOUNT, lines

# A backup is a snapshot, of which each one but the first copies only what has changed: full and incremental at once.
BACKUPS = Backups(
    schedules={"daily": "cron(0 2 * * ? *)", "six-hourly": "cron(0 8,14,20 * * ? *)"}, keep=timedelta(days=90)
)
NO_HOURS = "the source asks for regular full and incremental backups without hours: those of the lifecycle platform"
HOURS = {"daily backup": NO_HOURS, "six-hourly backup": NO_HOURS}
RECOVERY = {"recovery": "the source gives no days; those of the lifecycle platform"}

STACK = Stack(
    id="MeetingSystem-{env}",
    system="meeting",
    owner="meeting-system",
    stores=(
        Database(
            name="meeting-{env}",
            purpose="Users, meetings, signalling, recordings, settings and tasks.",
            schema="meeting",
            data=Data.PERSONAL,
            backups=BACKUPS,
            pool=POOL,
            upkeep=RowUpkeep(
                tables=(
                    "ai_tasks",
                    "media_streams",
                    "meeting_participants",
                    "operation_logs",
                    "signaling_messages",
                    "signaling_sessions",
                )
            ),
            assumed={
                **HOURS,
                **RECOVERY,
                "max_connections": "the source gives the pool alone: twice its size leaves room for upkeep",
            },
            source=7,
            sources={
                Fact.NAME: Inferred("the system's own word, and the environment", 48),
                Fact.DATA: Inferred("accounts, chats and recordings of people", 18, 23, 25),
                "schema": (3, *lines(16, 29), 31),
                "engine": Inferred("PostgreSQL, and no word of a cluster", 7),
                "daily backup": 73,
                "six-hourly backup": 73,
                "pool": 78,
                "max_connections": 78,
                "watched for dead rows": Inferred("written at every step of a meeting", 20, 22, 24, 25, 26, 28, 74, 79),
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
            quota_gib=3 * 1024,
            assumed={
                **HOURS,
                "quota": "the source asks for a quota without a size: 2 TiB of recordings, and half of it for the rest",
            },
            source=10,
            sources={
                Fact.NAME: Inferred("its bucket, and the environment", 48),
                Fact.DATA: Inferred("recordings and pictures of people", 10, 49, 51),
                "recordings/{meeting_id}/{file}": (23, 49, 55, 74),
                "media/uploads/{uuid}.{ext}": (50, 55, 74),
                "media/avatars/{user_id}.jpg": 51,
                "temp/{file}": (52, 74),
                "quota": 74,
                "daily backup": 73,
                "six-hourly backup": 73,
            },
        ),
        DocumentDatabase(
            name="meeting-documents-{env}",
            purpose="What the models answered; without it the meetings go on.",
            data=Data.PERSONAL,
            backups=BACKUPS,
            database="meeting",
            assumed={
                **HOURS,
                **RECOVERY,
                "applications": "the source names the collection ai_results and no database",
                "collections": "the source names ai_results and leaves its fields to the models",
            },
            source=(11, 59),
            sources={
                Fact.DATA: Inferred("a model answers about what people said", 11, 59),
                "daily backup": Inferred("backed up like the other durable stores", 73),
                "six-hourly backup": Inferred("backed up like the other durable stores", 73),
                "applications": (59, 72),
                "collections": 59,
            },
        ),
        REGISTRY,
    ),
    document="meeting-storage.md",
    sources={Fact.SYSTEM: Inferred("topics begin with meeting, bucket and paths with meeting-system", 9, 48, 64)},
    assumed=(
        Assumed(Fact.STACK, "the source names no stack"),
        Assumed(Fact.OWNER, "the source names no team; its bucket and its paths are called meeting-system"),
        Assumed(Fact.ENVIRONMENT, "the source knows production and names no environments; those of the other systems"),
        Assumed(Fact.REGION, "the source names no region; those of the other systems"),
        Assumed(Fact.NAME, "the source names the product and no instance of it; the system, what it is, and where"),
        ACCOUNT,
    ),
)
