"""Slips in declarations: refused at once, in one line that names the line of the estate, by every command."""

from __future__ import annotations

import inspect
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from declare import PROD, TEST, estate, stack, table
from hypothesis import given
from hypothesis import strategies as st
from shop import ESTATE
from strategies import legal_tables
from support import ROOT

from holdfast import DeclarationError, Estate, Table
from holdfast.estate import estate as estates
from holdfast.estate import stack as stacks
from holdfast.kinds.broker import declaration as broker
from holdfast.kinds.bucket import declaration as bucket
from holdfast.kinds.cache import declaration as cache
from holdfast.kinds.database import declaration as database
from holdfast.kinds.documents import declaration as documents
from holdfast.kinds.registry import declaration as registry
from holdfast.kinds.table import access, extra
from holdfast.kinds.table import declaration as tables
from holdfast.model import declaration, environment, owners, provenance, typed
from holdfast.model import facts as model
from holdfast.model import store as stores
from holdfast.policy import required as policy
from holdfast.rules import check_waivers, foreign

KINDS = (broker, bucket, cache, database, documents, registry, tables)
MODULES = (*KINDS, access, environment, estates, extra, foreign, model, owners, policy, stacks, stores)
CLASSES: dict[str, Any] = {
    name: found
    for module in MODULES
    for name, found in vars(module).items()
    if is_dataclass(found) and isinstance(found, type) and found.__module__ == module.__name__ and fields(found)
}
del CLASSES["Store"]  # the base of all kinds
HINTS = {
    (name, f.name): get_type_hints(cls, localns=vars(sys.modules[cls.__module__]))[f.name]
    for name, cls in CLASSES.items()
    for f in fields(cls)
    if f.init
}


# Every field of every declaration


class Stranger:
    """A value that no field takes."""


def test_these_are_the_declarations() -> None:
    assert CLASSES.keys() >= {
        *("Access", "Backups", "Broker", "Bucket", "Cache", "Database", "Demand", "Durable", "Entity"),
        *("Environment", "Estate", "Index", "Item", "Key", "KeyFamily", "Pattern", "Place", "Policy", "Pool", "Prefix"),
        *("Processor", "Registry", "Relation", "Service", "Stack", "State", "Stream", "Table", "Topic", "Transient"),
        *("DocumentDatabase", "RowUpkeep", "Upkeep", "Waiver", "Facts"),
    }
    assert len(HINTS) > 150


def _annotation(cls: type, field: str) -> str:
    """As it is written, in the class or in one that it is made from."""
    return next(str(found[field]) for of in cls.__mro__ if field in (found := inspect.get_annotations(of)))


@pytest.mark.parametrize(("name", "field"), HINTS, ids=".".join)
def test_a_value_of_another_type_is_refused_by_class_field_and_what_it_takes(name: str, field: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        CLASSES[name](**{field: Stranger()})
    said = refused.value.text
    assert said.startswith(f"{name}: {field} is a Stranger, and has to be ")
    assert refused.value.where.startswith(f"{Path(__file__).relative_to(Path.cwd())}, line ")
    for word in re.findall(r"[A-Z]\w+|date|timedelta", _annotation(CLASSES[name], field)):
        if word not in ("Any", "Mapping", "Store", "Source", "Sources"):
            assert word in said.partition(" has to be ")[2]


def _tuple(hint: Any) -> bool:
    """Whether a tuple may stand there."""
    return any(get_origin(part) is tuple for part in (hint, *get_args(hint))) and get_origin(hint) is not Mapping


@pytest.mark.parametrize(("name", "field"), [k for k, v in HINTS.items() if _tuple(v)], ids=".".join)
def test_a_list_is_no_tuple(name: str, field: str) -> None:
    with pytest.raises(
        DeclarationError, match=rf"^.*: {name}: {field} is a list, and has to be (.* or )?a tuple .*: write \(…\)"
    ):
        CLASSES[name](**{field: []})


@pytest.mark.parametrize(
    ("name", "field"), [k for k, v in HINTS.items() if _tuple(v) and ", ...]" in str(v)], ids=".".join
)
def test_what_is_in_a_tuple_counts(name: str, field: str) -> None:
    with pytest.raises(DeclarationError, match=rf": {name}: {field}\[0\] is a Stranger, and has to be "):
        CLASSES[name](**{field: (Stranger(),)})


@pytest.mark.parametrize("name", CLASSES)
def test_a_field_that_is_missing_or_unknown_is_named(name: str) -> None:
    cls = CLASSES[name]
    with pytest.raises(DeclarationError, match=f": {name}: it has no field qqqq; it has {fields(cls)[0].name}"):
        cls(qqqq=1)
    first = fields(cls)[0].name
    with pytest.raises(DeclarationError, match=f": {name}: it has no field {first}s; did you mean {first}\\?"):
        cls(**{f"{first}s": 1})
    needed = [f.name for f in fields(cls) if f.init and f.default is MISSING and f.default_factory is MISSING]
    if needed:
        with pytest.raises(DeclarationError, match=f": {needed[0]}.* (is missing, and has to be|are missing)"):
            cls()


def test_values_without_a_name() -> None:
    place: Any = environment.Place
    with pytest.raises(DeclarationError, match="Place us-east-1: it takes 2 values without a name, not 3"):
        place("us-east-1", "123456789012", 1)
    with pytest.raises(DeclarationError, match="Place us-east-1: region is given twice"):
        place("us-east-1", region="us-east-1")


def test_a_fault_of_the_library_is_not_told_as_one_of_the_estate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Table, "_problems", lambda self: 1 + "")  # type: ignore[operator]
    with pytest.raises(TypeError, match="unsupported operand"):
        table()


def test_a_helper_names_its_caller_and_so_does_replace() -> None:
    here = f"{Path(__file__).relative_to(Path.cwd())}, line "
    wrong: Any = 5
    for slip in (lambda: tables.key(wrong), lambda: tables.gsi("a", name=wrong), lambda: replace(table(), data=wrong)):
        with pytest.raises(DeclarationError) as refused:
            slip()
        assert refused.value.where.startswith(here)


def test_what_is_wrong_only_beside_others_names_its_own_line() -> None:
    def here(behind: int) -> str:
        frame = sys._getframe(1)
        return declaration.shown(__file__, frame.f_lineno - behind)

    orders = replace(table(), name="orders")
    again = replace(table(), name="orders")
    with pytest.raises(DeclarationError, match="table orders is declared by Shop-prod and by Other-prod") as refused:
        estate(stack(orders), stack(again, id="Other-{env}"))
    assert refused.value.where == here(3)
    waiver = model.Waiver(rule="HF000", environment=PROD, reason="r", owner="o", expires=date(2027, 1, 31))
    with pytest.raises(DeclarationError, match="waiver of unknown rule HF000") as refused:
        check_waivers(estate(stack(table(waivers=(waiver,)))))
    assert refused.value.where == here(3)
    copy = pickle.loads(pickle.dumps(orders))
    assert (copy, declaration.declared_at(copy)) == (orders, "")


@pytest.mark.parametrize(
    ("hint", "value", "says"),
    [
        (int, True, " is True, and has to be a whole number"),
        (float, "1", " is '1', and has to be a number"),
        (date, datetime(2026, 1, 1, tzinfo=UTC), " is a datetime, and has to be a date, such as date(2027, 1, 31)"),
        (model.Data, "PERSONAL", " is 'PERSONAL', and has to be a Data, such as Data.PERSONAL"),
        (model.Data, tables.View.OLD_IMAGE, " is View.OLD_IMAGE, and has to be a Data, such as Data.OPERATIONAL"),
        (model.Durable, model.Durable, " is the class Durable, and has to be a Durable, such as Durable()"),
        (str | None, b"x", " is a bytes, and has to be a text or None"),
        (Literal["a", "b"], "c", " is 'c', and has to be 'a' or 'b'"),
        (type[model.Durable], model.Durable(), " is a Durable, and has to be the class Durable"),
        (tuple[str, int], ("a", "b"), " is a tuple, and has to be a tuple of text and int"),
        (tuple[str, ...], "ab", " is 'ab', and has to be a tuple of text: write (…,), with a comma at the end"),
        (frozenset[str], {"a"}, " is a set, and has to be a frozenset of text"),
        (Mapping[str, int], {1: 1}, " has the key 1, which has to be a text"),
        (Mapping[str, int], {"a": "b"}, "['a'] is 'b', and has to be a whole number"),
        (tuple[tables.Key, ...], (tables.key,), '[0] is the function key, and has to be a Key, such as key("id")'),
        (str, None, " is None, and has to be a text"),
        (int, "x" * 500, f" is '{'x' * 58}…, and has to be a whole number"),
    ],
)
def test_what_is_said_of_a_wrong_value(hint: Any, value: object, says: str) -> None:
    assert not typed.fits(hint)(value)
    assert typed.wrong(hint, value) == says


def test_a_type_that_nothing_can_check_is_a_fault_of_the_library() -> None:
    with pytest.raises(TypeError, match="cannot check values of list"):
        typed.fits(list[str])


# Whatever is legal is taken


def inside(value: object) -> Iterator[Any]:
    """A declaration and all that it is made of."""
    if is_dataclass(value) and not isinstance(value, type):
        yield value
        value = [getattr(value, f.name) for f in fields(value)]
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple):
        for part in value:
            yield from inside(part)


DECLARED: dict[type, list[Any]] = {}
MORE = (  # of what the estate of these tests has none
    access.Relation(table="orders", attribute="customerId", to_table="customers", to_attribute="id"),
    access.Transaction(id="PAY", purpose="p", table="orders", entities=("ORDER", "PAYMENT")),
    database.Upkeep(partitioned=("events",), archive="archive"),
    database.RowUpkeep(tables=("events",)),
    environment.Place("us-east-1"),
    extra.Extra({"TableClass": "STANDARD"}, reason="r"),
    owners.Owner(name="shop-team"),
    policy.Naming(begins="shop-", reason="r"),
    model.ExternalKey(arn="arn:aws:kms:us-east-1:111122223333:key/1"),
    model.SharedKey(stack="Keys-{env}"),
    tables.Provisioned(read=1, write=1),
    tables.lsi("paidAt"),
    model.Waiver(rule="HF004", environment=PROD, reason="r", owner="o", expires=date(2027, 1, 31)),
)
for one in inside((ESTATE, MORE)):
    DECLARED.setdefault(type(one), []).append(one)


def legal(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type; of declarations, those that are declared."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return st.one_of(*map(legal, parts))
    if origin is tuple:
        return st.lists(legal(parts[0]), max_size=3).map(tuple) if parts[-1] is ... else st.tuples(*map(legal, parts))
    if origin is frozenset:
        return st.frozensets(legal(parts[0]), max_size=3)
    if origin is Mapping:
        return st.dictionaries(legal(parts[0]), legal(parts[1]), max_size=3)
    if origin is type:
        return st.just(parts[0])
    if hint is provenance.Inferred:
        return st.builds(hint, st.text(min_size=1), st.integers(min_value=1))
    if is_dataclass(hint) and isinstance(hint, type):
        found = [d for of, each in DECLARED.items() if issubclass(of, hint) for d in each]
        return st.sampled_from([d for d in found if hint is Table or not isinstance(d, Table)])
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    plain: dict[Any, st.SearchStrategy[Any]] = {
        Any: st.integers() | st.text(),
        NoneType: st.none(),
        bool: st.booleans(),
        date: st.dates(),
        datetime: st.datetimes(),
        float: st.floats() | st.integers(),
        int: st.integers(),
        str: st.text(),
        timedelta: st.timedeltas(),
    }
    return plain[hint]


LEGAL = [(hint, legal(hint)) for hint in HINTS.values()]  # all of them, so that each has an example


@given(st.data())
def test_any_value_of_the_declared_type_fits(data: st.DataObject) -> None:
    hint, values = data.draw(st.sampled_from(LEGAL))
    assert typed.fits(hint)(data.draw(values))


@given(legal_tables, st.data())
def test_any_legal_declaration_is_accepted(arguments: dict[str, Any], data: st.DataObject) -> None:
    declared = Table(**arguments)
    assert replace(declared) == declared
    where = data.draw(st.sampled_from([None, (PROD,), (TEST,), (PROD, TEST)]))
    assert estate(stack(declared, environments=where)).placements()


ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**40, float("nan"), b"", object(), model.Durable, model.Data.PERSONAL, model.NONE, len),
    *("", "x" * 1000, "a\nb", "{", "{}", "{0}", "{env!r}", "{env:5}", "\ud800", "é" * 300),
    *((), ((),), (None,), ("",), ("a", "a"), [], {}, {"a": "b"}, {"": ""}, {1: 2}, {"a\n": "\ud800"}, set()),
    *(date.min, date.max, datetime(2026, 1, 1, tzinfo=UTC), timedelta.min, timedelta(0), timedelta.max),
)


@given(st.data())
def test_whatever_is_written_is_taken_or_refused_in_words(data: st.DataObject) -> None:
    declared = data.draw(
        st.sampled_from([of for of in DECLARED if fields(of)]).flatmap(lambda of: st.sampled_from(DECLARED[of]))
    )
    name = data.draw(st.sampled_from([f.name for f in fields(declared) if f.init]))
    with suppress(DeclarationError):
        replace(declared, **{name: data.draw(st.sampled_from(ODD))})


def test_every_declaration_can_be_declared_anew() -> None:
    for of in DECLARED.values():
        for declared in of:
            assert replace(declared) == declared


# Through the commands

SHOP = """
from datetime import date

from holdfast import Data, Durable, Environment, Estate, Stack, Table, Tier, Transient, Waiver, gsi, key
from holdfast.kinds.table.declaration import Index

PROD = Environment("prod", Tier.PROD, "us-east-1")
ELSEWHERE = Environment("dev", Tier.TEST, "us-east-1")
ORDERS = Table(
    name="orders-{env}",
    purpose="Orders.",
    key=key("id"),
    lifetime=Durable(),
    data=Data.PERSONAL,
    indexes=(gsi("customer"),),
)
STACK = Stack(
    id="Shop-{env}",
    system="shop",
    owner="orders-team",
    environments=(PROD,),
    tables=(ORDERS,),
)
ESTATE = Estate(
    name="shop",
    environments=(PROD,),
    stacks=(STACK,),
)
"""
DURABLE = 'a Durable, such as Durable() or a Transient, such as Transient(ttl="expiresAt")'
# {slip: (what is written, instead of what, in which call, what is said)}
SLIPS: dict[str, tuple[str, str, str, str]] = {
    "a text for an Enum": (
        'data="personal"',
        "data=Data.PERSONAL",
        "Table",
        "Table orders-{env}: data is 'personal', and has to be a Data, such as Data.PERSONAL",
    ),
    "a class for an instance": (
        "lifetime=Durable,",
        "lifetime=Durable(),",
        "Table",
        f"Table orders-{{env}}: lifetime is the class Durable, and has to be {DURABLE}",
    ),
    "a text for a key": (
        'key="id"',
        'key=key("id")',
        "Table",
        "Table orders-{env}: key is 'id', and has to be a Key, such as key(\"id\")",
    ),
    "a field is missing": (
        "",
        "    data=Data.PERSONAL,\n",
        "Table",
        "Table orders-{env}: data is missing, and has to be a Data, such as Data.OPERATIONAL",
    ),
    "a field is unknown": (
        'purpos="Orders."',
        'purpose="Orders."',
        "Table",
        "Table orders-{env}: it has no field purpos; did you mean purpose?",
    ),
    "no comma after an index": (
        'indexes=gsi("customer")',
        'indexes=(gsi("customer"),)',
        "Table",
        "Table orders-{env}: indexes is an Index, and has to be a tuple of Index: write (…,), with a comma at the end",
    ),
    "a list for a tuple": (
        'indexes=[gsi("customer")]',
        'indexes=(gsi("customer"),)',
        "Table",
        "Table orders-{env}: indexes is a list, and has to be a tuple of Index: write (…) instead of […]",
    ),
    "a transient table without an expiry": (
        "lifetime=Transient()",
        "lifetime=Durable()",
        "    lifetime",
        "Transient: ttl is missing, and has to be a text",
    ),
    "a text for environments of a table": (
        'only="prod",\n    data=',
        "data=",
        "Table",
        "Table orders-{env}: only is 'prod', and has to be a tuple of Environment or None",
    ),
    "texts for environments of a stack": (
        'environments=("prod",),\n    tables',
        "environments=(PROD,),\n    tables",
        "Stack",
        "Stack Shop-{env}: environments[0] is 'prod', and has to be an Environment",
    ),
    "no comma after a table": (
        "tables=(ORDERS)",
        "tables=(ORDERS,)",
        "Stack",
        "Stack Shop-{env}: tables is a Table, and has to be a tuple of Table: write (…,), with a comma at the end",
    ),
    "no comma after a stack": (
        "stacks=(STACK)",
        "stacks=(STACK,)",
        "Estate",
        "Estate shop: stacks is a Stack, and has to be a tuple of Stack: write (…,), with a comma at the end",
    ),
    "a text for a tier": (
        'Environment("prod", "prod", "us-east-1")',
        'Environment("prod", Tier.PROD, "us-east-1")',
        "PROD",
        "Environment prod: tier is 'prod', and has to be a Tier, such as Tier.PROD",
    ),
    "a text for a day": (
        'waivers=(Waiver(rule="HF004", environment=PROD, reason="r", owner="o", expires="2027-01-31"),),\n    data=',
        "data=",
        "    waivers",
        "Waiver HF004: expires is '2027-01-31', and has to be a date, such as date(2027, 1, 31)",
    ),
    "a waiver without an environment": (
        'waivers=(Waiver(rule="HF004", reason="r", owner="o", expires=date(2027, 1, 31)),),\n    data=',
        "data=",
        "    waivers",
        "Waiver HF004: environment is missing, and has to be an Environment",
    ),
}
# What the type checker cannot see.
BY_VALUE: dict[str, tuple[str, str, str, str]] = {
    "an environment of another estate": (
        "environments=(ELSEWHERE,),\n    tables",
        "environments=(PROD,),\n    tables",
        "Stack",
        "stack Shop-{env}: dev is not an environment of the estate (prod)",
    ),
    "an impossible name": (
        'name="a b"',
        'name="orders-{env}"',
        "Table",
        "table a b: its name has characters other than",
    ),
    "a table that is nowhere": (
        "only=(),\n    data=",
        "data=",
        "Table",
        "orders-{env}: stack Shop-{env} declares it for no environment; correct environments= or only=",
    ),
    "a region that is none": (
        'region="Ohio",\n    tables',
        "tables",
        "Stack",
        "stack Shop-{env}: 'Ohio' is not a region, such as eu-west-1",
    ),
}


def slipped(folder: Path, written: str, instead_of: str, call: str) -> int:
    """Writes the estate with the slip, and says in which line the call starts that has it."""
    assert SHOP.count(instead_of) == 1
    text = SHOP.replace(instead_of, written)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stacks.py").write_text(text, encoding="utf-8")
    (folder / "pyproject.toml").write_text('[tool.holdfast]\nestate = "stacks:ESTATE"\n', encoding="utf-8")
    lines = text.splitlines()
    return next(
        n for n, line in enumerate(lines, 1) if f"= {call}(" in line or line.startswith((f"{call} =", f"{call}="))
    )


def run(folder: Path, *command: str) -> tuple[int, str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "HOLDFAST_"))}
    env |= {"PYTHONPATH": str(ROOT / "constructs")}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=env, capture_output=True, encoding="utf-8", check=False
    )
    return done.returncode, done.stdout, done.stderr


HOLDFAST = ("-P", "-c", "import sys; from holdfast.cli import main; sys.exit(main())")


def test_the_estate_without_a_slip_is_taken(tmp_path: Path) -> None:
    slipped(tmp_path, "Data.PERSONAL", "Data.PERSONAL", "Table")
    assert run(tmp_path, *HOLDFAST, "list")[0] == 0


@pytest.mark.parametrize("slip", [*SLIPS, *BY_VALUE])
def test_a_slip_is_one_line_that_names_its_own(slip: str, tmp_path: Path) -> None:
    written, instead_of, call, says = (SLIPS | BY_VALUE)[slip]
    line = slipped(tmp_path, written, instead_of, call)
    code, out, err = run(tmp_path, *HOLDFAST, "list")
    assert (code, out) == (2, "")
    assert err.startswith(f"holdfast: stacks.py, line {line}: {says}")
    assert err.count("\n") == 1
    shutil.copy(ROOT / "app.py", tmp_path)
    assert run(tmp_path, "app.py") == (2, "", err)


@pytest.mark.parametrize(
    "command",
    [
        ["accept"],
        ["audit", "--env", "prod"],
        ["check"],
        ["docs", "--check"],
        ["fix", "--env", "prod"],
        ["lint"],
        ["local", "up"],
        ["waivers"],
    ],
    ids=" ".join,
)
def test_every_command_ends_with_that_line(command: list[str], tmp_path: Path) -> None:
    written, instead_of, call, says = SLIPS["texts for environments of a stack"]
    line = slipped(tmp_path, written, instead_of, call)
    assert run(tmp_path, *HOLDFAST, *command) == (2, "", f"holdfast: stacks.py, line {line}: {says}\n")


def test_a_waiver_that_is_over_is_told_with_the_line_of_its_table(tmp_path: Path) -> None:
    over = (
        'waivers=(Waiver(rule="HF401", environment=PROD, reason="r", owner="o", expires=date(2020, 1, 1)),),\n    data='
    )
    line = slipped(tmp_path, over, "data=", "Table")
    code, out, _ = run(tmp_path, *HOLDFAST, "lint", "--select", "HF212")
    assert code == 1
    assert "FAIL  HF212  medium    orders-prod: its waiver of HF401 by o ended on 2020-01-01" in out
    assert f"declared in stacks.py:{line}" in out


def test_a_misspelled_name_ends_the_app_with_one_line(tmp_path: Path) -> None:
    """No declaration, but the same to whoever made it."""
    line = slipped(tmp_path, "Data.PERSONEL", "Data.PERSONAL", "    data")
    shutil.copy(ROOT / "app.py", tmp_path)
    code, out, err = run(tmp_path, "app.py")
    assert (code, out) == (2, "")
    assert err.startswith(f"holdfast: stacks.py, line {line}: ")
    assert "PERSONEL" in err
    assert err.count("\n") == 1


def test_the_type_checker_sees_each_of_them(tmp_path: Path) -> None:
    for n, (written, instead_of, call, _) in enumerate(SLIPS.values()):
        slipped(tmp_path, written, instead_of, call)
        (tmp_path / "stacks.py").rename(tmp_path / f"slip_{n}.py")
    files = [f"slip_{n}.py" for n in range(len(SLIPS))]
    options = ("--strict", "--no-error-summary", "--hide-error-context", "--no-pretty", "--config-file", os.devnull)
    env = {**os.environ, "MYPYPATH": str(ROOT / "constructs")}
    line = [sys.executable, "-m", "mypy", *options, *files]
    done = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, encoding="utf-8", check=False)
    errors = [said.partition(":")[0] for said in done.stdout.splitlines() if ": error: " in said]
    assert sorted(errors) == sorted(files), done.stdout


def test_store_names_may_hold_the_account() -> None:
    cache.Cache(name="orders-{account}-{env}", purpose="p", data=model.Data.OPERATIONAL, families=())
    with pytest.raises(DeclarationError, match=r"bucket .* needs 3 to"):
        bucket.Bucket(name="a-long-name-of-a-bucket-{account}", purpose="p", data=model.Data.OPERATIONAL, prefixes=())


def test_an_estate_is_still_an_estate() -> None:
    assert Estate.__init__.__wrapped__  # type: ignore[attr-defined]
    assert replace(ESTATE, name="other").stacks is ESTATE.stacks
