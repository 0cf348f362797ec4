"""The shop's tables and stores, deployed into the emulator and read once; then judged from answers with odd members."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import botocore.session
from accounts import NOW, template
from emulator import fresh_account
from live_stores import PLACED, Door, open_door
from shop import ESTATE
from support import Json

from holdfast.audit.audit import Audit, audit
from holdfast.aws.answers import gate
from holdfast.aws.calls import IDENTITY
from holdfast.aws.failure import CallError
from holdfast.aws.reader import read
from holdfast.aws.session import Api
from holdfast.local.client import Client
from holdfast.report import FORMATS, render
from holdfast.shared.account import Account
from holdfast.shared.calls import Call
from holdfast.text import UNSEEN
from holdfast.verdict import Outcome

PLACES = [p for p in ESTATE.placements() if p.region == PLACED.region]
NAMES = {p.fill(t.name) for p in ESTATE.placements() for t in p.tables}
Asked = tuple[Call, str]
Path = tuple[Any, ...]
Verdicts = dict[tuple[str, str, str | None, str | None], set[Outcome]]
ODD: tuple[Any, ...] = (7, "odd", True, [], {}, ["odd"], {"odd": 1}, -1, "", "\x1b[2J\u202e")


@dataclass(frozen=True, slots=True)
class Oddity:
    """One member of one answer, and what is done to it."""

    asked: Asked
    path: Path
    how: str
    value: Any = None

    def __str__(self) -> str:
        return f"{self.asked[0].operation} {'.'.join(map(str, self.path))}: {self.how} {self.value!r:.40}"

    def made(self, answer: Json) -> Json:
        answer = copy.deepcopy(answer)
        inside: Any = answer
        for step in self.path[:-1]:
            inside = inside[step]
        if self.how == "dropped":
            del inside[self.path[-1]]
        else:
            inside[self.path[-1]] = self.value
        return answer


class OddDoor(Door):
    """Answers as they were recorded, but for some; all pass the gate that answers of AWS pass."""

    def __init__(self, answers: dict[Asked, Any], odd: Iterable[Oddity] = ()) -> None:
        super().__init__(answers)
        self.odd = list(odd)

    def _answer(self, call: Call, asked: str, parameters: Json) -> Any:
        if (call, asked) not in self.answers:
            # Something asks otherwise because an answer was odd.
            return CallError(call, _kind(self.answers), "it was not asked when this was recorded")
        found = self.answers[call, asked]
        for oddity in self.odd:
            if oddity.asked == (call, asked) and not isinstance(found, CallError):
                try:
                    found = through(call, oddity.made(found))
                except (CallError, LookupError, TypeError) as error:  # of two, the second may have lost its place
                    found = error if isinstance(error, CallError) else found
        return found if isinstance(found, CallError) else copy.deepcopy(found)


def _kind(answers: dict[Asked, Any]) -> Any:
    return next(found.kind for found in answers.values() if isinstance(found, CallError))


@cache
def _gate(call: Call) -> Any:
    return gate(call, _session().get_service_model(call.service))


@cache
def _session() -> Any:
    return botocore.session.Session()


def through(call: Call, answer: Json) -> Json:
    return cast(Json, _gate(call)(answer))


@cache
def recorded() -> dict[Asked, Any]:
    """Every answer about every stack of one region."""
    aws = fresh_account()
    client = Client(emulator=aws.emulator, account=aws.account)
    for p in PLACES:
        client.deploy(p.name, client.with_code(template(p.id), p.region), p.region, protected=True)
    door = Door({}, open_door(aws))
    read(cast(Api, door), now=NOW, names=NAMES, places=PLACES)
    return door.answers


def seen(*odd: Oddity) -> Account:
    return read(cast(Api, OddDoor(recorded(), odd)), now=NOW, names=NAMES, places=PLACES)


def look(account: Account) -> Audit:
    return audit(ESTATE, [account], {p.env for p in PLACES}, now=NOW)


def verdicts(found_by: Audit) -> Verdicts:
    """What is said of each thing by each rule."""
    found: Verdicts = {}
    for f in found_by.findings:
        found.setdefault((f.rule.id, f.stack, f.environment, f.table), set()).add(f.outcome)
    return found


def passes(odd: Verdicts, clean: Verdicts) -> set[tuple[str, str, str | None, str | None]]:
    """What is fine only since an answer is odd."""
    return {about for about, said in odd.items() if said == {Outcome.PASS} and clean.get(about) != {Outcome.PASS}}


def members() -> Iterator[tuple[Asked, Path, Any]]:
    """Every member of every answer, once for each place in the answers of an operation."""
    known = set()
    for asked, answer in sorted(recorded().items(), key=lambda item: (item[0][0].operation, item[0][1])):
        if isinstance(answer, dict):
            for path, value in _members(answer):
                place = (asked[0].operation, tuple(step for step in path if isinstance(step, str)))
                if place not in known:
                    known.add(place)
                    yield asked, path, value


def _members(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    for step, inside in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if step == "ResponseMetadata":
            continue
        if isinstance(step, str):
            yield (*path, step), inside
        if isinstance(inside, dict | list):
            yield from _members(inside, (*path, step))


def oddities(seed: int = 1) -> Iterator[Oddity]:
    """Each member dropped, nulled and of another type, once each."""
    for asked, path, value in members():
        chosen = random.Random(f"{seed}/{asked[0].operation}/{path}")
        yield Oddity(asked, path, "dropped")
        yield Oddity(asked, path, "nulled")
        yield Oddity(asked, path, "retyped", chosen.choice([odd for odd in ODD if type(odd) is not type(value)]))


class Judge:
    """Compares what is said of odd answers with what is said of the good ones."""

    def __init__(self) -> None:
        self.account = seen()
        self.verdicts = verdicts(look(self.account))

    def gets_through(self, odd: Oddity) -> bool:
        """Whether the gate takes it for an answer: then it may be read as anything."""
        try:
            through(odd.asked[0], odd.made(recorded()[odd.asked]))
        except CallError:
            return False
        return True

    def changes(self, *odd: Oddity) -> Verdicts:
        """What is said otherwise because of them."""
        return {about: said for about, said in verdicts(look(seen(*odd))).items() if self.verdicts.get(about) != said}

    def judge(self, *odd: Oddity, written: bool = False) -> set[tuple[str, str, str | None, str | None]]:
        """What passes only because of them; whatever breaks on the way, or in writing it down, breaks here."""
        try:
            account = seen(*odd)
            if account == self.account:
                return set()
            found = look(account)
            if written:
                _write(found)
            return passes(verdicts(found), self.verdicts)
        except Exception as error:
            if isinstance(error, CallError) and error.call is IDENTITY:
                return set()  # whose account it is: without that, nothing is read
            error.add_note(f"by {'; '.join(map(str, odd[:9]))}")
            raise


def _write(found: Audit) -> None:
    """Every format; none that a terminal shows steers it."""
    for style in FORMATS:
        written = render(style, found.findings, command="audit", env="live", audit=found)
        written.encode()
        steers = UNSEEN.search(written.replace("\n", ""))
        assert style in ("json", "sarif") or steers is None, f"{steers} reaches the terminal by {style}"
