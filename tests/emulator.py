"""One emulator for all tests; each test that asks gets an account of its own in it, so none sees another's tables."""

from __future__ import annotations

import atexit
import functools
import itertools
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from support import Json

from holdfast.local import process
from holdfast.local.client import Client

QUICK = Config(retries={"max_attempts": 1, "mode": "standard"}, proxies={}, parameter_validation=False)

_numbers = itertools.count(100_000_000_001)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aws:
    """An account of the emulator, empty at first. Its id is the access key: that is how ministack tells accounts."""

    emulator: process.Running
    account: str

    @property
    def endpoint(self) -> str:
        return self.emulator.endpoint

    @property
    def credentials(self) -> dict[str, str]:
        """What opens this account, as environment variables."""
        return {
            "AWS_ACCESS_KEY_ID": self.account,
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_SESSION_TOKEN": self.emulator.secret.value,
        }

    def client(self, service: str, region: str = "us-east-1") -> Any:
        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=region,
            aws_access_key_id=self.account,
            aws_secret_access_key="local",
            aws_session_token=self.emulator.secret.value,
            config=QUICK,
        )

    def environment(self, region: str = "us-east-1") -> dict[str, str]:
        """What sends every AWS client to this account, and to nothing else."""
        return {
            **self.credentials,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_DEFAULT_REGION": region,
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "127.0.0.1",
        }

    def deploy(self, name: str, template: Json, region: str = "us-east-1") -> None:
        """A stack, created or changed; InputError with CloudFormation's reason when it fails."""
        Client(emulator=self.emulator, account=self.account).deploy(name, template, region)

    def deploy_assembly(self, outdir: Path) -> None:
        """Every stack of a CDK output folder, without the CLI."""
        Client(emulator=self.emulator, account=self.account).deploy_assembly(outdir)


@contextmanager
def emulator(folder: Path, *, env: Mapping[str, str] | None = None) -> Iterator[process.Running]:
    """An emulator on any free port, without a state on disk; it ends with the tests, even when they are killed."""
    ready, log = folder / "emulator.json", folder / "emulator.log"
    with log.open("w") as output:
        started = subprocess.Popen(
            process.command(ready, attached=True),
            env={**process.own_environment(), **(env or {})},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
        )
    try:
        yield process.wait(started, ready, log)
    finally:
        started.terminate()
        started.wait(timeout=60)
        if started.stdin:
            started.stdin.close()


@functools.cache
def shared() -> process.Running:
    """The one emulator of this test run, started when the first test asks."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(emulator(Path(stack.enter_context(tempfile.TemporaryDirectory()))))


def fresh_account() -> Aws:
    """An empty account, of which no other test knows."""
    return Aws(emulator=shared(), account=str(next(_numbers)))
