"""A company with three environments in three accounts, production in two regions, and conventions of its own."""

from holdfast import (
    Data,
    Durable,
    Environment,
    Estate,
    ExternalKey,
    Extra,
    Naming,
    Owner,
    Place,
    Policy,
    Provisioned,
    Stack,
    Stream,
    Table,
    TagSource,
    Thresholds,
    Tier,
    Transient,
    View,
    gsi,
    key,
    lsi,
    number,
)

DEV = Environment("dev", Tier.TEST, "eu-central-1", account="111111111111")
STAGING = Environment("staging", Tier.TEST, "eu-west-1", account="222222222222")
PROD = Environment("prod", Tier.PROD, "eu-west-1", account="333333333333", also=(Place("us-east-1", "333333333333"),))

BILLING = Stack(
    id="Billing-{env}",
    system="billing",
    owner="billing",
    tags={"acme:cost-center": "4711"},
    tables=(
        Table(
            name="acme-invoices-{env}",
            purpose="Invoices.",
            key=key("customerId", "invoiceId"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            billing=Provisioned(read=5, write=5),
            indexes=(gsi("status", number("dueOn"), include=("total", "currency")),),
            local_indexes=(lsi("paidOn"),),
            stream=Stream(view=View.KEYS_ONLY, consumer="reminders"),
            recovery_days=20,
            extra=Extra({"TableClass": "STANDARD_INFREQUENT_ACCESS"}, reason="read once a month"),
        ),
        Table(
            name="acme-drafts-{env}",
            purpose="Invoices that nobody has sent yet.",
            key=key("draftId"),
            lifetime=Transient(ttl="expiresAt"),
            data=Data.PERSONAL,
        ),
    ),
)
LEDGER = Stack(
    id="Ledger-{env}-{account}",
    system="ledger",
    owner="finance",
    environments=(PROD,),
    region="eu-west-1",
    key=ExternalKey(arn="arn:aws:kms:eu-west-1:333333333333:key/11111111-2222-3333-4444-555555555555"),
    tags={"acme:cost-center": "4712"},
    tables=(
        Table(
            name="ledger-{account}",
            purpose="Every booking, by law for ten years.",
            key=key("account", "bookedAt"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            logical_id="LedgerTable",
        ),
    ),
)
ESTATE = Estate(
    name="acme",
    environments=(DEV, STAGING, PROD),
    owners=(
        Owner(name="billing", tell=("https://alarms.acme.example/billing",)),
        Owner(name="finance", tell=("mailto:finance@acme.example",)),
    ),
    policy=Policy(
        recovery_days=14,
        thresholds=Thresholds(latency_ms=100),
        tags={
            "acme:stage": TagSource.ENVIRONMENT,
            "acme:team": TagSource.OWNER,
            "acme:system": TagSource.SYSTEM,
            "acme:data-classification": TagSource.DATA_CLASS,
            "acme:retention": TagSource.LIFETIME,
            "acme:cost-center": TagSource.STACK,
        },
        naming=(Naming(begins="acme-", existing=("ledger-{account}",), reason="roles match the prefix"),),
    ),
    stacks=(BILLING, LEDGER),
)
