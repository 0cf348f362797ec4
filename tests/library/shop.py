"""The estate that the library is tested on: every kind of store, every state, names and a policy of its own."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

from holdfast import (
    Access,
    Assumed,
    Backups,
    Broker,
    Bucket,
    Cache,
    Data,
    Database,
    DocumentDatabase,
    Durable,
    Encryption,
    Entity,
    Environment,
    Estate,
    Fact,
    Governance,
    Guard,
    Item,
    KeyFamily,
    Pattern,
    Policy,
    Pool,
    Prefix,
    Processor,
    Registry,
    Service,
    Sighting,
    Sizes,
    Stack,
    State,
    Stream,
    Table,
    TagSource,
    Thresholds,
    Tier,
    Topic,
    Transient,
    Upkeep,
    Usage,
    View,
    gsi,
    key,
    number,
)

LIVE = Environment("live", Tier.PROD, "eu-west-1")
DEV = Environment("dev", Tier.TEST, "eu-central-1")

POLICY = Policy(
    recovery_days=14,
    thresholds=Thresholds(cpu_percent=70, free_gib=5, disk_percent=60, lag_seconds=120),
    sizes=Sizes(database={Tier.PROD: "db.r7g.large", Tier.TEST: "db.t4g.micro"}),
    cidr="10.80.0.0/16",
    log_days={Tier.PROD: 400, Tier.TEST: 60},
    keeps_logs=frozenset(Tier),
    instances={Tier.PROD: 3, Tier.TEST: 1},
    snapshot_days={Tier.PROD: 7, Tier.TEST: 1},
    monitoring_seconds={Tier.PROD: 30, Tier.TEST: 15},
    tags={
        "shop:system": TagSource.SYSTEM,
        "shop:stage": TagSource.ENVIRONMENT,
        "shop:team": TagSource.OWNER,
        "shop:data": TagSource.DATA_CLASS,
        "shop:lifetime": TagSource.LIFETIME,
        "shop:name": TagSource.NAME,
        "shop:managed-by": "holdfast",
    },
)

ORDERS = Stack(
    id="Orders-{env}",
    system="shop",
    owner="orders-team",
    environment_names={LIVE: "production"},
    tables=(
        Table(
            name="orders-{env}",
            purpose="What was ordered, and by whom.",
            key=key("customerId", "orderId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(gsi("status", number("placedAt")), gsi("couponCode", assumed="the ticket names no index")),
            low_cardinality=("status",),
            stream=Stream(view=View.NEW_AND_OLD_IMAGES, consumer="invoices-{env}"),
        ),
        Table(
            name="carts-{env}",
            purpose="What may be ordered yet.",
            key=key("cartId"),
            lifetime=Transient(ttl="expiresAt"),
            data=Data.PERSONAL,
        ),
        Table(
            name="prices-{env}",
            purpose="What things cost.",
            key=key("sku", "validFrom"),
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            indexes=(gsi("category"),),
        ),
        Table(
            name="prices-old-{env}",
            purpose="What things cost before the last move.",
            key=key("sku"),
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            only=(DEV,),
            floor=Guard.RETAIN,
            state=State(usage=Usage.DUPLICATE, replaced_by="prices-{env}"),
        ),
    ),
    entities=(
        Entity(
            table="orders-{env}",
            type="ORDER",
            items=(Item(keys={"customerId": "{customerId}", "orderId": "{orderId}"}),),
        ),
    ),
    patterns=(Pattern(id="P1", purpose="The orders of a customer.", table="orders-{env}", partition="{customerId}"),),
    processors=(Processor(name="invoices-{env}", table="orders-{env}", code="invoices"),),
    access=(Access(name="orders-application-{env}", table="orders-{env}", actions=("GetItem", "PutItem", "Query")),),
)

SESSIONS = Stack(
    id="Sessions",
    system="shop",
    owner="login-team",
    undeployed=(LIVE,),
    floor=Guard.PITR,
    encryption=Encryption.AWS_MANAGED,
    tables=(
        Table(
            name="sessions-{region}",
            purpose="Who is signed in.",
            key=key("sessionId"),
            lifetime=Transient(ttl="until"),
            data=Data.OPERATIONAL,
        ),
        Table(
            name="devices-{region}",
            purpose="What people signed in with.",
            key=key("deviceId"),
            lifetime=Durable(),
            data=Data.OPERATIONAL,
        ),
    ),
)

NEWSLETTER = Stack(
    id="Newsletter",
    system="news",
    owner="marketing-team",
    floor=Guard.ALARMS,
    tables=(
        Table(
            name="newsletter-{region}",
            purpose="Who reads it; still written here, read elsewhere.",
            key=key("readerId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            indexes=(gsi("address"), gsi("shopId", "joinedAt"), gsi("campaign", "joinedAt")),
            stream=Stream(view=View.NEW_IMAGE, pending="off until its reader exists"),
            state=State(usage=Usage.MIRROR),
        ),
    ),
)

RETIRED = Stack(
    id="Retired-{env}",
    system="shop",
    owner="platform-team",
    environments=(LIVE,),
    tables=(
        Table(
            name="customers-{env}",
            purpose="Customers, from a stack that was deleted.",
            key=key("customerId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            assumed=(Assumed(Fact.KEY, "no document gives it"),),
            state=State(governance=Governance.ORPHAN, sighting=Sighting(on=date(2026, 1, 5), items=12)),
        ),
        Table(
            name="coupons",
            purpose="Coupons, made by hand before there were stacks.",
            key=key("code"),
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            state=State(usage=Usage.LEGACY, governance=Governance.PRE_CDK, replaced_by="prices-{env}"),
        ),
        Table(
            name="baskets-{env}",
            purpose="Carts of the first shop, to be archived.",
            key=key("basketId"),
            lifetime=Durable(),
            data=Data.OPERATIONAL,
            state=State(usage=Usage.DEAD, archive_phase=1),
        ),
    ),
)

JOURNAL = Stack(
    id="Journal-{env}",
    system="shop",
    owner="platform-team",
    region="eu-north-1",
    tables=(
        Table(
            name="journal-{env}",
            purpose="Who did what, of both environments in one region.",
            key=key("day", "entryId"),
            lifetime=Durable(ttl="until"),
            data=Data.OPERATIONAL,
            indexes=(gsi("author", assumed="only counted"),),
            stream=Stream(view=View.NEW_IMAGE, consumer="reports-{env}"),  # somebody else's
            assumed=tuple(Assumed(fact, "a guess") for fact in (Fact.KEY_TYPES, Fact.PROJECTION, Fact.TTL)),
        ),
    ),
)

BACKUPS = Backups(schedules={"daily": "cron(0 2 * * ? *)"}, keep=timedelta(days=35))
STORES = Stack(
    id="Stores-{env}",
    system="shop",
    owner="platform-team",
    stores=(
        Database(
            name="shop-{env}",
            purpose="Invoices.",
            schema="shop",
            data=Data.PERSONAL,
            backups=BACKUPS,
            pool=Pool(max_open=50, max_idle=5, max_lifetime=timedelta(hours=1)),
            upkeep=Upkeep(partitioned=("payment",), archive="shop-archive-{env}"),
        ),
        Cache(
            name="shop-cache-{env}",
            purpose="What is read often.",
            data=Data.PERSONAL,
            families=(KeyFamily(pattern="price:{sku}", ttl=timedelta(minutes=5), purpose="One price."),),
        ),
        Broker(
            name="shop-events-{env}",
            purpose="What happened.",
            data=Data.PERSONAL,
            prefix="shop",
            topics=(
                Topic(
                    name="orders",
                    purpose="New orders.",
                    partitions=3,
                    keep=timedelta(days=7),
                    groups=("invoices",),
                ),
                Topic(
                    name="orders.failed",
                    purpose="Orders that nobody could handle.",
                    partitions=1,
                    keep=timedelta(days=14),
                    groups=("repairs",),
                    dead_letters=True,
                ),
            ),
        ),
        Bucket(
            name="shop-files-{env}",
            purpose="Invoices as PDF.",
            data=Data.PERSONAL,
            prefixes=(
                Prefix(path="invoices/{year}/", purpose="One folder per year."),
                Prefix(path="uploads/", purpose="What was not yet looked at.", expire=timedelta(days=7)),
                Prefix(path="exports/{day}.csv", purpose="One file per day.", expire=timedelta(days=30)),
            ),
            backups=BACKUPS,
        ),
        Bucket(
            name="shop-archive-{env}",
            purpose="Payments of former years.",
            data=Data.PERSONAL,
            locked=timedelta(days=365),
            prefixes=(
                Prefix(
                    path="archive/{table}/",
                    purpose="One folder per month.",
                    tiers={"GLACIER_IR": timedelta(days=0), "DEEP_ARCHIVE": timedelta(days=180)},
                ),
            ),
        ),
        DocumentDatabase(name="shop-documents-{env}", purpose="Reviews.", data=Data.PERSONAL, backups=BACKUPS),
        Registry(
            name="shop-registry-{env}",
            purpose="Where services are.",
            data=Data.OPERATIONAL,
            root="shop",
            services=(Service(name="invoices", port=8080, grpc_port=9090),),
        ),
    ),
)

ESTATE = Estate(
    name="shop",
    environments=(LIVE, DEV),
    policy=POLICY,
    stacks=(ORDERS, SESSIONS, NEWSLETTER, RETIRED, JOURNAL, STORES),
)


def alone(*stacks: Stack) -> Estate:
    """The shop with these stacks only."""
    return replace(ESTATE, stacks=stacks)
