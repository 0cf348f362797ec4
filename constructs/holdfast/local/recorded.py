"""Resources that nothing stands behind: kept with their properties, so that a stack deploys, and named as such."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from holdfast.local import private
from holdfast.local.tables import call

Json = dict[str, Any]

TYPE = re.compile(r"AWS::\w+::\w+|Custom::[\w@-]+")
# Run by a function on AWS. Here its answer is not waited for: it is as if it had said SUCCESS.
CUSTOM = "AWS::CloudFormation::CustomResource"
NAMES = re.compile(r"(Name|Identifier|Id)$")


class Attributes(dict[str, Any]):
    """What Fn::GetAtt may ask of a recorded resource: any attribute, each with a plausible value that stays."""

    def __init__(self, physical: str, arn: str, known: Json) -> None:
        super().__init__(known)
        self._physical, self._arn = physical, arn

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name != ""

    def __missing__(self, name: str) -> str:
        self[name] = plausible(name, self._physical, self._arn)
        return str(self[name])

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401

    def __deepcopy__(self, memo: object) -> Attributes:
        return Attributes(self._physical, self._arn, dict(self))


def plausible(attribute: str, physical: str, arn: str) -> str:
    if attribute.endswith("Arn"):
        return arn
    if attribute.endswith("Port"):
        return "65535"
    if "Endpoint" in attribute or attribute.endswith(("Address", "DomainName", "HostName")):
        return f"{re.sub(r'[^a-z0-9-]+', '-', physical.lower())}.recorded.invalid"
    return physical


class Handlers(dict[str, Json]):
    """Ministack's registry, where every other type has a handler that only records."""

    def __contains__(self, kind: object) -> bool:
        return super().__contains__(kind) or (isinstance(kind, str) and TYPE.fullmatch(kind) is not None)

    def __missing__(self, kind: str) -> Json:
        if not TYPE.fullmatch(kind):
            raise KeyError(kind)
        return _handler(kind)

    def get(self, kind: str, default: Any = None) -> Any:
        return self[kind] if kind in self else default  # noqa: SIM401

    def emulates(self, kind: str) -> bool:
        return super().__contains__(kind) and kind != CUSTOM


def complete() -> None:
    """Every resource type can be deployed; those of Backup that ministack has an API for go there."""
    engine = private.module("ministack.services.cloudformation.provisioners")
    handlers = Handlers(engine._RESOURCE_HANDLERS)
    handlers[CUSTOM] = _handler(CUSTOM)
    _complete_backup(handlers)
    engine._RESOURCE_HANDLERS = handlers
    private.module("ministack.services.cloudformation.changesets")._RESOURCE_HANDLERS = handlers
    formation = private.module("ministack.services.cloudformation")
    load = formation.load_persisted_state

    def load_and_wrap(data: Json) -> None:
        load(data)
        for _, _, resource in _resources(formation):
            kind, physical = resource.get("ResourceType", ""), resource.get("PhysicalResourceId", "")
            if not handlers.emulates(kind):
                known = dict(resource.get("Attributes") or {})
                resource["Attributes"] = Attributes(physical, str(known.get("Arn", physical)), known)

    formation.load_persisted_state = load_and_wrap


def listed() -> list[Json]:
    """Every recorded resource, with the stack that it belongs to."""
    handlers = private.module("ministack.services.cloudformation.provisioners")._RESOURCE_HANDLERS
    formation = private.module("ministack.services.cloudformation")
    return [
        {"region": region, "stack": stack, "type": resource["ResourceType"], "id": resource["PhysicalResourceId"]}
        for region, stack, resource in _resources(formation)
        if not handlers.emulates(resource.get("ResourceType", "")) and "PhysicalResourceId" in resource
    ]


def _resources(formation: Any) -> Iterator[tuple[str, str, Json]]:
    for (_, region, _), stack in formation._stacks.all_items():
        if stack.get("StackStatus") != "DELETE_COMPLETE":
            for resource in (stack.get("_resources") or {}).values():
                yield region, stack["StackName"], resource


def _handler(kind: str) -> Json:
    engine = private.module("ministack.services.cloudformation.provisioners")
    scope = private.module("ministack.core.responses")

    def attributes(physical: str) -> Attributes:
        service = kind.split("::")[1].lower() if kind.startswith("AWS") else "cloudformation"
        noun = kind.split("::")[-1].lower()
        between = ":" if service == "rds" else "/"  # as RDS itself writes it: templates take the id from behind it
        arn = f"arn:aws:{service}:{scope.get_region()}:{scope.get_account_id()}:{noun}{between}{physical}"
        return Attributes(physical, arn, {"Arn": arn})

    def create(logical_id: str, props: Json, stack: str) -> tuple[str, Attributes]:
        noun = kind.split("::")[-1]
        named = (v for k, v in props.items() if NAMES.search(k) and NAMES.sub("", k) in ("", noun))
        own = next((v for v in named if isinstance(v, str) and v), None) if kind.startswith("AWS::") else None
        physical = own or engine._physical_name(stack, logical_id)
        return physical, attributes(physical)

    return {
        "create": create,
        "update": lambda physical, old, new, stack: (physical, attributes(physical)),
        "delete": lambda physical, props: None,
    }


def _complete_backup(handlers: Handlers) -> None:
    api = private.module("ministack.services.backup")

    def select(logical_id: str, props: Json, stack: str) -> tuple[str, Json]:
        made = call(api._create_selection, props["BackupPlanId"], {"BackupSelection": props["BackupSelection"]})
        known = {"SelectionId": made["SelectionId"], "BackupPlanId": props["BackupPlanId"]}
        return made["SelectionId"], {**known, "Id": f"{made['SelectionId']}_{props['BackupPlanId']}"}

    def lock(name: str, props: Json, old: Json) -> None:
        days = props.get("LockConfiguration") or {}
        kept = {k: int(days[k]) for k in ("MinRetentionDays", "MaxRetentionDays") if k in days}
        api._vaults[name].update({"Locked": bool(kept), "MinRetentionDays": None, "MaxRetentionDays": None} | kept)

    vault = handlers["AWS::Backup::BackupVault"]
    handlers["AWS::Backup::BackupVault"] = {**vault, **private.settled(vault, lock)}
    handlers["AWS::Backup::BackupSelection"] = {
        "create": select,
        "delete": lambda physical, props: api._delete_selection(props["BackupPlanId"], physical),
    }
