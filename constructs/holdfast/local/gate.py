"""Who may use the emulator: programs that send the secret of its run, and never a web page.

The secret is the session token that every AWS client sends. Clients which assume a role, and functions, get tokens
that are derived from it, so that no address ever returns the secret itself. No address is open without it: custom
resources, which answer to one, are recorded here and not run.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

FILE = "session-token"  # beside the file that says where the emulator listens
HEADER = "x-amz-security-token"
REFUSED = "this is the emulator of `holdfast local`: `holdfast local status` says what it wants to be sent"
Asgi = Callable[[Any, Any, Any], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Secret:
    """The session token of one run of the emulator, and what is derived from it."""

    value: str = field(repr=False)

    def sign(self, text: str) -> str:
        return hmac.digest(self.value.encode(), text.encode(), "sha256").hex()

    def issue(self) -> str:
        """A token that is as good as the secret for this run, and does not tell it."""
        nonce = secrets.token_hex(16)
        return f"{nonce}.{self.sign(nonce)}"

    def accepts(self, token: str) -> bool:
        nonce, _, signature = token.partition(".")
        return _same(token, self.value) or _same(signature, self.sign(nonce))

    def proof(self, token: str) -> str:
        """By which a caller that sent ``token`` knows that what answers has the secret, too."""
        return self.sign(f"answer to {token}")


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def gated(app: Asgi, secret: Secret, port: int) -> Asgi:
    """Nothing reaches ``app`` without the secret."""

    async def gate(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
        elif _admitted(scope, secret, port):
            await app(scope, receive, _without_cors(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await _refuse(scope, send)

    return gate


def _admitted(scope: Any, secret: Secret, port: int) -> bool:
    headers = scope["headers"]
    # Browsers name the page that asks, and a name that a stranger's server gave to 127.0.0.1; programs do neither.
    if _values(headers, "origin") or _values(headers, "host") != [f"127.0.0.1:{port}"]:
        return False
    return any(secret.accepts(token) for token in sent_tokens(scope))


def sent_tokens(scope: Any) -> list[str]:
    """The session token of a request: a header, or a part of an address that was signed beforehand."""
    query = parse_qsl(scope["query_string"].decode("latin-1"))
    return _values(scope["headers"], HEADER) or [value for name, value in query if name.lower() == HEADER]


def _values(headers: Any, name: str) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key.lower() == name.encode()]


def _without_cors(send: Any) -> Any:
    """What ministack lets pages of other origins read is nothing that they may read."""

    async def sent(message: Any) -> None:
        if "headers" in message:
            kept = [(k, v) for k, v in message["headers"] if not k.lower().startswith(b"access-control-")]
            message = {**message, "headers": kept}
        await send(message)

    return sent


async def _refuse(scope: Any, send: Any) -> None:
    """In the words of the protocol that was spoken, so that AWS clients show the reason."""
    if _values(scope["headers"], "x-amz-target"):
        kind, body = "application/x-amz-json-1.0", json.dumps({"__type": "AccessDeniedException", "message": REFUSED})
    else:
        error = f"<Code>AccessDenied</Code><Message>{REFUSED}</Message>"
        kind, body = "text/xml", f"<ErrorResponse><Error>{error}</Error></ErrorResponse>"
    headers = [(b"content-type", kind.encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode()})
