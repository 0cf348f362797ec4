"""The shop's stores, deployed into the emulator and read; then read again from what was answered, changed at will."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from accounts import NOW, template
from emulator import Aws, fresh_account
from live_account import log_in
from shop import ESTATE, alone
from shop_synth import synth
from support import Json

from holdfast.audit.audit import Audit, audit
from holdfast.aws.calls import AUDIT, IDENTITY
from holdfast.aws.failure import CallError, answered
from holdfast.aws.options import Options
from holdfast.aws.reader import read
from holdfast.aws.session import Api, apis
from holdfast.estate.placement import Placed
from holdfast.local.client import Client
from holdfast.shared.account import Account
from holdfast.shared.calls import Call

(PLACED,) = [p for p in ESTATE.placements() if p.id == "Stores-live"]
Change = Callable[[Json], None]


class Door:
    """A door to AWS that keeps every answer, or gives it again: changed, or refused."""

    region, label, partition = PLACED.region, "", "aws"

    def __init__(self, answers: dict[tuple[Call, str], Any], api: Api | None = None) -> None:
        self.answers, self._api = answers, api
        self.changed: dict[str, Change] = {}
        self.refused: dict[Call, str] = {}
        self.asked: set[Call] = set()

    def call(self, call: Call, **parameters: Any) -> Json:
        self.asked.add(call)
        if call in self.refused:
            raise answered(call, 403, self.refused[call], "no")
        found = self._answer(call, repr(sorted(parameters.items(), key=lambda p: p[0])), parameters)
        if isinstance(found, CallError):
            raise found
        if change := self.changed.get(f"{call.service}:{call.operation}"):
            change(found)
        return cast(Json, found)

    def _answer(self, call: Call, asked: str, parameters: Json) -> Any:
        if (call, asked) not in self.answers and self._api:
            try:
                self.answers[call, asked] = self._api.call(call, **parameters)
            except CallError as failure:
                self.answers[call, asked] = failure
        found = self.answers[call, asked]
        return found if isinstance(found, CallError) else copy.deepcopy(found)

    def pages(self, call: Call, **parameters: Any) -> Iterator[Json]:
        yield (page := self.call(call, **parameters))
        asked, answered_with = call.page or ("", "")
        if token := page.get(answered_with):
            yield from self.pages(call, **parameters | {asked: token})

    def identity(self) -> str:
        return str(self.call(IDENTITY)["Account"])

    def read(self, placed: Placed = PLACED) -> Account:
        return read(cast(Api, self), now=NOW, places=[placed])


def deployed(placed: Placed = PLACED) -> Aws:
    """The stores in an account of their own."""
    aws = fresh_account()
    client = Client(emulator=aws.emulator, account=aws.account)
    document = template(PLACED.id) if placed == PLACED else _synthesized(placed)
    client.deploy(PLACED.name, client.with_code(document, PLACED.region), PLACED.region, protected=True)
    return aws


def _synthesized(placed: Placed) -> Json:
    with tempfile.TemporaryDirectory() as folder:
        return synth(alone(placed.stack), Path(folder))[placed.id]


def open_door(aws: Aws) -> Api:
    with pytest.MonkeyPatch.context() as monkeypatch:
        log_in(monkeypatch, aws)
        (api,) = apis(Options(regions=(PLACED.region,), endpoint_url=aws.endpoint), AUDIT)
        api.identity()  # the session takes its credentials from the environment when it is first used
        return api


@cache
def _recorded(placed: Placed) -> dict[tuple[Call, str], Any]:
    door = Door({}, open_door(deployed(placed)))
    door.read(placed)
    return door.answers


def door(placed: Placed = PLACED) -> Door:
    """What the emulator answered about a system that is as it was deployed."""
    return Door(_recorded(placed))


def look(*accounts: Account, placed: Placed = PLACED, **options: Any) -> Audit:
    return audit(alone(placed.stack), accounts, [placed.env], **{"now": NOW} | options)
