"""OrangeTheoryStack-*: stores, their phones and the people who run them. Source: callytics-dynamodb.md."""

from datetime import date

from holdfast import (
    Assumed,
    Data,
    Durable,
    Fact,
    Guard,
    Inferred,
    Pattern,
    Relation,
    Sighting,
    Stack,
    State,
    Table,
    Transient,
    Usage,
    gsi,
    key,
)
from stacks.environments import TEST
from stacks.identities import CALLYTICS as IDENTITIES
from stacks.sources import ACCOUNT, CALLYTICS, CALLYTICS_TYPES, COUNTED, NAMED, OF_CALLYTICS, PROJECTION, UNTYPED

CONNECTIONS = "orangetheory-UserConnections-{env}"
NUMBERS = "orangetheory-PhoneNumbers-{env}"
ASSIGNMENTS = "orangetheory-PhoneStoreAssignments-{env}"
STORES = "orangetheory-StoresV2-{env}"

BLACKOUT_KEY = key("storeId", "blackoutId")
BLACKOUT_INDEXES = (gsi("storeId", "startTime", assumed=COUNTED, source=95),)
HOURS_KEY = key("storeId", "sk")  # sk holds SCHEDULE#<date>#<timestamp> or OVERRIDE#<date>

KEPT = "the items of the duplicate are kept until they are moved; test tables need no guard that only holds them"
TWIN = (
    Assumed(Fact.KEY, "the source names the duplicate and no key of it; that of the table that it repeats"),
    Assumed(Fact.DATA, "the source does not say what it holds; what the table that it repeats holds"),
)

UNDER_THE_OLD_PREFIX = (
    *(CONNECTIONS, NUMBERS, ASSIGNMENTS, STORES),
    *("orangetheory-UserStore-{env}", "orangetheory-SubAccounts-{env}", "orangetheory-OAuthStates-{env}"),
    *("orangetheory-BlackoutPeriods-{env}", "orangetheory-OperatingHours-{env}"),
)

STACK = Stack(
    id="OrangeTheoryStack-{env}",
    system="callytics",
    owner="studio-website-monorepo",
    document=CALLYTICS,
    source=(27, 208, 209),
    sources=OF_CALLYTICS | {(Fact.STACK, TEST): 137, Fact.NAMING: 209},
    assumed=(UNTYPED, PROJECTION, ACCOUNT),
    types=CALLYTICS_TYPES,
    identities=IDENTITIES,
    # Which store a phone number belongs to, as documented: from the connection to the store.
    relations=(
        Relation(
            table=CONNECTIONS,
            attribute="providerAccountId",
            to_table=NUMBERS,
            to_attribute="providerAccountId",
            source=185,
        ),
        Relation(table=NUMBERS, attribute="phoneNumber", to_table=ASSIGNMENTS, to_attribute="phoneNumber", source=186),
        Relation(table=ASSIGNMENTS, attribute="storeId", to_table=STORES, to_attribute="storeId", source=187),
    ),
    # The same way, as the questions that an application asks.
    patterns=(
        Pattern(
            id="NUMBERS-OF-ACCOUNT",
            purpose="The phone numbers of a RingCentral account.",
            table=NUMBERS,
            partition="{providerAccountId}",
            source=185,
        ),
        Pattern(
            id="STORE-OF-NUMBER",
            purpose="The store that a phone number belongs to.",
            table=ASSIGNMENTS,
            index="phoneNumber-index",
            partition="{phoneNumber}",
            source=(186, 195),
        ),
        Pattern(id="STORE", purpose="One store.", table=STORES, partition="{storeId}", source=187),
        Pattern(
            id="STORES-OF-USER",
            purpose="The stores of an owner, who switches between them.",
            table=STORES,
            index="userId-index",
            partition="{userId}",
            source=(90, 178),
        ),
    ),
    tables=(
        Table(
            name=CONNECTIONS,
            purpose="RingCentral OAuth connections, one per user and account.",
            key=key("userId", "connectionId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(
                gsi("connectionId", assumed=COUNTED, source=83),
                gsi("providerAccountId", assumed=COUNTED, source=83),
                gsi("storeId", assumed=COUNTED, source=83),
                gsi("status", "tokenExpiresAt", assumed=COUNTED, source=83),
            ),
            source=83,
            sources={
                (Fact.NAME, TEST): 137,
                Fact.DATA: Inferred("OAuth tokens of a user: secrets that act for somebody", 83),
            },
        ),
        Table(
            name=NUMBERS,
            purpose="RingCentral lines and extensions.",
            key=key("providerAccountId", "phoneNumber"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(gsi("phoneNumber", assumed=COUNTED, source=84), gsi("userId", assumed=COUNTED, source=84)),
            mixed=("extensionId",),  # a Number, or an empty String where there is no extension
            source=84,
            sources={
                (Fact.NAME, TEST): 138,
                Fact.DATA: Inferred("phone numbers, extensions and whose they are", 84),
                Fact.MIXED: 213,
            },
        ),
        Table(
            name=ASSIGNMENTS,
            purpose="Which phone number belongs to which store.",
            key=key("storeId", "phoneNumber"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(gsi("phoneNumber", assumed=COUNTED, source=85),),
            source=85,
            sources={
                (Fact.NAME, TEST): 139,
                Fact.DATA: Inferred("phone numbers", 85),
            },
        ),
        Table(
            name=STORES,
            purpose="Stores and their business settings.",
            key=key("storeId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(gsi("userId", assumed=NAMED, source=90),),
            source=90,
            sources={
                (Fact.NAME, TEST): 140,
                Fact.DATA: Inferred("the userId of whoever owns the store", 90),
            },
        ),
        Table(
            name="orangetheory-UserStore-{env}",
            purpose="What a user may do in a store: owner, editor or viewer.",
            key=key("userId", "storeId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(gsi("storeId", "userId", name="storeId-index", assumed=COUNTED, source=91),),
            source=91,
            sources={
                (Fact.NAME, TEST): 141,
                Fact.DATA: Inferred("which user may do what where", 91),
            },
        ),
        Table(
            name="orangetheory-SubAccounts-{env}",
            purpose="Which account is a child of which.",
            key=key("childUserId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(gsi("parentUserId", assumed=COUNTED, source=92),),
            source=92,
            sources={
                (Fact.NAME, TEST): 142,
                Fact.DATA: Inferred("which user is whose child", 92),
            },
        ),
        Table(
            name="orangetheory-OAuthStates-{env}",
            purpose="OAuth round trips in flight.",
            key=key("stateId"),
            lifetime=Transient(ttl="ttl"),
            data=Data.PERSONAL,
            source=93,
            sources={
                (Fact.NAME, TEST): 143,
                Fact.DATA: Inferred("a secret of the log-in that is under way", 93),
                Fact.LIFETIME: (93, 337, 347),
                Fact.TTL: (93, 347),
            },
        ),
        Table(
            name="studio-Cache-{env}",
            purpose="General cache, thirty days at most.",
            key=key("cacheKey"),
            lifetime=Transient(ttl="ttl"),
            data=Data.PERSONAL,
            source=94,
            sources={
                (Fact.NAME, TEST): 146,
                Fact.DATA: Inferred("a general cache is as personal as what it copies", 94),
                Fact.LIFETIME: (94, 337, 347),
                Fact.TTL: (94, 347),
            },
        ),
        Table(
            name="studio-BlackoutPeriods-{env}",
            purpose="When a store must not be called.",
            key=BLACKOUT_KEY,
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            indexes=BLACKOUT_INDEXES,
            source=95,
            sources={
                (Fact.NAME, TEST): 147,
                Fact.DATA: Inferred("times of day at which a store is quiet", 95),
            },
        ),
        Table(
            name="studio-OperatingHours-{env}",
            purpose="Opening hours: schedules and overrides by date.",
            key=HOURS_KEY,
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            source=96,
            sources={
                (Fact.NAME, TEST): 148,
                Fact.DATA: Inferred("opening hours of a store", 96),
            },
        ),
        # Two duplicates from before the studio- prefix. The first holds 29 items where its successor holds 1,
        # so they are retained even in test: dropping the declaration must not drop the data.
        Table(
            name="orangetheory-BlackoutPeriods-{env}",
            purpose="Blackout periods under the old prefix.",
            key=BLACKOUT_KEY,
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            indexes=BLACKOUT_INDEXES,
            only=(TEST,),
            floor=Guard.RETAIN,
            state=State(
                usage=Usage.DUPLICATE,
                replaced_by="studio-BlackoutPeriods-{env}",
                fewer_guards=KEPT,
                archive_phase=5,
                sighting=Sighting(on=date(2026, 4, 23), items=29),
            ),
            source=144,
            sources={
                Fact.USAGE: (144, 153, 266),
                Fact.SUCCESSOR: 153,
                Fact.ARCHIVE: (284, 285),
                Fact.SIGHTING: 153,
                Fact.FLOOR: Inferred("its items must not be lost before they are moved", 153),
            },
            assumed=TWIN,
        ),
        Table(
            name="orangetheory-OperatingHours-{env}",
            purpose="Opening hours under the old prefix.",
            key=HOURS_KEY,
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            only=(TEST,),
            floor=Guard.RETAIN,
            state=State(
                usage=Usage.DUPLICATE,
                replaced_by="studio-OperatingHours-{env}",
                fewer_guards=KEPT,
                archive_phase=5,
            ),
            source=145,
            sources={
                Fact.USAGE: (145, 153, 267),
                Fact.SUCCESSOR: (153, 267),
                Fact.ARCHIVE: (284, 285),
                Fact.FLOOR: Inferred("nobody counted its items, and those of the other duplicate must be moved", 153),
            },
            assumed=TWIN,
        ),
    ),
)
