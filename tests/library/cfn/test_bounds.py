"""Small inputs that would hang, overflow or mislead: each is read within bounds, or refused in one clear line."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import Json

from holdfast.cfn import compare, normal
from holdfast.cfn.intrinsics import Resolver
from holdfast.contract import assembly, files
from holdfast.errors import InputError
from holdfast.unknown import Unknown


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    """Far above what any of these takes, far below what a bomb takes that goes off."""
    began = time.process_time()
    yield
    assert time.process_time() - began < 60


def nested(levels: int, inner: Any, name: str = "a") -> Any:
    for _ in range(levels):
        inner = {name: inner}
    return inner


# JSON from outside

BROKEN = [
    (b"", "it is empty"),
    (b" \n", "it is empty"),
    (b"{", "Expecting property name"),
    (b"[" * 100_000, "it nests deeper than"),
    (b'{"a":' * 900 + b"1" + b"}" * 900, "it nests deeper than"),
    (b"\xff\xfe{", "it is not text in UTF-8"),
    (b"\xef\xbb\xbf{}", "it begins with a byte order mark"),
    (b"\x1f\x8b\x08" + bytes(3_000_000), "it is compressed"),
    (b'{"stack": {}, "stack": {}, "template": {}}', "'stack' stands twice in one object"),
    (b'{"a": NaN}', "NaN is not a number that JSON knows"),
    (b'{"a": -Infinity}', "-Infinity is not a number that JSON knows"),
    (b'{"a": 1e999}', "1e999 is larger than a number can be"),
    (b'{"a": ' + b"1" * 5000 + b"}", "a number has 5000 digits"),
    (b"[" + b"{}," * 400_000 + b"1]", "it holds more than 300,000 objects and lists"),
]


@pytest.mark.parametrize(("content", "says"), BROKEN, ids=[says for _, says in BROKEN])
def test_what_is_not_json_is_one_clear_line(content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    for read, advice in ((assembly.load, "run `cdk synth"), (files.read, "write it with make accept")):
        with pytest.raises(InputError) as refused:
            read(path)
        said = str(refused.value)
        assert (says in said, advice in said, "\n" in said, len(said) < 400) == (True, True, False, True), said


def test_only_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("/dev/zero", tmp_path / "pipe", tmp_path, tmp_path / "link", tmp_path / "\ud800", tmp_path / "a\0b"):
        for read in (assembly.load, files.read):
            with pytest.raises(InputError):
                read(Path(name))
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(5_000_000_000)
    for read in (assembly.load, files.read):
        with pytest.raises(InputError, match="MB"):
            read(tmp_path / "huge")


STACK: Json = {"name": "S", "environment": None, "dependencies": []}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[]", "no stack and template"),
        (b"{}", "no stack and template"),
        (b'{"stack": {"name": "S"}, "template": []}', "no stack and template"),
        (b'{"stack": {}, "template": {}}', "its stack has no name"),
        (b'{"stack": {"name": []}, "template": {}}', "its stack has no name"),
        (b'{"stack": {"name": "S", "environment": 1}, "template": {}}', "the environment of its stack is not a text"),
        (b'{"stack": {"name": "S", "dependencies": "x"}, "template": {}}', "the dependencies of its stack"),
        (b'{"stack": {"name": "S"}, "template": {"Resources": "x"}}', "a section of its template is not an object"),
        (b'{"stack": {"name": "S"}, "template": {"Resources": {"A": []}}}', "'A' of its template has no Type"),
        (b'{"stack": {"name": "S"}, "template": {"Resources": {"A": {"Type": {}}}}}', "'A' of its template has no Typ"),
        (b'{"stack": {"name": "S"}, "template": {}, "acknowledged": {"a": ["b"]}}', "acknowledged is not reasons"),
        (b'{"stack": {"name": "S"}, "template": {}, "code": {"a": "b"}}', "code is not digests"),
        (b'<<<<<<< HEAD\n{"a": 1}\n=======\n{"a": 2}\n>>>>>>> x\n', "is half merged: `git checkout --ours"),
        (b'{"version": 99, "stack": {}, "template": {}}', "has version 99, and this Holdfast knows up to 1: update"),
        (b'{"version": "1", "stack": {}, "template": {}}', "has version '1', and"),
        (b'{"version": -1, "stack": {}, "template": {}}', "has version -1, and"),
    ],
)
def test_a_damaged_contract_is_one_clear_line(content: bytes, says: str) -> None:
    with pytest.raises(InputError, match=r"snapshots/x\.json") as damaged:
        files.parse(content, "snapshots/x.json")
    assert says in str(damaged.value)
    assert "\n" not in str(damaged.value)


def test_half_a_character_is_kept_and_written_as_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"Resources": {"A": {"Type": "T", "Properties": {"X": "\\ud800"}}}}')
    template = normal.template(assembly.load(path))
    contract = {"version": 1, "stack": STACK, "template": template}
    assert "\\ud800" in files.text(contract)
    assert files.parse(files.text(contract).encode("ascii"), "x") == contract


# Templates


def properties(value: Any, **sections: Json) -> Json:
    return {"Resources": {"A": {"Type": "T", "Properties": {"X": value}}}, **sections}


def spelled(levels: int, inner: Any) -> Any:
    for _ in range(levels):
        inner = {"Fn::Sub": ["${X}" * 10, {"X": inner}]}
    return inner


CHAIN: Json = {f"C{n}": {"Fn::And": [{"Condition": f"C{n + 1}"}] * 10} for n in range(2_000)}
NAMES = {
    f"T{n}": {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {"TableName": {"Fn::Join": ["", [{"Ref": f"T{n + 1}"}] * 9]}},
    }
    for n in range(200)
}
ITSELF = {"M": {"a": {"b": {"Fn::FindInMap": ["M", "a", "b"]}}}}
BOMBS: dict[str, Json] = {
    "a chain of Fn::And": properties(
        {"Fn::If": ["C0", 1, 2]}, Conditions=CHAIN | {"C2000": {"Fn::Equals": ["a", "a"]}}
    ),
    "one that nothing decides": properties(1, Conditions=CHAIN | {"C2000": {"Fn::Equals": [{"Ref": "P"}, "a"]}}),
    "a condition of itself": properties(1, Conditions={"C": {"Fn::Not": [{"Condition": "C"}]}}),
    "holes that never end": properties({"Fn::Sub": "${" * 200_000}),
    "holes with words": properties({"Fn::Sub": "${a" * 200_000}),
    "a text of texts of texts": properties(spelled(30, "x")),
    "a text of references": properties(spelled(30, {"Ref": "P"})),
    "a long join": properties({"Fn::Join": [",", ["x"] * 200_000]}),
    "long words between": properties({"Fn::Join": ["y" * 1_000, ["x"] * 50_000]}),
    "a mapping of itself": properties({"Fn::FindInMap": ["M", "a", "b"]}, Mappings=ITSELF),
    "many names that nothing uses": properties("x" * 1_000_000, Parameters={f"P{n}": {} for n in range(50_000)}),
    "names of names": {"Resources": NAMES},
    "a name of itself": {
        "Resources": {"A": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Fn::Sub": "${A}x"}}}}
    },
    "900 levels": properties(nested(900, 1)),
    "as many as are read": properties(nested(95, 1)),
    "joins in joins": properties({"Fn::Join": ["", [nested(90, "x", "Fn::Base64"), "y"]]}),
    "{} where a name is meant": {
        "Resources": {
            "A": {"Type": {}, "Condition": {}, "Properties": {"X": {"Ref": {}}, "Y": {"Fn::GetAtt": {}}}},
            "B": {"Type": "T", "Properties": {"X": {"Fn::Sub": {}}, "Y": {"Fn::Sub": ["${a}", []]}}},
            "C": {"Type": "T", "Properties": {"X": {"Fn::If": [{}, 1, 2]}, "Y": {"Fn::Select": ["\u00b2", ["a"]]}}},
        }
    },
    "nothing": {"Resources": {"A": {"Type": "T", "Properties": {"Ref": "AWS::NoValue"}}}},
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_template_is_read_within_bounds(name: str) -> None:
    template = BOMBS[name]
    with contextlib.suppress(InputError):
        made = normal.template(template)
        assert normal.template(made) == made
        assert files.text(made)
    resolver = Resolver(template, None)
    for logical_id, resource in template["Resources"].items():
        resolver.value(resource["Properties"])
        resolver.text({"Ref": logical_id})
        resolver.condition(resource.get("Condition"))
        resolver.condition("C0")


def test_what_is_decided_stays_decided() -> None:
    resolver = Resolver(BOMBS["a chain of Fn::And"], None)
    assert resolver.condition("C0") is True
    assert normal.template(BOMBS["a chain of Fn::And"]) == properties(1)
    for name in ("one that nothing decides", "a condition of itself"):
        (first, *_) = BOMBS[name]["Conditions"]
        assert isinstance(Resolver(BOMBS[name], None).condition(first), Unknown)
    assert isinstance(Resolver(BOMBS["a name of itself"], None).text({"Ref": "A"}), Unknown)


def test_a_reference_is_one_however_it_is_spelled() -> None:
    resolver = Resolver({"Resources": {"Key": {"Type": "AWS::KMS::Key"}}}, None)
    spellings: list[Any] = [{"Fn::Sub": "${Key.Arn}"}, {"Fn::Join": ["", [{"Fn::GetAtt": "Key.Arn"}]]}]
    assert {resolver.value(s) for s in spellings} == {resolver.value({"Fn::GetAtt": ["Key", "Arn"]})}


def calls(work: Callable[[], object]) -> int:
    """How many functions are called: the same on every machine, however busy it is."""
    counted = 0

    def count(*_: object) -> None:
        nonlocal counted
        counted += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda n: n, lambda n: -n),
        (lambda n: {"x": n}, lambda n: {"x": n + 10_000}),
        (lambda n: {"Sid": str(n), "x": 1}, lambda n: {"Sid": str(n), "x": 2}),
    ],
    ids=["other numbers", "other objects", "changed statements"],
)
def test_the_work_of_a_comparison_grows_with_the_list(
    before: Callable[[int], Any], after: Callable[[int], Any]
) -> None:
    def work(count: int) -> int:
        lists = ([make(n) for n in range(count)][::step] for make, step in ((before, 1), (after, -1)))
        return calls(lambda pair=tuple(lists): list(compare.differences(*pair)))  # type: ignore[misc]

    assert work(2000) < 2.5 * work(1000)


def test_a_statement_with_one_action_more_is_one_change() -> None:
    before = [{"Effect": "Allow", "Action": ["b"], "Resource": [r]} for r in ("x", "y")]
    after = [{**before[1], "Action": ["a", "b"]}, {**before[0], "Action": ["a", "b"]}]
    found = list(compare.differences(before, after, ("Statement",)))
    assert [(d.path, d.before, d.after) for d in found] == [
        (("Statement", "0", "Action"), compare.ABSENT, ["a"]),
        (("Statement", "1", "Action"), compare.ABSENT, ["a"]),
    ]
