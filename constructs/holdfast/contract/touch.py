"""What undeclared stacks do to declared stores: grants, triggers, copies, a second store of the same name. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from holdfast.cfn.tree import items, mapping, parts, read
from holdfast.cfn.types import KEY, SELECTION
from holdfast.contract import grants, policies
from holdfast.contract.guards import STORES, store_name, type_of
from holdfast.contract.hidden import CUSTOM, ELSEWHERE, LANGUAGE
from holdfast.contract.pairing import resources
from holdfast.contract.tags import with_our_names
from holdfast.contract.words import few
from holdfast.kinds.table.observed import TABLE

Json = dict[str, Any]
WORD = re.compile(r"[A-Za-z0-9_.*?-]+")
# To know a name does not give access to the store; a role or a policy does.
HARMLESS = (
    "AWS::CloudWatch::",
    "AWS::ECS::TaskDefinition",
    "AWS::Lambda::Function",
    "AWS::Logs::",
    "AWS::SSM::Parameter",
)
TRIGGERS = ("AWS::Lambda::EventSourceMapping", "AWS::Pipes::", "AWS::Events::", "AWS::Scheduler::", "AWS::Kinesis")
COPIES = ("AWS::Backup::", "AWS::DMS::", "AWS::Glue::", "AWS::DataPipeline::", "AWS::OSIS::", "AWS::S3")
IDENTITY = ("AWS::IAM::", "AWS::SSO::", "AWS::Serverless::")
DEPLOYING = ("assumeRoleArn", "cloudFormationExecutionRoleArn")
EVERYTHING = re.compile(r"\*|arn:[^:]*:s3:::\*.*|arn:[^:]*:(?!s3:)[^:]*:[^:]*:[^:]*:(\*|[a-z-]+[/:]\*)")
BROAD = re.compile(
    r":policy/(AdministratorAccess|PowerUserAccess|ReadOnlyAccess|IAMFullAccess|AWSCloudFormationFullAccess"
    r"|(?:service-role/)?A(?:mazon|WS)"
    r"(?:DynamoDB|RDS|S3|ElastiCache|MSK|DocDB|KeyManagementService|Backup)\w*(?:Full|Power|Admin|ReadOnly)\w*)"
)


@dataclass(frozen=True, slots=True)
class Touch:
    stack: str
    resource: str
    store: str | None  # None where it is about all of them
    says: str
    sure: bool = True  # else a deploy decides whether it does


@dataclass(frozen=True, slots=True)
class _Known:
    """How declared stores can be named from elsewhere."""

    names: frozenset[str]
    stacks: frozenset[str]
    roles: frozenset[str]
    tags: frozenset[tuple[str, str]]
    exports: Mapping[str, _Named]
    theirs: frozenset[str]  # exports of the other undeclared stacks


@dataclass(frozen=True, slots=True, order=True)
class _Named:
    """What something names: a store, or in words what is not one."""

    words: str
    is_store: bool = True

    @property
    def store(self) -> str | None:
        return self.words if self.is_store else None


def touches(strangers: Mapping[str, Json], ours: Mapping[str, Json]) -> Iterator[Touch]:
    """Both by stack id, as contracts."""
    tags = frozenset(t for c in ours.values() for p in _parts(c) for r in _stores(p) for t in _tags(r))
    ours = {id_: with_our_names(c) for id_, c in ours.items()}
    stores = [r for c in ours.values() for p in _parts(c) for r in _stores(p)]
    stacks = [s for c in ours.values() if isinstance(s := c.get("stack"), dict)]
    known = _Known(
        names=frozenset(name for r in stores if (name := store_name(r))),
        stacks=frozenset(str(s["name"]) for s in stacks if "name" in s),
        roles=frozenset(str(s[k]).rpartition("/")[2] for s in stacks for k in DEPLOYING if k in s),
        tags=tags,
        exports=dict(_exports(ours)),
        theirs=frozenset(name for c in strangers.values() for p in _parts(c) for name, _ in _exported(p)),
    )
    for id_, contract in strangers.items():
        for part in _parts(contract):
            found = list(_of_part(id_, part, grants.scope(part, contract.get("stack", {})), known))
            yield from found or _rewritten(id_, part, known)


def _stores(part: Json) -> list[Json]:
    return [r for r in resources(part).values() if type_of(r) in STORES]


def _of_part(id_: str, part: Json, at: grants.Scope, known: _Known) -> Iterator[Touch]:
    for logical_id, resource in resources(part).items():
        for store, says in dict.fromkeys(_of(resource, known)):
            yield Touch(id_, logical_id, store, says)
        for store, says, sure in dict.fromkeys(_granted(resource, at, known)):
            yield Touch(id_, logical_id, store, says, sure)
        if says := _hides(logical_id, resource, part, known):
            yield Touch(id_, logical_id, None, says, sure=False)


def _of(resource: Json, known: _Known) -> Iterator[tuple[str | None, str]]:
    kind = str(resource.get("Type"))
    if kind.startswith(IDENTITY):
        for broad in BROAD.findall(json.dumps(resource)):
            yield None, f"{kind} has the managed policy {broad}, which reaches every store"
    if kind == SELECTION and (how := _selected(read(resource, ("Properties", "BackupSelection")), known)):
        yield None, f"{kind} copies stores: it selects {how}"
    if kind.startswith(HARMLESS):
        return
    rest = {k: v for k, v in resource.items() if k != "Metadata"}
    for named in sorted(_mentioned(_without_statements(rest), known)):
        if kind != TABLE or named.store != store_name(resource):  # a second table of a name has a rule of its own
            yield named.store, f"{kind} {_verb(kind, resource, named)} {named.words}"


def _granted(resource: Json, at: grants.Scope, known: _Known) -> Iterator[tuple[str | None, str, bool]]:
    kind = str(resource.get("Type"))
    for statement in (s.body for s in policies.statements(resource)):
        told: set[str] = set()
        for g in grants.granted(statement, at, stores=known.names, stacks=known.stacks, roles=known.roles):
            if not g.names and not kind.startswith(IDENTITY):  # in the policy of a resource, * is that resource
                continue
            told |= set(g.names) or known.names
            where = (
                f"every {g.noun}" if not g.names else f"{'' if g.noun == 'store' else f'the {g.noun} '}{few(g.names)}"
            )
            store = g.names[0] if len(g.names) == 1 and g.noun == "store" else None
            says = f"may allow {g.actions} on {where}: {g.why}" if g.why else f"allows {g.actions} on {where}"
            yield store, f"{kind} {says}", not g.why
        if actions := grants.reaching(statement, at):
            for named in sorted(_mentioned(statement.get("Resource"), known)):
                if named.words not in told:
                    yield named.store, f"{kind} allows {actions} on {named.words}", True
    managed = read(resource, ("Properties", "ManagedPolicyArns")) if kind.startswith(IDENTITY) else None
    if managed is not None and any(t.startswith(grants.HOLE) for t in grants.texts(managed, at)):
        yield None, f"{kind} may have a managed policy that reaches every store: a deploy decides which", False


def _hides(logical_id: str, resource: Json, part: Json, known: _Known) -> str:
    """What something else makes, which may reach any store."""
    kind = str(resource.get("Type"))
    if kind in ELSEWHERE and logical_id not in part.get("nested", {}):
        if read(resource, ("Properties", "TemplateBody")) is None:
            return f"{kind} is made by {ELSEWHERE[kind]}, which may reach any store"
    elif CUSTOM.match(kind):
        token = read(resource, ("Properties", "ServiceToken"))
        own = any(name in resources(part) for name in _references(token))
        theirs = isinstance(token, dict) and token.get("Fn::ImportValue") in known.theirs
        if token is not None and not own and not theirs:
            return f"the function behind {kind} is not in the output, and may reach any store"
    return ""


def _rewritten(id_: str, part: Json, known: _Known) -> Iterator[Touch]:
    """A macro, an include or a loop, where it has the name of a declared store to work with."""
    macros = [m for m in grants.flattened(part["template"].get("Transform", [])) if m != LANGUAGE]
    written = json.dumps(part["template"])
    rewritten = macros or any(mark in written for mark in ("Fn::Transform", "Fn::ForEach"))
    if rewritten and (named := sorted(_mentioned(part["template"], known))):
        words = few(n.words for n in named)
        store = named[0].store if len(named) == 1 else None
        yield Touch(id_, "", store, f"a macro or a loop may make something that acts on {words}", sure=False)


def _selected(selection: Any, known: _Known) -> str:
    """By what a selection of backups picks declared stores without naming one."""
    if any(_everything(r) for r in items(read(selection, ("Resources",)))):
        return "every resource"
    for tag in items(read(selection, ("ListOfTags",))):
        match tag:
            case {"ConditionKey": str(key), "ConditionValue": str(value)} if (key, value) in known.tags:
                return f"by the tag {key}={value}"
    return ""


def _tags(resource: Json) -> list[tuple[str, str]]:
    tags = mapping(read(resource, ("Properties", "Tags")))
    return [(name, value) for name, value in tags.items() if isinstance(value, str)]


def _verb(kind: str, resource: Json, named: _Named) -> str:
    if kind in STORES and store_name(resource) == named.store:
        return "makes a second"
    if kind.startswith(TRIGGERS):
        return "is triggered by"
    if kind.endswith(("Policy", "Grant")):
        return "is a policy about"
    if kind.startswith(COPIES):
        return "copies or opens"
    return "acts on"


def _everything(resource: Any) -> bool:
    """Whether a pattern of a policy names no resource in particular."""
    match resource:
        case {"Fn::Join": ["", list(parts)]}:
            resource = "".join(p if isinstance(p, str) else "_" for p in parts)
    return isinstance(resource, str) and EVERYTHING.fullmatch(resource) is not None


def _mentioned(tree: Any, known: _Known) -> set[_Named]:
    """What a tree names: by name, in an ARN, by a pattern, or by the import of an export."""
    found: set[_Named] = set()
    waiting = [tree]
    while waiting:
        match waiting.pop():
            case str() as text:
                for word in WORD.findall(text):
                    if word in known.names:
                        found.add(_Named(word))
                    elif len(word) > 2 and ("*" in word or "?" in word) and word.strip("*?"):
                        found |= {_Named(n) for n in known.names if fnmatchcase(n, word)}
            case {"Fn::ImportValue": str(name)}:
                found |= {known.exports[name]} if name in known.exports else set()
            case dict() as inner:
                waiting.extend(inner.values())
            case list() as inner:
                waiting.extend(inner)
    return found


# What is declared


def _exports(ours: Mapping[str, Json]) -> Iterator[tuple[str, _Named]]:
    """Exports whose value is a store or a key."""
    for id_, contract in ours.items():
        for part in _parts(contract):
            known = resources(part)
            for name, value in _exported(part):
                for logical_id in _references(value):
                    resource = known.get(logical_id, {})
                    if store := store_name(resource):
                        yield name, _Named(store)
                    elif resource.get("Type") in (*STORES, KEY):
                        yield name, _Named(f"{logical_id} of {id_}", is_store=False)


def _exported(part: Json) -> Iterator[tuple[str, Any]]:
    for output in mapping(part["template"].get("Outputs")).values():
        match output:
            case {"Export": {"Name": str(name)}, "Value": value}:
                yield name, value


def _references(value: Any) -> Iterator[str]:
    for part in parts(value):
        match part:
            case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), _]}:
                yield name


def _parts(contract: Json) -> Iterator[Json]:
    """A contract and its nested stacks."""
    yield contract
    for nested in contract.get("nested", {}).values():
        yield from _parts(nested)


def _without_statements(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {k: _without_statements(v) for k, v in tree.items() if k != "Statement"}
    return [_without_statements(v) for v in tree] if isinstance(tree, list) else tree
