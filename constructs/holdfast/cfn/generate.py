"""Writes schemas.json, the facts of the public resource schemas, from cfn-lint's package (`make schemas`)."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from holdfast.cfn.facts import FILE, LISTS, SCALARS
from holdfast.cfn.overrides import OVERRIDES, Override
from holdfast.errors import InputError

Schema = Mapping[str, Any]
Tree = dict[str, list[Schema]]  # by path: all that the schema says of that place
Facts = dict[str, Any]

# The stores, and whatever can reach, copy, trigger on, encrypt, watch or delete them; of EC2 the network alone.
MATTERING = re.compile(
    r"""AWS::(
        ApplicationAutoScaling | Backup | CloudFormation | CloudWatch | DAX | DMS | DocDB\w* | DynamoDB | ElastiCache |
        Events | IAM | KMS | KafkaConnect | Kinesis | KinesisFirehose | Lambda | Logs | MSK | Pipes | RAM | RDS |
        S3\w* | SNS | SQS | SSM | Scheduler | SecretsManager | ServiceDiscovery | StepFunctions
    )::
    | AWS::EC2::(
        DHCPOptions | EIP | EgressOnly | FlowLog | InternetGateway | NatGateway | NetworkAcl | NetworkInterface |
        PrefixList | Route | SecurityGroup | Subnet | TransitGateway | VPC
    )""",
    re.VERBOSE,
)
POINTERS = {
    "create_only": "createOnlyProperties",
    "conditional_create_only": "conditionalCreateOnlyProperties",
    "write_only": "writeOnlyProperties",
    "read_only": "readOnlyProperties",
}


def schemas() -> dict[str, Schema]:
    """The public schema of each type that matters: the package's own files, not what cfn-lint downloads later."""
    spec = find_spec("cfnlint")
    if spec is None or spec.origin is None:
        raise InputError("cfn-lint is not installed; it is one of the dev dependencies: make setup")
    data = Path(spec.origin).with_name("data") / "schemas"
    names = json.loads((data / "providers" / "us-east-1.json").read_bytes())
    return {
        name: json.loads((data / "resources" / f"{digest}.json").read_bytes())
        for name, digest in sorted(names.items())
        if MATTERING.match(name)
    }


def tree(schema: Schema) -> Tree:
    """Every place of a resource by its path, ``*`` for the items of a list and the keys of a map."""
    found: Tree = {}
    _walk(schema, schema, (), (), found)
    return found


def _walk(root: Schema, part: Schema, path: tuple[str, ...], refs: tuple[str, ...], found: Tree) -> None:
    for said, seen in _variants(root, part, refs):
        found.setdefault("/".join(path), []).append(said)
        for step, child in _children(said):
            _walk(root, child, (*path, step), seen, found)


def _variants(root: Schema, part: Schema, refs: tuple[str, ...]) -> Iterator[tuple[Schema, tuple[str, ...]]]:
    """What a part says itself, by reference and in its alternatives; a reference inside itself ends."""
    while "$ref" in part:
        ref = part["$ref"]
        if ref in refs:
            return
        refs = (*refs, ref)
        part = {**_resolve(root, ref), **{k: v for k, v in part.items() if k != "$ref"}}
    yield part, refs
    for word in ("allOf", "anyOf", "oneOf"):
        for alternative in part.get(word, ()):
            yield from _variants(root, alternative, refs)


def _resolve(root: Schema, ref: str) -> Schema:
    part: Any = root
    for step in ref.split("/")[1:]:
        part = part[step]
    return dict(part)


def _children(part: Schema) -> Iterator[tuple[str, Schema]]:
    yield from part.get("properties", {}).items()
    of_any_name = [*part.get("patternProperties", {}).values(), part.get("additionalProperties"), part.get("items")]
    yield from (("*", child) for child in of_any_name if isinstance(child, dict))


def extract(schema: Schema) -> Facts:
    """What a schema says, before the overrides."""
    places = tree(schema)
    del places[""]
    facts: Facts = {fact: set(_paths(schema.get(word, ()))) for fact, word in POINTERS.items()}
    facts |= {fact: set() for fact in LISTS if fact not in facts}
    parents = {path.rpartition("/")[0] for path in places}
    for path, said in places.items():
        for fact in _place(said, inner=path in parents):
            facts[fact].add(path)
    identifiers = [schema["primaryIdentifier"], *schema.get("additionalIdentifiers", ())]
    facts["identity"] = [_paths(one) for one in identifiers]
    (tags,) = _paths([schema.get("tagging", {}).get("tagProperty", "/properties/Tags")])
    facts["tags"] = tags if tags in places else ""
    return facts


def _paths(pointers: Iterable[str]) -> list[str]:
    return [pointer.removeprefix("/properties/") for pointer in pointers]


def _place(said: list[Schema], *, inner: bool) -> Iterator[str]:
    """Which facts hold at one place."""
    lists = [one for one in said if _types(one) == ["array"]]
    kinds = {kind for one in said for kind in _types(one)}
    if any(_set(one) for one in lists):
        yield "unordered"
    elif not lists and any(_free(one, inner=inner) for one in said):
        yield "free_json"
    elif not lists:
        yield from [kind for kind in SCALARS if kind in kinds][:1]


def _types(said: Schema) -> list[str]:
    types = said.get("type", [])
    return [types] if isinstance(types, str) else types


def _set(said: Schema) -> bool:
    """Order counts unless the schema denies it, or says that items are unique and nothing of their order."""
    return said.get("insertionOrder", not said.get("uniqueItems")) is False


def _free(said: Schema, *, inner: bool) -> bool:
    """An object of any content, or one that may be given as a string of JSON."""
    if "object" not in _types(said):
        return said.get("format") == "json"
    return "string" in _types(said) or not (inner or said.get("additionalProperties") is False)


def facts_of(name: str, schema: Schema) -> Facts:
    """What is true of a type: the schema's word, then ours where it errs."""
    places, facts = tree(schema), extract(schema)
    for one in OVERRIDES:
        for path in concerned(one, name, places):
            facts.get(one.drop, set()).discard(path)
            facts.get(one.add, set()).add(path)
    return facts


def concerned(override: Override, name: str, places: Tree) -> Iterator[str]:
    """The paths of a type that an override is about; ``**/X`` are the lists X at any depth."""
    for path in (*override.where.get(name, ()), *override.where.get("*", ())):
        if path.startswith("**/"):
            for place, said in places.items():
                if f"/{place}".endswith(path[2:]) and ["array"] in map(_types, said):
                    yield place
        else:
            yield path


def text() -> str:
    """The file: JSON with one line per type, facts that hold nowhere left out."""
    lines = []
    for name, schema in schemas().items():
        facts = {k: sorted(v) if isinstance(v, set) else v for k, v in facts_of(name, schema).items() if v}
        lines.append(f"{json.dumps(name)}: {json.dumps(facts, sort_keys=True, separators=(',', ':'))}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> None:
    FILE.write_bytes(text().encode())
    print(f"wrote {FILE.name}")


if __name__ == "__main__":
    try:
        main()
    except (InputError, OSError) as error:
        sys.exit(f"holdfast: {error}")
