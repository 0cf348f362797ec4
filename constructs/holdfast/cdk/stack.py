"""One declared stack in one environment."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from constructs import Construct

from holdfast.contract.tags import PRODUCTION
from holdfast.estate.placement import Placed
from holdfast.kinds.dashboard import dashboard
from holdfast.kinds.kinds import KINDS, kind_of
from holdfast.kinds.table.alarms import table_alarms
from holdfast.kinds.table.construct.stream import StreamProcessor, application_policy
from holdfast.kinds.table.construct.table import GuardedTable
from holdfast.model.environment import Tier
from holdfast.shared.alarms.construct import add_alarms, add_dashboard, alarm_topic
from holdfast.shared.key.construct import stack_key
from holdfast.shared.key.policy import needs_key


class TableStack(cdk.Stack):
    """Never subclassed: what differs between stacks is data. Its files are found below ``root``."""

    def __init__(self, scope: Construct, placed: Placed, root: Path) -> None:
        super().__init__(
            scope,
            placed.id,
            stack_name=placed.name,
            env=cdk.Environment(account=placed.account, region=placed.region),
            termination_protection=placed.termination_protected,
            tags=placed.tags,
            synthesizer=cdk.DefaultStackSynthesizer(generate_bootstrap_version_rule=False),
        )
        if said := _said(placed):
            self.template_options.metadata = {"Holdfast": said}
        tags = cdk.Tags.of(self)
        for name, value in placed.tags.items():
            tags.add(name, value)
        key = stack_key(self, placed) if needs_key(placed) else None
        topic = alarm_topic(self, placed, key) if key and placed.alarmed else None
        self.tables = {table.name: GuardedTable(self, table, placed, key) for table in placed.tables}
        if key and topic:
            for table in placed.watched:
                alarms = table_alarms(table, placed.fill(table.name), placed.policy.thresholds)
                add_alarms(self.tables[table.name], alarms, placed, topic)
            for processor in placed.stack.processors:
                table_of = self.tables[processor.table].table
                StreamProcessor(self, processor, placed, root, table_of, key=key, topic=topic)
        for access in placed.stack.access:
            application_policy(self, access, placed, self.tables[access.table])
        if key and placed.stores:
            add_stores(self, placed, root, key, topic)
        if page := dashboard(placed):
            add_dashboard(self, placed, page)

    @property
    def availability_zones(self) -> list[str]:
        """As AWS names them when it is deployed: where an account is declared, CDK itself would look them up now."""
        return [cdk.Fn.select(number, cdk.Fn.get_azs()) for number in range(2)]


def add_stores(scope: Construct, placed: Placed, root: Path, key: kms.IKey, topic: str | None) -> None:
    from holdfast.shared.applications.construct import application_policy  # a stack of tables needs none of these
    from holdfast.shared.construct.context import StoreContext

    context = StoreContext(scope=scope, placed=placed, root=root, key=key, topic=topic)
    in_order = sorted(placed.stores, key=lambda s: KINDS.index(kind_of(s)))
    uses = {store.name: list(kind_of(store).construct(context, store)) for store in in_order}
    if any(uses.values()):
        application_policy(scope, placed, (use for store in placed.stores for use in uses[store.name]))


def _said(placed: Placed) -> dict[str, object]:
    """What comparisons of contracts, which know no estate, have to be told of its names."""
    renamed, label, tagged = placed.policy.renamed_tags, placed.env.label, placed.environment_name
    said: dict[str, object] = {"Tags": renamed} if renamed else {}
    if tagged != label:
        said["Environment"] = label
    if placed.env.tier is Tier.PROD and tagged not in PRODUCTION:
        said["Production"] = tagged
    return said
