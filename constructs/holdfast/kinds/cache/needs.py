"""What the rules ask of a cache, and where each answer is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.cfn.dig import dig
from holdfast.cfn.intrinsics import Reference
from holdfast.cfn.places import at
from holdfast.cfn.types import LOG_GROUP
from holdfast.kinds.base import Asked, Needs, StoreSubject
from holdfast.kinds.cache.declaration import Cache
from holdfast.kinds.cache.settings import DEFAULT_USER, LOGS, VERSION
from holdfast.kinds.cache.settings import PARAMETERS as SETTINGS
from holdfast.kinds.cache.types import CACHE, PARAMETERS
from holdfast.kinds.need import (
    Need,
    absent,
    admits,
    at_least,
    exactly,
    instances,
    logs_stay,
    met,
    needs,
    on,
    own_key,
    read_by,
    settings_in,
    several,
    some,
    worst,
)
from holdfast.model.facts import Guard
from holdfast.unknown import Unknown
from holdfast.verdict import PASS, Verdict, fail, unknown

Subject = StoreSubject[Cache]
ENCRYPTED = (
    Need("the cache is not encrypted at rest", "AtRestEncryptionEnabled", on, False),
    Need("the cache is not under the stack's key", "KmsKeyId", own_key),
)
TLS = (
    Need("traffic is not encrypted", "TransitEncryptionEnabled", on, False),
    Need("connections without TLS are taken", "TransitEncryptionMode", exactly("required"), "required"),
)
COPIES = absent("it is copied from or to elsewhere", "GlobalReplicationGroupId", "SnapshotArns", "SnapshotName")
ZONES = (
    Need("it does not fail over", "AutomaticFailoverEnabled", on, False),
    Need("it stands in one zone", "MultiAZEnabled", on, False),
    Need("it has too few nodes", "NumCacheClusters", lambda s, value: at_least(instances(s))(s, value), 1),
)
LOGGED = Need("the slow log goes nowhere", "LogDeliveryConfigurations", some)
TAKEN = Need(
    "its logs do not go to groups of the stack",
    "LogDeliveryConfigurations",
    lambda s, value: isinstance(value, list) and set(_delivered(s, value)) == {f"{word}-log" for word in LOGS},
)
FIXES = Need("minor versions are not taken", "AutoMinorVersionUpgrade", on, True)
EVICTED = Need(
    "maxmemory-policy is not volatile-ttl",
    "@CacheParameterGroupName.Properties.maxmemory-policy",
    exactly("volatile-ttl"),
)


def _delivered(s: StoreSubject[Any], configurations: list[Any]) -> Iterator[str]:
    for c in configurations:
        group = dig(s.stack, c, "DestinationDetails", "CloudWatchLogsDetails", "LogGroup")
        yield str(c.get("LogType")) if s.stack.is_a(group, LOG_GROUP) else "elsewhere"


def configured(s: Subject) -> Verdict:
    days = s.placed.by_tier(s.placed.policy.snapshot_days)
    wanted = [
        Need("it runs another engine", "Engine", exactly("valkey")),
        Need("its version gets no fixes", "EngineVersion", at_least(int(float(VERSION)))),
        *([Need("snapshots are off", "SnapshotRetentionLimit", at_least(days), 0)] if days else []),
    ]
    return worst([settings_in(s, ("@CacheParameterGroupName", "Properties"), SETTINGS), met(s, wanted)])


def access_list(s: Subject) -> Verdict:
    """The cache's users: applications with the declared access, a default user that can do nothing, and no others."""
    users = s.get("@UserGroupIds", "UserIds", default=[])
    if isinstance(users, Unknown):
        return unknown(f"its users cannot be read: {users.reason}")
    seen = [
        dig(s.stack, s.stack.template["Resources"].get(u.logical_id, {}), "Properties")
        for u in users
        if isinstance(u, Reference)
    ]
    if len(seen) < len(users) or not seen or not all(isinstance(u, dict) for u in seen):
        return fail("it has users that are not in the stack, or none")
    for user in seen:
        name, access = user.get("UserName"), str(user.get("AccessString"))
        if user.keys() & {"NoPasswordRequired", "Passwords"}:
            return fail(f"{name} has a password, or needs none")
        if name == "default":
            if "off" not in access.split() or not set(access.split()) <= {
                *DEFAULT_USER.split(),
                "resetkeys",
                "resetchannels",
            }:
                return fail("the default user can log in")
        elif access != s.store.access:
            return fail(f"{name} may do {access!r}, declared is {s.store.access!r}")
        elif dig(s.stack, user, "AuthenticationMode", "Type") != "iam":
            return fail(f"{name} does not log in with IAM")
    if not any(u.get("UserName") == "default" for u in seen):
        return fail("the group has no default user of its own, so ElastiCache's open one is in it")
    return PASS


NEEDS: Needs[Cache] = Needs(
    deletion_protection=None,
    recovery=None,
    expiry=None,  # every key family has a time to live, which the server enforces
    customer_key=Asked(
        needs({CACHE: ENCRYPTED}, guard=Guard.CUSTOMER_KEY), at(CACHE, "AtRestEncryptionEnabled", "KmsKeyId")
    ),
    tls=Asked(needs({CACHE: TLS}), at(CACHE, "TransitEncryptionEnabled", "TransitEncryptionMode")),
    private=Asked(needs({CACHE: COPIES}), read_by(CACHE, COPIES)),
    clients=None,  # its users are asked for one by one
    zones=Asked(
        several(needs({CACHE: ZONES})), at(CACHE, "AutomaticFailoverEnabled", "MultiAZEnabled", "NumCacheClusters")
    ),
    logs=Asked(needs({CACHE: (LOGGED,)}), at(CACHE, "LogDeliveryConfigurations")),
    logs_kept=Asked(logs_stay(TAKEN), ()),
    port=Asked(admits("SecurityGroupIds"), at(CACHE, "Port", "SecurityGroupIds")),
    fixes=Asked(needs({CACHE: (FIXES,)}), at(CACHE, "AutoMinorVersionUpgrade")),
    passwords=None,
    settings=Asked(
        configured,
        at(CACHE, "CacheParameterGroupName", "Engine", "EngineVersion", "SnapshotRetentionLimit")
        + at(PARAMETERS, "Properties"),
    ),
    jobs=None,
)
