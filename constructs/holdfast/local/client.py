"""Requests to the emulator, with the standard library only. Nothing is signed: real AWS would refuse every one."""

from __future__ import annotations

import copy
import io
import json
import re
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from xml.etree import ElementTree

from holdfast.errors import InputError
from holdfast.local.gate import HEADER
from holdfast.local.process import Running, send

Json = dict[str, Any]

ACCOUNT = "000000000000"
DONE = re.compile(r"(CREATE|UPDATE|DELETE)_COMPLETE")
SECONDS = 60
DOES_NOTHING = """
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda event, context: {}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One account of one emulator. A twelve-digit access key is the account's id there."""

    emulator: Running
    account: str = ACCOUNT

    def json(self, service: str, region: str, target: str, body: Json) -> Json:
        """An operation of a service that speaks JSON, such as dynamodb's DynamoDB_20120810.UpdateTable."""
        headers = {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.0"}
        text = self._send(service, region, "/", json.dumps(body).encode(), headers)
        return dict(json.loads(text)) if text.startswith("{") else {}

    def dynamodb(self, region: str, operation: str, **body: Any) -> Json:
        return self.json("dynamodb", region, f"DynamoDB_20120810.{operation}", body)

    def query(self, service: str, region: str, action: str, **parameters: str) -> ElementTree.Element:
        """An operation of a service that speaks forms and XML, such as CloudFormation."""
        form = urlencode({"Action": action, **parameters}).encode()
        text = self._send(service, region, "/", form, {"Content-Type": "application/x-www-form-urlencoded"})
        return ElementTree.fromstring(re.sub(r' xmlns="[^"]*"', "", text))

    def rest(self, service: str, region: str, method: str, path: str, body: bytes = b"") -> str:
        return self._send(service, region, path, body, {}, method=method)

    def deploy(
        self,
        name: str,
        template: Json,
        region: str,
        *,
        tags: Mapping[str, str] | None = None,
        protected: bool = False,
    ) -> None:
        """A stack, created or changed; it fails with the reason that CloudFormation gave."""
        bucket = f"holdfast-templates-{self.account}-{region}"
        self._bucket(bucket, region)
        self.rest("s3", region, "PUT", f"/{bucket}/{quote(name)}", json.dumps(template).encode())
        parameters = {
            "StackName": name,
            "TemplateURL": f"{self.emulator.endpoint}/{bucket}/{quote(name)}",
            "Capabilities.member.1": "CAPABILITY_NAMED_IAM",
        }
        for number, (key, value) in enumerate((tags or {}).items(), start=1):
            parameters |= {f"Tags.member.{number}.Key": key, f"Tags.member.{number}.Value": value}
        action = "UpdateStack" if self.status(name, region) else "CreateStack"
        if protected and action == "CreateStack":
            parameters["EnableTerminationProtection"] = "true"
        self.query("cloudformation", region, action, **parameters)
        self._wait(name, region)

    def deploy_assembly(self, outdir: Path) -> None:
        """Every stack of a CDK output folder, without the CDK CLI; those that name no account into this one."""
        for stack in assembly(outdir):
            client = replace(self, account=stack.account or self.account)
            template = client.with_code(stack.template, stack.region)
            client.deploy(stack.name, template, stack.region, tags=stack.tags, protected=stack.protected)

    def with_code(self, template: Json, region: str) -> Json:
        """The template with code of ours for its functions: it accepts every event. The CLI's bucket is left alone."""
        template = copy.deepcopy(template)
        for resource in template["Resources"].values():
            code = resource.get("Properties", {}).get("Code")
            if resource["Type"] == "AWS::Lambda::Function" and isinstance(code, dict) and "S3Key" in code:
                code["S3Bucket"] = bucket = f"holdfast-code-{self.account}-{region}"
                self._bucket(bucket, region)
                self.rest("s3", region, "PUT", f"/{bucket}/{code['S3Key']}", archive("handler.py", DOES_NOTHING))
        return template

    def status(self, name: str, region: str) -> str | None:
        """How a stack stands; None when there is none, or it is deleted."""
        stacks = self.query("cloudformation", region, "ListStacks").iter("member")
        found = (s.findtext("StackStatus") for s in stacks if s.findtext("StackName") == name)
        return next((s for s in found if s != "DELETE_COMPLETE"), None)

    def delete(self, name: str, region: str) -> None:
        self.query("cloudformation", region, "DeleteStack", StackName=name)
        self._wait(name, region)

    def _bucket(self, name: str, region: str) -> None:
        try:
            self.rest("s3", region, "HEAD", f"/{name}")
        except InputError:
            place = f"<LocationConstraint>{region}</LocationConstraint>"
            body = f"<CreateBucketConfiguration>{place}</CreateBucketConfiguration>"
            self.rest("s3", region, "PUT", f"/{name}", b"" if region == "us-east-1" else body.encode())

    def _wait(self, name: str, region: str) -> None:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            status = self.status(name, region)
            if status is None or DONE.fullmatch(status):
                return
            if not status.endswith("_IN_PROGRESS"):
                raise InputError(f"stack {name} is {status}: {self._reason(name, region)}")
            time.sleep(0.02)
        raise InputError(f"stack {name} did not settle within {SECONDS} s: try again")

    def _reason(self, name: str, region: str) -> str:
        events = self.query("cloudformation", region, "DescribeStackEvents", StackName=name).iter("member")
        failed = [e for e in events if (e.findtext("ResourceStatus") or "").endswith("_FAILED")]
        texts = [f"{e.findtext('LogicalResourceId')}: {e.findtext('ResourceStatusReason')}" for e in failed]
        return texts[-1] if texts else "no reason given"

    def _send(
        self, service: str, region: str, path: str, body: bytes, headers: Mapping[str, str], *, method: str = "POST"
    ) -> str:
        scope = f"{self.account}/20260101/{region}/{service}/aws4_request"
        authorization = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=unsigned"
        sent = {**headers, "Authorization": authorization, HEADER: self.emulator.secret.value}
        try:
            return send(self.emulator.endpoint + path, body, sent, method=method)
        except HTTPError as error:
            said = error.read().decode(errors="replace")
            message = re.search(r'<Message>(.*?)</Message>|"[mM]essage": ?"(.*?)"', said, re.DOTALL)
            reason = next((g for g in message.groups() if g), said) if message else said
            raise InputError(f"the emulator refused {service} {path}: {reason[:300]}") from None


def archive(name: str, text: str) -> bytes:
    """A function's code as it is uploaded."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as content:
        content.writestr(name, text)
    return packed.getvalue()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """One synthesized stack, ready to be deployed."""

    id: str
    name: str
    region: str
    account: str | None  # None where it names none
    template: Json
    tags: Mapping[str, str]
    protected: bool


def assembly(outdir: Path) -> list[Stack]:
    """Every stack of a CDK output folder."""
    artifacts = json.loads((outdir / "manifest.json").read_bytes())["artifacts"]
    stacks = {key: a for key, a in artifacts.items() if a["type"] == "aws:cloudformation:stack"}
    return [
        Stack(
            id=key,
            name=a["properties"].get("stackName", key),
            region=a["environment"].rpartition("/")[2],
            account=_account(a["environment"]),
            template=json.loads((outdir / a["properties"]["templateFile"]).read_bytes()),
            tags=a["properties"].get("tags", {}),
            protected=a["properties"].get("terminationProtection") is True,
        )
        for key, a in stacks.items()
    ]


def _account(environment: str) -> str | None:
    """Of aws://account/region."""
    found = environment.removeprefix("aws://").partition("/")[0]
    return None if found == "unknown-account" else found
