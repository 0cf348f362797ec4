"""What cannot be accepted: what is not decided yet, and what is secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from holdfast.contract.assembly import load
from holdfast.text import printable

Json = dict[str, Any]
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
UNRESOLVED = re.compile(r"[$#]\{Token\[|dummy-value-for-|unknown-region")
# What CDK puts where a look-up has still to answer.
DUMMY = re.compile(
    r"(.*[:/])?(vpc-12345|[sp]-(12345|67890)|rtb-(12345|67890)[sp]|ami-1234|sg-12345(678)?|vgw-12345|DUMMY|dummy1[a-z]"
    r"|1234abcd-12ab-34cd-56ef-1234567890ab)"
)
SECRETS = re.compile(
    r"\b(AKIA|ASIA)[A-Z0-9]{16}\b|-----BEGIN [A-Z ]*PRIVATE KEY|\bgh[pousr]_[A-Za-z0-9]{36}"
    r"|\bgithub_pat_[A-Za-z0-9_]{22}"
    r"|\bxox[abeprs]-[0-9A-Za-z-]{10}|\b[sr]k_(live|test)_[0-9A-Za-z]{16}|://[^/\s:@]+:[^/\s:@{}]+@"
    r"|\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10}"
)
PASSWORDS = re.compile(r"(Passwords?|Passphrase|AuthToken|SecretString|HECToken|ClientSecret|PrivateKey)$")
BY_NAME = re.compile(r"PASS(WORD|WD|PHRASE)?$|SECRET$|TOKEN$|API_?KEY$|PRIVATE_?KEY$|ACCESS_?KEY$|CREDENTIALS?$", re.I)
WITHIN = re.compile(r"PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|PRIVATE_?KEY", re.I)
PLACE = re.compile(r"_(ARN|NAME|ID|PATH|URL|URI|PARAM|PARAMETER)$|[a-z](Arn|Name|Id|Path|Url|Uri|Param|Parameter)$")
SETTING = re.compile(r"\d{1,9}|true|false", re.I)  # of a variable such as TOKEN_TTL
PLAIN = re.compile(r"[A-Za-z0-9]")
DYNAMIC = re.compile(r"\{\{resolve:[^{}]*\}\}")
ASSIGNED = re.compile(r"\b(\w+)\s*=\s*['\"]?([^\s'\"])")  # in a script
REFERENCE = "${}"  # in place of whatever a function will put there
REFERRING = frozenset({"Fn::ImportValue", "Fn::FindInMap", "Fn::GetAZs"})
CHOOSING = frozenset({"Fn::If", "Fn::Select", "Fn::Split"})  # their first argument is not what they give
VARIABLES = frozenset({"Variables", "EnvironmentVariables", "Environment"})
STAGES = 20
KEEP = "keep it in Secrets Manager, and refer to it"


def unacceptable(contract: Json) -> Iterator[str]:
    """Why a contract cannot be accepted, one place after the other; a secret itself is not repeated."""
    stack = {k: v for k, v in contract.get("stack", {}).items() if k != "environment"}
    parts = {"stack": stack, "template": contract["template"], "nested": contract.get("nested", {})}
    for path, leaf in _leaves(parts, ()):
        where = printable("/".join(path))
        if isinstance(leaf, float) and abs(leaf) > 1e200:
            yield f"{where} is a number that a token has still to decide"
        elif isinstance(leaf, str):
            whole, piece = path[-1:] == ("Fn::Join",), path[-3:-2] == ("Fn::Join",)
            if not whole and (UNRESOLVED.search(leaf) or DUMMY.fullmatch(leaf)):
                yield f"{where} holds {leaf[:60]!r}, which a look-up or a token has still to decide"
            elif not piece and SECRETS.search(leaf):
                yield f"{where} holds a secret: {KEEP}"
            elif not piece and (_named_secret(path, leaf) or ("UserData" in path and _assigned(leaf))):
                yield f"{where} is a secret in plain text: {KEEP}"


def _named_secret(path: tuple[str, ...], leaf: str) -> bool:
    """A password's own property, a variable or a parameter whose name says so; the place of a secret is not one."""
    plain = DYNAMIC.sub("", leaf.replace(REFERENCE, ""))
    if leaf.startswith("arn:") or not PLAIN.search(plain) or _argument(path):
        return False
    names = [step for step in path if not step.isdigit() and not step.startswith("Fn::")]
    last = names[-2] if names[-1:] == ["Default"] else names[-1] if names else ""
    if PASSWORDS.search(last):
        return True
    if "SecretString" in names:
        return bool(BY_NAME.search(last) or WITHIN.search(last))
    given = path[:2] in (("stack", "parameters"), ("template", "Parameters"))
    if PLACE.search(last):
        return False
    if VARIABLES & set(names[:-1]) or given:
        return bool(BY_NAME.search(last)) or bool(WITHIN.search(last) and not SETTING.fullmatch(leaf))
    return bool(BY_NAME.search(last)) and bool({"parameters", "Parameters"} & set(names[:-1]))


def _argument(path: tuple[str, ...]) -> bool:
    """Whether it names something else: a condition, an export, a part of a mapping."""
    return bool(REFERRING & set(path)) or any(a in CHOOSING and b == "0" for a, b in pairwise(path))


def _assigned(script: str) -> bool:
    """Whether a script gives a secret its value, instead of asking for it."""
    return any(
        WITHIN.search(name) and not PLACE.search(name) and first not in "$`" and not script.startswith("arn:", at)
        for name, first, at in ((m[1], m[2], m.start(2)) for m in ASSIGNED.finditer(script))
    )


def _leaves(tree: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if _is_variable(tree):
        yield from _leaves(tree["Value"], (*path, tree["Name"]))
    elif isinstance(tree, dict):
        for name, part in tree.items():
            if name == "Fn::Join":
                yield (*path, name), _joined(part)
            yield from () if name == "Ref" or name == "Fn::GetAtt" else _leaves(part, (*path, name))
    elif isinstance(tree, list):
        for number, part in enumerate(tree):
            yield from _leaves(part, (*path, str(number)))
    else:
        yield path, tree


def _is_variable(tree: Any) -> bool:
    """Whether it is a variable of a container or of a build, and its value the one that it has there."""
    if not isinstance(tree, dict) or not {"Name", "Value"} <= tree.keys() <= {"Name", "Value", "Type"}:
        return False
    return isinstance(tree["Name"], str) and tree.get("Type", "PLAINTEXT") == "PLAINTEXT"


def _joined(arguments: Any) -> str:
    """The text that a join makes, as far as it is known."""
    match arguments:
        case [str(between), list(parts)]:
            return between.join(p if isinstance(p, str) else REFERENCE for p in parts)
    return ""


def missing(assembly: Path, depth: int = 0) -> Iterator[str]:
    """The look-ups that an assembly, or one inside of it, waits for."""
    manifest = load(assembly / "manifest.json")
    for entry in manifest.get("missing") or ():
        yield str(entry.get("provider", entry)) if isinstance(entry, dict) else str(entry)
    artifacts = manifest.get("artifacts")
    for artifact in artifacts.values() if isinstance(artifacts, dict) and depth < STAGES else ():
        if isinstance(artifact, dict) and artifact.get("type") == "cdk:cloud-assembly":
            name = (artifact.get("properties") or {}).get("directoryName")
            if isinstance(name, str) and (assembly / name).resolve().is_relative_to(assembly.resolve()):
                yield from missing(assembly / name, depth + 1)
