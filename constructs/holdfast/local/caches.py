"""Caches keep their key, and their users how they log in, when CloudFormation makes them; ministack drops both."""

from __future__ import annotations

from typing import Any

from holdfast.local import private

Json = dict[str, Any]
LOGS_IN = {"no-password-required": "no-password"}  # a template's word, and the API's


def complete() -> None:
    api = private.module("ministack.services.elasticache")
    handlers = private.module("ministack.services.cloudformation.provisioners")._RESOURCE_HANDLERS

    def log_in(name: str, props: Json, old: Json) -> None:
        kind = (props.get("AuthenticationMode") or {}).get("Type")
        if kind and kind != "password":
            api._users[name]["Authentication"] = {"Type": LOGS_IN.get(kind, kind), "PasswordCount": 0}

    def encrypt(name: str, props: Json, old: Json) -> None:
        if props.get("KmsKeyId"):
            api._replication_groups[name]["KmsKeyId"] = props["KmsKeyId"]

    for kind, settle in (("AWS::ElastiCache::User", log_in), ("AWS::ElastiCache::ReplicationGroup", encrypt)):
        handlers[kind].update(private.settled(handlers[kind], settle))
    describe = api._rg_xml

    def with_key(group: Json) -> str:
        key = group.get("KmsKeyId")
        return f"{describe(group)}{f'<KmsKeyId>{key}</KmsKeyId>' if key else ''}"

    api._rg_xml = with_key
