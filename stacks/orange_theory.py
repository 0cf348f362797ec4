"""OrangeTheoryStack-*: stores, their phones and the people who run them. Source: callytics-dynamodb.md."""

from datetime import date

from holdfast import Data, Durable, Guard, Relation, Sighting, Stack, State, Table, Transient, Usage, gsi, key
from stacks.assumptions import COUNTED, NAMED, PROJECTION, UNTYPED
from stacks.environments import TEST
from stacks.identities import CALLYTICS

CONNECTIONS = "orangetheory-UserConnections-{env}"
NUMBERS = "orangetheory-PhoneNumbers-{env}"
ASSIGNMENTS = "orangetheory-PhoneStoreAssignments-{env}"
STORES = "orangetheory-StoresV2-{env}"

BLACKOUT_KEY = key("storeId", "blackoutId")
BLACKOUT_INDEXES = (gsi("storeId", "startTime", assumed=COUNTED),)
HOURS_KEY = key("storeId", "sk")  # sk holds SCHEDULE#<date>#<timestamp> or OVERRIDE#<date>

STACK = Stack(
    id="OrangeTheoryStack-{env}",
    system="callytics",
    owner="studio-website-monorepo",
    assumed=(UNTYPED, PROJECTION),
    identities=CALLYTICS,
    # Which store a phone number belongs to, as documented: from the connection to the store.
    relations=(
        Relation(table=CONNECTIONS, attribute="providerAccountId", to_table=NUMBERS, to_attribute="providerAccountId"),
        Relation(table=NUMBERS, attribute="phoneNumber", to_table=ASSIGNMENTS, to_attribute="phoneNumber"),
        Relation(table=ASSIGNMENTS, attribute="storeId", to_table=STORES, to_attribute="storeId"),
    ),
    tables=(
        Table(
            name=CONNECTIONS,
            purpose="RingCentral OAuth connections, one per user and account.",
            key=key("userId", "connectionId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(
                gsi("connectionId", assumed=COUNTED),
                gsi("providerAccountId", assumed=COUNTED),
                gsi("storeId", assumed=COUNTED),
                gsi("status", "tokenExpiresAt", assumed=COUNTED),
            ),
            low_cardinality=("status",),
        ),
        Table(
            name=NUMBERS,
            purpose="RingCentral lines and extensions.",
            key=key("providerAccountId", "phoneNumber"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(gsi("phoneNumber", assumed=COUNTED), gsi("userId", assumed=COUNTED)),
        ),
        Table(
            name=ASSIGNMENTS,
            purpose="Which phone number belongs to which store.",
            key=key("storeId", "phoneNumber"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(gsi("phoneNumber", assumed=COUNTED),),
        ),
        Table(
            name=STORES,
            purpose="Stores and their business settings.",
            key=key("storeId"),
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            indexes=(gsi("userId", assumed=NAMED),),
        ),
        Table(
            name="orangetheory-UserStore-{env}",
            purpose="What a user may do in a store: owner, editor or viewer.",
            key=key("userId", "storeId"),
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            indexes=(gsi("storeId", "userId", name="storeId-index", assumed=COUNTED),),
        ),
        Table(
            name="orangetheory-SubAccounts-{env}",
            purpose="Which account is a child of which.",
            key=key("childUserId"),
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            indexes=(gsi("parentUserId", assumed=COUNTED),),
        ),
        Table(
            name="orangetheory-OAuthStates-{env}",
            purpose="OAuth round trips in flight.",
            key=key("stateId"),
            lifetime=Transient(ttl="ttl"),
            data=Data.OPERATIONAL,
        ),
        Table(
            name="studio-Cache-{env}",
            purpose="General cache, thirty days at most.",
            key=key("cacheKey"),
            lifetime=Transient(ttl="ttl"),
            data=Data.OPERATIONAL,
        ),
        Table(
            name="studio-BlackoutPeriods-{env}",
            purpose="When a store must not be called.",
            key=BLACKOUT_KEY,
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            indexes=BLACKOUT_INDEXES,
        ),
        Table(
            name="studio-OperatingHours-{env}",
            purpose="Opening hours: schedules and overrides by date.",
            key=HOURS_KEY,
            lifetime=Durable(),
            data=Data.OPERATIONAL,
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
                archive_phase=5,
                sighting=Sighting(on=date(2026, 4, 23), items=29),
            ),
        ),
        Table(
            name="orangetheory-OperatingHours-{env}",
            purpose="Opening hours under the old prefix.",
            key=HOURS_KEY,
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            only=(TEST,),
            floor=Guard.RETAIN,
            state=State(usage=Usage.DUPLICATE, replaced_by="studio-OperatingHours-{env}", archive_phase=5),
        ),
    ),
)
