"""The resource types of a stack: those that the constructs make, and the services that hold data."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.cfn.template import StackSeen
from holdfast.kinds.kinds import IDENTITY, MADE
from holdfast.kinds.table.observed import GLOBAL_TABLE, TABLE
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.estate import HOLDERS
from holdfast.rules.resources import SUBSCRIPTION
from holdfast.rules.subjects import Resource
from holdfast.verdict import PASS, Verdict, fail

# Where data can be: any other type of these services holds some that is not declared, or hands some out.
HOLDING = frozenset(
    [
        "Backup",
        "Cassandra",
        "DAX",
        "DocDB",
        "DocDBElastic",
        "DSQL",
        "EFS",
        "ElastiCache",
        "FSx",
        "MemoryDB",
        "MSK",
        "Neptune",
        "NeptuneGraph",
        "OpenSearchServerless",
        "OpenSearchService",
        "QLDB",
        "RDS",
        "Redshift",
        "RedshiftServerless",
        "S3",
        "S3Express",
        "S3ObjectLambda",
        "S3Outposts",
        "S3Tables",
        "ServiceDiscovery",
        "Timestream",
    ]
)
# What the constructs make beside the stores themselves.
OF_TABLES = frozenset(
    {
        TABLE,
        "AWS::CDK::Metadata",
        "AWS::CloudWatch::Alarm",
        "AWS::CloudWatch::Dashboard",
        "AWS::IAM::ManagedPolicy",
        "AWS::IAM::Role",
        "AWS::KMS::Alias",
        "AWS::KMS::Key",
        "AWS::Lambda::EventSourceMapping",
        "AWS::Lambda::Function",
        "AWS::Logs::LogGroup",
        "AWS::SNS::Topic",
        "AWS::SNS::TopicPolicy",
        "AWS::SQS::Queue",
        "AWS::SQS::QueuePolicy",
    }
)
# What the network, the backups and the functions of stores need beside them.
OF_STORES = (
    OF_TABLES
    | MADE
    | {
        "AWS::Backup::BackupPlan",
        "AWS::Backup::BackupSelection",
        "AWS::Backup::BackupVault",
        "AWS::EC2::FlowLog",
        "AWS::EC2::RouteTable",
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::SecurityGroupEgress",
        "AWS::EC2::SecurityGroupIngress",
        "AWS::EC2::Subnet",
        "AWS::EC2::SubnetRouteTableAssociation",
        "AWS::EC2::VPC",
        "AWS::EC2::VPCEndpoint",
        "Custom::VpcRestrictDefaultSG",
    }
)


def foreign_types(stack: StackSeen) -> Iterator[str]:
    """The logical ids of whatever may hold data and is of a type that no construct makes."""
    for kind, ids in stack.possible_by_type.items():
        if kind not in OF_STORES and kind.startswith("AWS::") and kind.split("::")[1] in HOLDING:
            yield from ids


def known_type(r: Resource) -> Verdict:
    """Whether a construct makes such a thing, or the stack says why it is there."""
    made = OF_STORES if r.placed.stores else OF_TABLES
    told = r.type == SUBSCRIPTION and bool(r.placed.tell)
    if told or r.type in made or r.type in r.placed.stack.extras or r.type in HOLDERS or holds_data(r.type):
        return PASS
    return fail(f"no construct makes an {r.type}, and the stack does not say why it is there")


def holds_data(kind: str) -> bool:
    """Whether it is a store, which is told by its name where it is not declared."""
    service = kind.split("::")[1] if kind.startswith("AWS::") else ""
    return kind in (*IDENTITY, TABLE, GLOBAL_TABLE) or (service in HOLDING and kind not in OF_STORES)


WAYS = Rule(
    id="HF505",
    forbids=True,
    title="Stacks hold only resource types that the constructs make",
    why="A custom resource, a gateway, a pipe, a schedule, an access key or a snapshot beside the data reaches, copies or deletes "
    "it past everything that guards it, and a list of what is dangerous never ends.",
    remediation="Remove it from {stack}; where it is meant, declare its type with the reason in extras= of the stack.",
    severity=Severity.CRITICAL,
    paths=("* Type",),
    checks=(Check(Resource, known_type),),
)
RULES = (WAYS,)
