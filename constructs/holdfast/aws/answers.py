"""The one gate for answers: each has the shape that the service's own model declares, and what is read of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from botocore.parsers import ResponseParserFactory

from holdfast.aws.failure import CallError, Kind
from holdfast.shared.calls import Call

Fit = Callable[[Any], None]
SCALARS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "character": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "long": (int,),
    "float": (float, int),
    "double": (float, int),
    "timestamp": (datetime, float, int),  # DynamoDB's are numbers as they come
    "blob": (bytes,),
}
# Answers of S3 without any member that must be there: a web page would be one of them.
LOCATION = "LocationConstraint"
ROOTS = {
    "GetBucketLocationOutput": LOCATION,
    "GetBucketVersioningOutput": "VersioningConfiguration",
    "GetBucketLoggingOutput": "BucketLoggingStatus",
}
DOCUMENT = "policyDocumentType"  # IAM's: botocore has parsed it


class OddTextError(ValueError):
    """Text where XML should say something else; its message is for people."""


class _OddError(Exception):
    """Where an answer is odd, from the inside out, and what is odd there."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why, self.path = why, list[str]()


def gate(call: Call, model: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What lets the answers of one operation through; CallError where one has another shape."""
    shape = model.operation_model(call.operation).output_shape
    fit = _checked(shape, _tree([*([call.member] if call.member else ()), *call.needs]), ())

    def through(answer: dict[str, Any]) -> dict[str, Any]:
        answer = {name: inside for name, inside in answer.items() if inside is not None}
        try:
            fit(answer)
        except _OddError as odd:
            where = ".".join(reversed(odd.path)) or "it"
            raise CallError(call, Kind.OTHER, f"{call.operation} was answered oddly: {where} {odd.why}") from None
        return answer

    return through


def _tree(paths: Iterable[str]) -> dict[str, Any]:
    """Dotted paths as a tree; a path asks for its last member wherever the others are there."""
    found: dict[str, Any] = {}
    for path in paths:
        *before, last = path.split(".")
        at = found
        for step in before:
            at = at.setdefault(step, {})
        at.setdefault(last, {})[""] = True
    return found


def _checked(shape: Any, needs: Mapping[str, Any], around: tuple[str, ...]) -> Fit:
    kind = shape.type_name
    if shape.name in around:
        return lambda value: None  # it holds itself, and nothing of that is read
    around = (*around, shape.name)
    if kind == "structure":
        members = {name: _checked(member, needs.get(name, {}), around) for name, member in shape.members.items()}
        return _structure(members, [name for name, inside in needs.items() if name and "" in inside])
    if kind == "list":
        return _list(_checked(shape.member, needs, around))
    if kind == "map":
        return _map(_checked(shape.value, needs, around))
    return _scalar(kind, shape.name == DOCUMENT)


def _structure(members: Mapping[str, Fit], needed: Iterable[str]) -> Fit:
    def fit(value: Any) -> None:
        if not isinstance(value, dict):
            raise _OddError("is no object")
        for name, inside in value.items():
            if name in members:
                _inside(members[name], inside, name)
        for name in needed:
            if name not in value:
                odd = _OddError("is missing")
                odd.path.append(name)
                raise odd

    return fit


def _list(member: Fit) -> Fit:
    def fit(value: Any) -> None:
        if not isinstance(value, list):
            raise _OddError("is no list")
        for inside in value:
            member(inside)

    return fit


def _map(member: Fit) -> Fit:
    def fit(value: Any) -> None:
        if not isinstance(value, dict):
            raise _OddError("is no object")
        for name, inside in value.items():
            _inside(member, inside, str(name))

    return fit


def _inside(fit: Fit, value: Any, name: str) -> None:
    try:
        fit(value)
    except _OddError as odd:
        odd.path.append(name)
        raise


def _scalar(kind: str, document: bool) -> Fit:
    wanted = (dict,) if document else SCALARS[kind]

    def fit(value: Any) -> None:
        if not isinstance(value, wanted) or (isinstance(value, bool) and kind != "boolean"):
            raise _OddError("is no policy" if document else f"is no {kind}")

    return fit


class Strict(ResponseParserFactory):  # type: ignore[misc]
    """botocore's parsers, but for what they take for false or for empty although XML says something else."""

    def create_parser(self, protocol_name: str) -> Any:
        parser = super().create_parser(protocol_name)
        parse = parser._parse_shape

        def strictly(shape: Any, node: Any) -> Any:
            if not hasattr(node, "tag"):
                return parse(shape, node)  # JSON, which says itself what is what
            text, tag = (node.text or "").strip(), node.tag.rpartition("}")[2]
            if shape.type_name == "boolean":
                if text not in ("true", "false"):
                    raise OddTextError(f"{tag} is neither true nor false")
                return text == "true"
            if ROOTS.get(shape.name, tag) != tag:
                raise OddTextError(f"{tag or 'nothing'} where {ROOTS[shape.name]} is expected")
            if text and shape.type_name in ("structure", "list", "map") and tag != LOCATION:
                raise OddTextError(f"{tag} is text")
            return parse(shape, node)

        parser._parse_shape = strictly
        return parser
