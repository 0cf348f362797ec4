"""DynamoDB's JSON protocol, signed by botocore and sent by http.client: a third of what boto3 spends on a call."""

from __future__ import annotations

import json
import ssl
import weakref
from base64 import b64encode
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import unquote, urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.httpsession import get_cert_path
from botocore.utils import get_environ_proxies

from holdfast.aws.failure import CallError, Kind, answered
from holdfast.shared.calls import Call

TARGET = "DynamoDB_20120810"
SECONDS = 20


class Wire:
    """One endpoint of DynamoDB, for all threads."""

    def __init__(self, *, url: str, region: str, credentials: Any, ca_bundle: str | None) -> None:
        self._url = url.rstrip("/") + "/"
        self._region = region
        self._credentials = credentials
        self._secure = (
            ssl.create_default_context(cafile=get_cert_path(ca_bundle or True)) if url.startswith("https:") else None
        )
        proxy = get_environ_proxies(self._url).get(urlsplit(url).scheme)
        self._proxy = proxy if not proxy or "://" in proxy else f"http://{proxy}"
        self._idle: list[HTTPConnection] = []
        weakref.finalize(self, _close, self._idle)

    def send(self, call: Call, parameters: dict[str, Any]) -> dict[str, Any]:
        headers = {"X-Amz-Target": f"{TARGET}.{call.operation}", "Content-Type": "application/x-amz-json-1.0"}
        request = AWSRequest("POST", self._url, data=json.dumps(parameters).encode(), headers=headers)
        SigV4Auth(self._credentials.get_frozen_credentials(), "dynamodb", self._region).add_auth(request)
        connection = self._connected(call)
        try:
            # A proxy without a tunnel wants the whole address.
            path = self._url if self._proxy and not self._secure else urlsplit(self._url).path
            connection.request("POST", path, request.data, dict(request.headers.items()))
            answer = connection.getresponse()
            status, text = answer.status, answer.read()
        except TimeoutError as error:
            connection.close()
            raise CallError(call, Kind.SILENT, f"{call.operation} was not answered within {SECONDS} s") from error
        except (OSError, HTTPException) as error:
            connection.close()
            raise CallError(call, Kind.TRANSIENT, f"the connection broke ({type(error).__name__})") from error
        if answer.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return _read(call, status, text)

    def _connected(self, call: Call) -> HTTPConnection:
        try:
            return self._idle.pop()
        except IndexError:
            connection = self._connection()
        try:
            connection.connect()
        except (OSError, HTTPException) as error:
            connection.close()
            raise CallError(call, Kind.UNREACHABLE, f"{self._url} cannot be reached ({error})") from error
        return connection

    def _connection(self) -> HTTPConnection:
        own, via = urlsplit(self._url), urlsplit(self._proxy or self._url)
        if self._secure:
            connection: HTTPConnection = HTTPSConnection(
                str(via.hostname), via.port or (80 if self._proxy else 443), timeout=SECONDS, context=self._secure
            )
            if self._proxy:
                connection.set_tunnel(str(own.hostname), own.port, _authorization(via.username, via.password))
            return connection
        return HTTPConnection(str(via.hostname), via.port, timeout=SECONDS)


def _authorization(user: str | None, password: str | None) -> dict[str, str]:
    if not user:
        return {}
    pair = f"{unquote(user)}:{unquote(password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {b64encode(pair).decode()}"}


def _read(call: Call, status: int, text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        if status < 300:
            raise CallError(call, Kind.GARBLED, f"{call.operation} answered something that is not JSON")
        raise answered(call, status, "", "no JSON")
    if status < 300:
        return found
    code = str(found.get("__type", "")).rpartition("#")[2]
    raise answered(call, status, code, str(found.get("message") or found.get("Message") or ""))


def _close(idle: list[HTTPConnection]) -> None:
    for connection in idle:
        connection.close()
