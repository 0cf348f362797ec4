"""What applications may do with the stores of their system: the statements of the policy that they attach."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.estate.placement import Placed, places
from holdfast.kinds.broker.declaration import Broker
from holdfast.kinds.bucket.declaration import Bucket
from holdfast.kinds.cache.declaration import Cache
from holdfast.kinds.database.declaration import Database
from holdfast.kinds.registry.declaration import Registry
from holdfast.model.regions import partition, via
from holdfast.shared.key.policy import ACCOUNT


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One statement; ``why`` its resources are patterns, where they are."""

    sid: str
    actions: tuple[str, ...]
    resources: tuple[Any, ...]
    condition: Mapping[str, Any] | None = None
    why: str | None = None

    @property
    def statement(self) -> dict[str, Any]:
        said = {"Sid": self.sid, "Effect": "Allow", "Action": list(self.actions), "Resource": list(self.resources)}
        return said | ({"Condition": self.condition} if self.condition else {})


def policy_name(placed: Placed) -> str:
    """IAM knows no regions, so in any but the first the name says which."""
    first = places(placed.stack, placed.env)[0].region
    elsewhere = f"-{placed.region}" if placed.region != first else ""
    name = placed.stack.applications or f"{placed.stack.system}-applications-{{env}}"
    return f"{placed.fill(name)}{elsewhere}"


def database_user(placed: Placed, store: Database, resource_id: Any) -> Any:
    """How IAM names the applications' role, in a database or at the pool before it."""
    return _arn(placed, "rds-db", "dbuser:", resource_id, f"/{store.role}")


def of_database(placed: Placed, store: Database, resource_id: Any) -> list[Use]:
    """Log in, at the pool where there is one, and read the figures that applications set themselves."""
    user = database_user(placed, store, resource_id)
    uses = [Use(sid=f"{store.id}LogIn", actions=("rds-db:connect",), resources=(user,))]
    if store.pool:
        folder = f"parameter/{placed.fill(store.name)}/pool"
        figures = tuple(_arn(placed, "ssm", f"{folder}/{setting}") for setting in store.pool.settings)
        actions = ("ssm:GetParameter", "ssm:GetParameters")
        uses.append(Use(sid=f"{store.id}Figures", actions=actions, resources=figures))
    return uses


def of_cache(placed: Placed, store: Cache) -> list[Use]:
    """Log in as the one user that is not off; what that one may do is its access string's affair."""
    name = placed.fill(store.name)
    both = tuple(_arn(placed, "elasticache", f"{kind}:{name}") for kind in ("replicationgroup", "user"))
    return [Use(sid=f"{store.id}LogIn", actions=("elasticache:Connect",), resources=both)]


def of_broker(placed: Placed, store: Broker, cluster: Any) -> list[Use]:
    """The declared topics and consumer groups; nobody makes, changes or deletes one."""
    unique = {"Fn::Select": [2, {"Fn::Split": ["/", cluster]}]}  # arn:aws:kafka:<region>:<account>:cluster/<name>/<id>

    def named(kind: str, names: Iterable[str]) -> tuple[Any, ...]:
        folder = f"{kind}/{placed.fill(store.name)}/"
        return tuple(_arn(placed, "kafka", folder, unique, f"/{name}") for name in names)

    topics = named("topic", (placed.topic(store, t) for t in store.topics))
    groups = named("group", dict.fromkeys(g for t in store.topics for g in t.groups))
    may = "kafka-cluster:"
    return [
        Use(sid=f"{store.id}LogIn", actions=(f"{may}Connect", f"{may}WriteDataIdempotently"), resources=(cluster,)),
        Use(
            sid=f"{store.id}Topics",
            actions=(f"{may}DescribeTopic", f"{may}ReadData", f"{may}WriteData"),
            resources=topics,
        ),
        Use(sid=f"{store.id}Groups", actions=(f"{may}AlterGroup", f"{may}DescribeGroup"), resources=groups),
    ]


def of_bucket(placed: Placed, store: Bucket, arn: Any, key: Any) -> list[Use]:
    """Objects below the declared prefixes, through the stack's key."""
    below = [f"{p.folder}*" for p in store.prefixes]
    return [
        Use(
            sid=f"{store.id}Objects",
            actions=("s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"),
            resources=tuple({"Fn::Join": ["", [arn, f"/{name}"]]} for name in below),
            why="the objects of one declared prefix, whose names applications choose",
        ),
        Use(
            sid=f"{store.id}List",
            actions=("s3:ListBucket",),
            resources=(arn,),
            condition={"StringLike": {"s3:prefix": below}},
        ),
        Use(
            sid=f"{store.id}Key",
            actions=("kms:Decrypt", "kms:GenerateDataKey"),
            resources=(key,),
            condition={"StringEquals": {"kms:ViaService": via(placed.region, "s3")}},
        ),
    ]


def of_registry(placed: Placed, store: Registry) -> list[Use]:
    """Settings below the registry's root, and where its services are."""
    return [
        Use(
            sid=f"{store.id}Settings",
            actions=("ssm:GetParameter", "ssm:GetParameters", "ssm:GetParametersByPath"),
            resources=(_arn(placed, "ssm", f"parameter/{store.root}/*"),),
            why="the settings below one root, which belongs to the registry alone",
        ),
        Use(
            sid=f"{store.id}Services",
            actions=("servicediscovery:DiscoverInstances",),
            resources=("*",),
            condition={"StringEquals": {"servicediscovery:NamespaceName": store.domain}},
            why="DiscoverInstances knows no resource; a condition names the one namespace",
        ),
    ]


def _arn(placed: Placed, service: str, name: str, *more: Any) -> Any:
    start = f"arn:{partition(placed.region)}:{service}:{placed.region}:"
    return {"Fn::Join": ["", [start, ACCOUNT, f":{name}", *more]]}
