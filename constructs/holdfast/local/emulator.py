"""The emulator's own process: ministack, completed, on one loopback port. Started by holdfast.local.process.

It makes the secret of its run itself and leaves it in a file that its user alone may read: what is on a command line
or in an environment, others may see.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import secrets
import shutil
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

from holdfast.errors import InputError
from holdfast.files import private_folder, write_private
from holdfast.local.gate import FILE, Asgi, Secret, gated, sent_tokens
from holdfast.local.process import KEPT

HOST = "127.0.0.1"
ACCOUNT = "000000000000"
Json = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(prog="holdfast.local.emulator", description=__doc__)
    parser.add_argument("--state", type=Path, help="where state is kept between starts; none is kept without it")
    parser.add_argument("--ready", type=Path, required=True, help="the file that says where it listens, once it does")
    parser.add_argument("--attached", action="store_true", help="end when standard input does")
    args = parser.parse_args()
    os.umask(0o077)  # its state is its user's alone
    secret = Secret(secrets.token_urlsafe(32))
    try:
        listener = _listen()
        port = listener.getsockname()[1]
        _environment(port, args.state, args.ready.parent / "functions", secret)
        if args.attached:
            threading.Thread(target=_until_input_ends, daemon=True).start()
        asyncio.run(_serve(complete(secret), listener.detach(), port, args.ready, secret))
    except InputError as error:
        print(f"holdfast: {error}", file=sys.stderr)
        return 2
    return 0


def _listen() -> socket.socket:
    """On any free port: one that is always the same, others could wait for."""
    listener = socket.socket()
    listener.bind((HOST, 0))
    listener.listen(128)
    return listener


def complete(secret: Secret) -> Asgi:
    """Ministack's application with everything put in that it lacks, and with Holdfast's own few addresses."""
    from holdfast.local import (
        alarms,
        brokers,
        buckets,
        caches,
        databases,
        deleted,
        network,
        private,
        recorded,
        tables,
        templates,
    )

    app = private.module("ministack.app").app
    tables.complete()
    buckets.complete()
    databases.complete()
    caches.complete()
    brokers.complete()
    network.complete()
    alarms.complete()
    recorded.complete()
    templates.complete()
    deleted.complete()
    _accept_session_tokens(secret)
    return _with_own_addresses(app)


def _accept_session_tokens(secret: Secret) -> None:
    """Roles that are assumed get tokens that pass the gate, and keys of users may be sent with such a token."""
    from holdfast.local import private

    evaluator = private.module("ministack.core.iam_evaluator")
    validate = evaluator._validate_session_token

    def validated(expected: str | None, supplied: Any) -> Any:
        passed = expected is None and isinstance(supplied, str) and secret.accepts(supplied)
        return None if passed else validate(expected, supplied)

    evaluator._validate_session_token = validated
    private.module("ministack.services.sts")._gen_session_token = secret.issue


def _environment(port: int, state: Path | None, work: Path, secret: Secret) -> None:
    """Ministack reads its settings when it is imported, and hands its environment on to the functions that it runs.

    So nothing of the caller's is left in it: no credentials, no home, no proxy, no path to import from.
    """
    shutil.rmtree(work, ignore_errors=True)
    private_folder(work)
    kept = state or Path(os.devnull)
    for name in os.environ.keys() - set(KEPT):
        del os.environ[name]
    os.chdir(work)
    os.environ.update(
        HOME=str(work),
        TMPDIR=str(work),
        AWS_SECRET_ACCESS_KEY="local",
        AWS_SESSION_TOKEN=secret.issue(),
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


async def _serve(app: Asgi, listener: int, port: int, ready: Path, secret: Secret) -> None:
    config = importlib.import_module("hypercorn.config").Config()
    config.bind = [f"fd://{listener}"]
    config.loglevel = "WARNING"
    config.keep_alive_timeout = 75
    config.graceful_timeout = 1
    told = {"pid": os.getpid(), "port": port, "endpoint": f"http://{HOST}:{port}"}

    async def told_when_ready(scope: Any, receive: Any, send: Any) -> None:
        async def sent(message: Json) -> None:
            await send(message)
            if message["type"] == "lifespan.startup.complete":
                write_private(ready.with_name(FILE), secret.value)
                write_private(ready.with_suffix(".new"), json.dumps(told))
                ready.with_suffix(".new").replace(ready)

        if scope["type"] == "http" and scope["path"] == "/_holdfast":
            await _answer(send, {**told, "proof": secret.proof(sent_tokens(scope)[0]), **_contents()})
        else:
            await app(scope, receive, sent if scope["type"] == "lifespan" else send)

    await importlib.import_module("hypercorn.asyncio").serve(gated(told_when_ready, secret, port), config)


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
    """What is deployed, in every account."""
    from holdfast.local import private, recorded

    stacks = private.module("ministack.services.cloudformation")._stacks
    tables = private.module("ministack.services.dynamodb")._tables
    return {
        "stacks": [
            {"account": account, "region": region, "name": stack["StackName"], "status": stack["StackStatus"]}
            for (account, region, _), stack in stacks.all_items()
            if stack["StackStatus"] != "DELETE_COMPLETE"
        ],
        "tables": [
            {"account": account, "region": region, "name": name, "items": table["ItemCount"]}
            for (account, region, name), table in tables.all_items()
        ],
        "recorded": recorded.listed(),
    }


def _set_dates(wanted: Json) -> None:
    """Past events happened in the past: when a stack was made, changed or deleted, and when a table was made.

    ``now`` is the moment that they are past at, where that is another one than the clock's.
    """
    from holdfast.local import deleted, private

    account = wanted["account"]
    if "now" in wanted:
        deleted.set_time(account, wanted["now"])
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
