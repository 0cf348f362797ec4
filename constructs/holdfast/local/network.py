"""Rules of security groups that stand beside their group in a template; ministack knows only those inside."""

from __future__ import annotations

from typing import Any

from holdfast.local import private

Json = dict[str, Any]


def complete() -> None:
    engine = private.module("ministack.services.cloudformation.provisioners")
    groups = private.module("ministack.services.ec2")._security_groups

    def rules(props: Json, listed: str) -> list[Json]:
        group: Json = groups.get(props["GroupId"]) or {}
        found: list[Json] = group.setdefault(listed, [])
        return found

    def handler(listed: str) -> Json:
        def create(logical_id: str, props: Json, stack: str) -> tuple[str, Json]:
            rules(props, listed).extend(engine._ec2_sg_permissions([props]))
            physical = engine._physical_name(stack, logical_id)
            return physical, {"Id": physical}

        def delete(physical: str, props: Json) -> None:
            kept = engine._ec2_sg_permissions([props])
            own = rules(props, listed)
            own[:] = [rule for rule in own if rule not in kept]

        def update(physical: str, old: Json, new: Json, stack: str) -> tuple[str, Json]:
            delete(physical, old)
            rules(new, listed).extend(engine._ec2_sg_permissions([new]))
            return physical, {"Id": physical}

        return {"create": create, "update": update, "delete": delete}

    engine._RESOURCE_HANDLERS["AWS::EC2::SecurityGroupIngress"] = handler("IpPermissions")
    engine._RESOURCE_HANDLERS["AWS::EC2::SecurityGroupEgress"] = handler("IpPermissionsEgress")
