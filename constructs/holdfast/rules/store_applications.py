"""What applications may do with the stores of their system: the policy that they attach is the declared one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from holdfast import applications
from holdfast.applications import Use
from holdfast.catalog import Placed
from holdfast.intrinsics import Reference
from holdfast.rules.base import EXEMPT, Verdict, fail
from holdfast.rules.protection import same_policy
from holdfast.rules.store_checks import pools_of
from holdfast.rules.store_subject import CLUSTER, KEY, StoreSubject, dig, find
from holdfast.stores import Broker, Bucket, Cache, Database, Registry
from holdfast.template import StackSeen

POLICY = "AWS::IAM::ManagedPolicy"


def used_as_declared(stack: StackSeen, placed: Placed) -> Verdict:
    """Whether the applications' policy has the statements of the declared stores, and no other."""
    uses: list[Use] = []
    archives = {s.upkeep.archive for s in placed.stores if isinstance(s, Database) and s.upkeep}
    for store in placed.stores:
        if store.name in archives:
            continue  # the functions' own
        found = find(stack, placed, store)
        subject = StoreSubject(placed, store, placed.required(store), stack, found) if isinstance(found, str) else None
        if subject is None and isinstance(store, Database | Bucket | Broker):
            return EXEMPT  # without it nobody knows what its statements say; that it is gone is another rule's finding
        uses += _of(subject, placed, store) if subject else _of_names(placed, store)
    if not uses:
        return EXEMPT
    name = applications.policy_name(placed)
    policies = [r for _, r in stack.possible(POLICY) if dig(stack, r, "Properties", "ManagedPolicyName") == name]
    if len(policies) != 1:
        return fail(f"there are {len(policies) or 'no'} policies {name}, declared is one")
    seen = policies[0].get("Properties", {}).get("PolicyDocument", {})
    return same_policy(seen, {"Statement": [u.statement for u in uses]}, f"the policy {name}")


def _of(s: StoreSubject, placed: Placed, store: Any) -> Iterable[Use]:
    arn = {"Fn::GetAtt": [s.logical_id, "Arn"]}
    match store:
        case Database():
            return applications.of_database(placed, store, _door(s, store))
        case Bucket():
            key = next((i for i, _ in s.stack.resources(KEY)), "")
            return applications.of_bucket(placed, store, arn, {"Fn::GetAtt": [key, "Arn"]})
        case Broker():
            return applications.of_broker(placed, store, arn)
    return _of_names(placed, store)


def _of_names(placed: Placed, store: Any) -> Iterable[Use]:
    match store:
        case Cache():
            return applications.of_cache(placed, store)
        case Registry():
            return applications.of_registry(placed, store)
    return ()


def _door(s: StoreSubject, store: Database) -> Any:
    """By what IAM knows where applications log in: the pool, or else the database itself."""
    if store.pool is None:
        return {"Fn::GetAtt": [s.logical_id, "DBClusterResourceId" if s.type == CLUSTER else "DbiResourceId"]}
    proxies = [dig(s.stack, s.part(i).resource, "Properties", "DBProxyName") for i in pools_of(s)]
    proxy = next((p.logical_id for p in proxies if isinstance(p, Reference)), "")
    return {"Fn::Select": [6, {"Fn::Split": [":", {"Fn::GetAtt": [proxy, "DBProxyArn"]}]}]}
