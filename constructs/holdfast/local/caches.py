"""Caches keep their key, and their users how they log in, when CloudFormation makes them; ministack drops both."""

from __future__ import annotations

from typing import Any

from holdfast.local import private

Json = dict[str, Any]
LOGS_IN = {"no-password-required": "no-password"}  # a template's word, and the API's


def complete() -> None:
    api = private.module("ministack.services.elasticache")
    handlers = private.module("ministack.services.cloudformation.provisioners")._RESOURCE_HANDLERS

    def log_in(name: str, props: Json) -> None:
        kind = (props.get("AuthenticationMode") or {}).get("Type")
        if kind and kind != "password":
            api._users[name]["Authentication"] = {"Type": LOGS_IN.get(kind, kind), "PasswordCount": 0}

    def encrypt(name: str, props: Json) -> None:
        if props.get("KmsKeyId"):
            api._replication_groups[name]["KmsKeyId"] = props["KmsKeyId"]

    for kind, settle in (("AWS::ElastiCache::User", log_in), ("AWS::ElastiCache::ReplicationGroup", encrypt)):
        handlers[kind].update(settled(handlers[kind], settle))
    describe = api._rg_xml

    def with_key(group: Json) -> str:
        key = group.get("KmsKeyId")
        return f"{describe(group)}{f'<KmsKeyId>{key}</KmsKeyId>' if key else ''}"

    api._rg_xml = with_key


def settled(handler: Json, settle: Any) -> Json:
    """A handler that sets the rest after each create and update."""
    create_rest, update_rest = handler["create"], handler["update"]

    def create(logical_id: str, props: Json, stack: str) -> tuple[str, Json]:
        made: tuple[str, Json] = create_rest(logical_id, props, stack)
        settle(made[0], props)
        return made

    def update(physical: str, old: Json, new: Json, stack: str, logical_id: str | None = None) -> tuple[str, Json]:
        made: tuple[str, Json] = update_rest(physical, old, new, stack, logical_id)
        settle(made[0], new)
        return made

    return {"create": create, "update": update}
