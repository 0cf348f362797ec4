"""The emulator's own process: ministack, completed, on one loopback port. Started by holdfast.local.process."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from holdfast.assembly import InputError

HOST = "127.0.0.1"
ACCOUNT = "000000000000"
Json = dict[str, Any]
Asgi = Callable[[Any, Any, Any], Awaitable[None]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="holdfast.local.emulator", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes any free one")
    parser.add_argument("--state", type=Path, help="where state is kept between starts; none is kept without it")
    parser.add_argument("--ready", type=Path, required=True, help="the file that says where it listens, once it does")
    parser.add_argument("--token", required=True, help="by which the caller knows it again")
    parser.add_argument("--attached", action="store_true", help="end when standard input does")
    args = parser.parse_args()
    try:
        listener = _listen(args.port)
        port = listener.getsockname()[1]
        _environment(port, args.state)
        if args.attached:
            threading.Thread(target=_until_input_ends, daemon=True).start()
        asyncio.run(_serve(complete(), listener.detach(), port, args))
    except InputError as error:
        print(f"holdfast: {error}", file=sys.stderr)
        return 2
    return 0


def _listen(port: int) -> socket.socket:
    """Bound before anything else: the port cannot be lost to another program while ministack loads."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise InputError(f"port {port} cannot be used ({error.strerror}): give another --port") from None
    listener.listen(128)
    return listener


def complete() -> Asgi:
    """Ministack's application with everything put in that it lacks, and with Holdfast's own few addresses."""
    from holdfast.local import alarms, brokers, buckets, caches, databases, network, private, recorded, tables

    app = private.module("ministack.app").app
    tables.complete()
    buckets.complete()
    databases.complete()
    caches.complete()
    brokers.complete()
    network.complete()
    alarms.complete()
    recorded.complete()
    return _with_own_addresses(app)


def _environment(port: int, state: Path | None) -> None:
    """Ministack reads its settings when it is imported. Whatever AWS settings the caller had are gone already."""
    kept = state or Path(os.devnull)
    os.environ.update(
        GATEWAY_PORT=str(port),
        BIND_HOST=HOST,
        MINISTACK_HOST=HOST,
        MINISTACK_ACCOUNT_ID=ACCOUNT,
        IOT_MTLS_ENABLED="0",
        SFTP_ENABLED="0",
        CLOUDTRAIL_RECORDING="0",
        LOG_LEVEL="WARNING",
        PERSIST_STATE="1" if state else "0",
        STATE_DIR=str(kept),
        S3_PERSIST="1" if state else "0",
        S3_DATA_DIR=str(kept / "s3"),
        DOCKER_HOST="unix:///nonexistent",  # ministack would start containers and fetch images
    )


def _until_input_ends() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


async def _serve(app: Asgi, listener: int, port: int, args: argparse.Namespace) -> None:
    config = importlib.import_module("hypercorn.config").Config()
    config.bind = [f"fd://{listener}"]
    config.loglevel = "WARNING"
    config.keep_alive_timeout = 75
    config.graceful_timeout = 1
    told = {"pid": os.getpid(), "port": port, "token": args.token, "endpoint": f"http://{HOST}:{port}"}

    async def told_when_ready(scope: Any, receive: Any, send: Any) -> None:
        async def sent(message: Json) -> None:
            await send(message)
            if message["type"] == "lifespan.startup.complete":
                args.ready.with_suffix(".new").write_text(json.dumps(told))
                args.ready.with_suffix(".new").replace(args.ready)

        if scope["type"] == "http" and scope["path"] == "/_holdfast":
            await _answer(send, {**told, **_contents()})
        else:
            await app(scope, receive, sent if scope["type"] == "lifespan" else send)

    await importlib.import_module("hypercorn.asyncio").serve(told_when_ready, config)


def _with_own_addresses(app: Asgi) -> Asgi:
    from holdfast.local import private

    async def holdfast(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/_holdfast/"):
            await app(scope, receive, send)
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        if scope["path"] == "/_holdfast/save":
            ministack = private.module("ministack.app")
            private.module("ministack.core.persistence").save_all(ministack._build_persistence_save_dict())
        elif scope["path"] == "/_holdfast/dates":
            _set_dates(json.loads(body))
        await _answer(send, {})

    return holdfast


async def _answer(send: Any, document: Json) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(document).encode()})


def _contents() -> Json:
    """What is deployed, in the account that `holdfast local` uses."""
    from holdfast.local import private, recorded

    stacks = private.module("ministack.services.cloudformation")._stacks
    tables = private.module("ministack.services.dynamodb")._tables
    return {
        "stacks": [
            {"region": region, "name": stack["StackName"], "status": stack["StackStatus"]}
            for (account, region, _), stack in stacks.all_items()
            if account == ACCOUNT and stack["StackStatus"] != "DELETE_COMPLETE"
        ],
        "tables": [
            {"region": region, "name": name, "items": table["ItemCount"]}
            for (account, region, name), table in tables.all_items()
            if account == ACCOUNT
        ],
        "recorded": recorded.listed(),
    }


def _set_dates(wanted: Json) -> None:
    """Past events happened in the past: when a stack was made, changed or deleted, and when a table was made."""
    from holdfast.local import private

    account = wanted["account"]
    stacks = private.module("ministack.services.cloudformation")._stacks
    tables = private.module("ministack.services.dynamodb")._tables
    for (owner, region, _), stack in stacks.all_items():
        if owner == account:
            stack.update(wanted.get("stacks", {}).get(f"{region}/{stack['StackName']}", {}))
    for (owner, region, name), table in tables.all_items():
        if owner == account:
            table.update(wanted.get("tables", {}).get(f"{region}/{name}", {}))


if __name__ == "__main__":
    sys.exit(main())
