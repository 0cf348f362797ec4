"""What the rules ask of a registry, and where each answer is read."""

from __future__ import annotations

from holdfast.cfn.dig import dig
from holdfast.cfn.intrinsics import Reference
from holdfast.cfn.places import at
from holdfast.cfn.types import PARAMETER, VPC
from holdfast.kinds.base import Asked, Needs, StoreSubject
from holdfast.kinds.need import Need, exactly, met, own, parameters, worst
from holdfast.kinds.registry.declaration import Registry
from holdfast.kinds.registry.settings import DNS
from holdfast.kinds.registry.types import NAMESPACE, SERVICE
from holdfast.verdict import Verdict, fail

Subject = StoreSubject[Registry]


def registered(s: Subject) -> Verdict:
    """Every declared service can be found, with its configuration, and no other."""
    services = {service.name: service for service in s.store.services}
    seen: dict[str, str] = {}
    verdicts = [met(s, [Need("its names are known in another network", "Vpc", own(VPC))])]
    for logical_id, r in s.stack.possible(SERVICE):
        name = str(dig(s.stack, r, "Properties", "Name"))
        if name not in services or name in seen:
            verdicts.append(fail(f"{name} is declared nowhere, or twice"))
        seen[name] = logical_id
    for name, service in services.items():
        if name not in seen:
            verdicts.append(fail(f"{name} is missing"))
            continue
        wanted = [
            Need(f"{name} is in another namespace", "NamespaceId", exactly(Reference(s.logical_id))),
            Need(f"{name} is found in another way, or believed for too long", "DnsConfig", exactly(DNS)),
        ]
        verdicts += [met(s.part(seen[name]), wanted), parameters(s, s.store.parameters(service))]
    return worst(verdicts)


NEEDS: Needs[Registry] = Needs(
    deletion_protection=None,
    recovery=None,
    expiry=None,
    customer_key=None,
    tls=None,
    private=None,
    clients=None,
    zones=None,
    logs=None,
    logs_kept=None,
    port=None,
    fixes=None,
    passwords=None,
    settings=None,
    jobs=Asked(
        registered,
        at(SERVICE, "Type", "DnsConfig", "Name", "NamespaceId")
        + at(NAMESPACE, "Vpc")
        + at(PARAMETER, "Type", "Name", "Value"),
    ),
)
