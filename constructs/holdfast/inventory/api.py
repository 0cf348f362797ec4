"""What an estate imports, and how each of it is written: docs/api.md is made from this, and a test runs every line."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType

import holdfast

EXAMPLES = {
    "DEMANDS": "Policy(demands=(*DEMANDS, Demand(guards=Guard.RETAIN, lifetime=Durable)))",
    "TAGS": 'Policy(tags=TAGS | {"CostCenter": TagSource.STACK})',
    "Access": 'Access(name="orders-app-{env}", table="orders-{env}", actions=("GetItem", "PutItem"))',
    "Aspect": 'Environment("dev", Tier.TEST, "eu-west-1", differs=(Aspect.BILLING,))',
    "Assumed": 'Assumed(Fact.KEY_TYPES, "the source gives names and no types")',
    "Attribute": 'key(Attribute("checksum", AttributeType.BINARY))',
    "Data": "Data.PERSONAL",
    "DeclarationError": 'DeclarationError("stack Shop: two tables are called orders; rename or drop one")',
    "Demand": "Policy(demands=(Demand(guards=Guard.RETAIN, lifetime=Durable),))",
    "Durable": 'Durable(ttl="expiresAt")',
    "Encryption": "Encryption.AWS_MANAGED",
    "Entity": 'Entity(type="ORDER", table="orders-{env}", items=(Item({"PK": "ORDER#{orderId}"}),))',
    "Environment": 'Environment("staging", Tier.TEST, "eu-west-1", account="111122223333")',
    "Estate": 'Estate(name="shop", environments=(Environment("live", Tier.PROD, "eu-west-1"),), stacks=())',
    "ExternalKey": 'ExternalKey(arn="arn:aws:kms:{region}:{account}:key/1234abcd-12ab-34cd-56ef-1234567890ab")',
    "Extra": 'Extra({"TableClass": "STANDARD_INFREQUENT_ACCESS"}, reason="read once a year")',
    "Fact": "Fact.EXPIRY",
    "Governance": "State(governance=Governance.ORPHAN)",
    "Guard": "Guard.RETAIN | Guard.PITR",
    "Inferred": 'Inferred("a UUID is a String", 39)',
    "Item": 'Item({"PK": "USER#{userId}", "SK": "METADATA"})',
    "AttributeType": "AttributeType.NUMBER",
    "Match": "Match.PREFIX",
    "Naming": 'Naming(begins="shop-", existing=("orders-{env}",), reason="roles match the prefix")',
    "Owner": 'Owner(name="shop-team", tell=("mailto:shop@example.com",))',
    "Pattern": 'Pattern(id="P1", purpose="One order.", table="orders-{env}", partition="ORDER#{orderId}")',
    "Place": 'Environment("live", Tier.PROD, "eu-west-1", also=(Place("us-east-1"),))',
    "Policy": "Policy(recovery_days=14)",
    "Processor": 'Processor(name="mailer-{env}", table="orders-{env}", code="functions/mailer")',
    "Projection": 'gsi("status", projection=Projection.KEYS_ONLY)',
    "Provisioned": "Provisioned(read=5, write=5)",
    "Relation": 'Relation(table="orders", attribute="customerId", to_table="customers", to_attribute="id")',
    "SharedKey": 'SharedKey(stack="Keys-{env}")',
    "Sighting": "Sighting(on=date(2026, 4, 23), items=401)",
    "Sizes": 'Policy(sizes=Sizes(database={Tier.PROD: "db.r7g.xlarge", Tier.TEST: "db.t4g.small"}))',
    "Stack": 'Stack(id="Orders-{env}", system="shop", owner="orders-team", tables=())',
    "StackKey": "Policy(key=StackKey())",
    "State": 'State(usage=Usage.LEGACY, replaced_by="orders-{env}")',
    "Stream": 'Stream(view=View.NEW_AND_OLD_IMAGES, consumer="mailer-{env}")',
    "Table": (
        'Table(name="orders-{env}", purpose="Orders.", key=key("orderId"), lifetime=Durable(), data=Data.PERSONAL)'
    ),
    "TagSource": "TagSource.DATA_CLASS",
    "Thresholds": "Policy(thresholds=Thresholds(latency_ms=200))",
    "Tier": "Tier.PROD",
    "Transaction": 'Transaction(id="T1", purpose="Both or none.", table="orders-{env}", entities=("ORDER", "MAIL"))',
    "Transient": 'Transient(ttl="expiresAt")',
    "Usage": "State(usage=Usage.DEAD)",
    "View": "View.KEYS_ONLY",
    "Waiver": (
        'Waiver(rule="HF205", environment=Environment("live", Tier.PROD, "eu-west-1"), reason="alarms follow", '
        'owner="ops", expires=date(2027, 1, 31))'
    ),
    "gsi": 'gsi("status", number("placedAt"), include=("total",))',
    "key": 'key("customerId", "orderId")',
    "lsi": 'lsi("createdAt")',
    "number": 'number("placedAt")',
    "Backups": 'Backups(schedules={"daily": "cron(0 2 * * ? *)"}, keep=timedelta(days=35))',
    "Broker": 'Broker(name="events-{env}", purpose="News.", data=Data.PERSONAL, prefix="shop", topics=(TOPIC,))',
    "Bucket": 'Bucket(name="files-{env}", purpose="Invoices.", data=Data.PERSONAL, prefixes=())',
    "Cache": 'Cache(name="cache-{env}", purpose="Prices.", data=Data.OPERATIONAL, families=(FAMILY,))',
    "Database": (
        'Database(name="shop-{env}", purpose="Customers.", schema="shop", data=Data.PERSONAL, '
        'backups=Backups(schedules={"daily": "cron(0 2 * * ? *)"}, keep=timedelta(days=35)))'
    ),
    "DocumentDatabase": (
        'DocumentDatabase(name="docs-{env}", purpose="Reviews.", data=Data.PERSONAL, '
        'backups=Backups(schedules={"daily": "cron(0 2 * * ? *)"}, keep=timedelta(days=35)))'
    ),
    "Engine": "Engine.AURORA",
    "KeyFamily": 'KeyFamily(pattern="price:{sku}", ttl=timedelta(minutes=5), purpose="One price.")',
    "Pool": "Pool(max_open=50, max_idle=5, max_lifetime=timedelta(hours=1))",
    "Prefix": 'Prefix(path="invoices/{year}/", purpose="One folder per year.")',
    "Registry": (
        'Registry(name="registry-{env}", purpose="Where services are.", data=Data.OPERATIONAL, root="shop", '
        'services=(Service(name="invoices", port=8080, grpc_port=9090),))'
    ),
    "Service": 'Service(name="invoices", port=8080, grpc_port=9090)',
    "Topic": 'Topic(name="orders", purpose="New orders.", partitions=3, keep=timedelta(days=7), groups=("invoices",))',
    "RowUpkeep": 'RowUpkeep(tables=("payment",))',
    "Upkeep": 'Upkeep(partitioned=("payment",), archive="archive-{env}")',
}
CONSTANTS = {
    "DEMANDS": "What a policy demands unless it says otherwise.",
    "TAGS": "The tags that a policy requires unless it says otherwise.",
}
MODULES: tuple[ModuleType, ...] = (holdfast,)


def page() -> str:
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# What an estate imports\n"
    yield "Everything else is private and may change. `holdfast.cdk` has `app`, `GuardedTable`, `TableStack` and"
    yield "`HoldfastChecks` for CDK apps. Dates and spans are `datetime.date` and `datetime.timedelta`."
    for module in MODULES:
        yield f"\n## from {module.__name__} import …\n"
        for name in module.__all__:
            yield f"### {name}\n"
            yield f"{said(getattr(module, name), name)}\n"
            yield f"```python\n{EXAMPLES[name]}\n```\n"


def said(found: object, name: str) -> str:
    """The first paragraph of its docstring."""
    text = CONSTANTS.get(name) or inspect.getdoc(found) or name
    return " ".join(text.split("\n\n")[0].split())
