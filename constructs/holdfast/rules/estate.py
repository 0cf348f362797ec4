"""Estate: what is declared exists, once, where it is declared, and nothing else does."""

from __future__ import annotations

from typing import Any

from holdfast.cfn.places import at
from holdfast.cfn.template import HIDING
from holdfast.kinds.kinds import IDENTITY
from holdfast.kinds.table.declaration import Table
from holdfast.kinds.table.observed import GLOBAL_TABLE, TABLE
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.presence import store
from holdfast.rules.subjects import Expected, Presence, Resource, StackSubject, Stranger
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Verdict, fail, unknown


def there(s: Expected) -> Verdict:
    """Whether a declared table or store is in its stack."""
    return unknown(s.absent.reason) if isinstance(s.absent, Unknown) else fail(s.absent) if s.absent else PASS


def once(s: Expected) -> Verdict:
    return fail(f"it also stands in {', '.join(s.others)}") if s.others else PASS


def still_a_table(s: Expected) -> Verdict:
    if s.type != GLOBAL_TABLE:
        return PASS if isinstance(s.about, Table) else EXEMPT
    return fail(f"it is an {GLOBAL_TABLE}, declared is {TABLE}")


def undeclared(s: Stranger) -> Verdict:
    return fail(f"{s.where} is declared nowhere") if isinstance(s.name, str) else EXEMPT


def nameless(s: Stranger) -> Verdict:
    return unknown(f"{s.where}: {s.name.reason}") if isinstance(s.name, Unknown) else EXEMPT


ABSENT = Rule(
    id="HF201",
    title="Every declared table and store exists",
    why="What drops out of its stack is deleted by the next deploy, or silently left behind without an owner.",
    remediation="Restore {table} in {stack}; to retire it on purpose, archive its data and then drop its declaration.",
    severity=Severity.CRITICAL,
    paths=at((TABLE, *IDENTITY), "Type") + tuple(f"{kind} Properties/{name}" for kind, name in IDENTITY.items()),
    checks=(Check(Expected, there), Check(Presence, store)),
)
UNDECLARED = Rule(
    id="HF202",
    forbids=True,
    title="Every table and store is declared",
    why="What is not declared has no owner, no data class and no required protection: nothing can be said about it.",
    remediation="Declare {table} in stacks/, or remove it from {stack}.",
    severity=Severity.HIGH,
    paths=at((TABLE, GLOBAL_TABLE, *IDENTITY), "Type"),
    checks=(Check(Stranger, undeclared),),
)
GLOBAL = Rule(
    id="HF203",
    forbids=True,
    title="Tables are not replaced by global tables",
    why="A change from AWS::DynamoDB::Table to GlobalTable deletes the table and makes a new one, and most stock checks do not "
    "look at GlobalTable at all.",
    remediation="Use aws_dynamodb.Table for {table}; CloudFormation does not change the type of a resource.",
    severity=Severity.CRITICAL,
    paths=at(GLOBAL_TABLE, "Type"),
    checks=(Check(Expected, still_a_table),),
)
TWICE = Rule(
    id="HF204",
    title="Every table belongs to one stack",
    why="Two stacks that claim one table undo each other's settings, and the deletion of either threatens the data of both.",
    remediation="Keep {table} in {stack} and drop it from the other.",
    severity=Severity.HIGH,
    paths=at(TABLE, "TableName"),
    checks=(Check(Expected, once),),
)


def terminable(s: StackSubject) -> Verdict:
    seen = s.stack.protected
    if not s.placed.termination_protected or seen is None:
        return EXEMPT
    if isinstance(seen, Unknown):
        return unknown(f"termination protection cannot be read: {seen.reason}")
    return PASS if seen else fail("termination protection is off")


TERMINATION = Rule(
    id="HF013",
    title="Production stacks have termination protection",
    why="Termination protection makes DeleteStack fail, which otherwise deletes every resource that is not retained.",
    remediation="Set termination_protection=True on {stack}; live: aws cloudformation update-termination-protection "
    "--enable-termination-protection --stack-name {stack} --region {region}",
    severity=Severity.HIGH,
    paths=("stack terminationProtection",),
    checks=(Check(StackSubject, terminable),),
)


def in_place(s: StackSubject) -> Verdict:
    placed, stack = s.placed, s.stack
    if stack.name is not None and stack.name != placed.name:
        return fail(f"it is called {stack.name}, declared is {placed.name}")
    if stack.region is None:
        return unknown("its region is decided at deploy time")
    if stack.region != placed.region:
        return fail(f"it is in {stack.region}, declared is {placed.region}")
    if placed.account and stack.account != placed.account:
        return fail(f"it is in account {stack.account or 'of the credentials'}, declared is {placed.account}")
    return PASS


PLACE = Rule(
    id="HF210",
    title="Stack name, region and account match the declaration",
    why="A stack under another name, in another region or account is a new stack beside the old one: its tables are empty copies, and the "
    "old ones are not watched.",
    remediation="Restore the name {stack} and the region {region}; the construct takes both from the declaration.",
    severity=Severity.CRITICAL,
    paths=("stack name", "stack environment"),
    checks=(Check(StackSubject, in_place),),
)


HOLDERS = frozenset({"AWS::CloudFormation::Stack", "AWS::CloudFormation::StackSet"})


def nothing_hidden(r: Resource) -> Verdict:
    """Whether a resource stands in the template as it will be deployed."""
    if r.type in HOLDERS:
        return fail("what it holds stands in another template, which was not read")
    if r.type.endswith("::MODULE"):
        return fail("it is a module, and what that makes is in another template")
    found = hidden_in(r.body) if r.stack.may_hide else ""
    return fail(f"{found} rewrites it when it is deployed") if found else PASS


def nothing_rewritten(s: StackSubject) -> Verdict:
    """Whether the template itself is what will be deployed."""
    if s.stack.rewritten is not None:
        return fail(s.stack.rewritten.reason)
    rest = {name: part for name, part in s.stack.template.items() if name != "Resources"}
    found = hidden_in(rest)
    return fail(f"{found} rewrites the template when it is deployed") if found else PASS


def hidden_in(tree: Any) -> str:
    """The macro, include or loop that stands somewhere in a tree; empty where none does."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            for name in part:
                if name.startswith(HIDING):
                    return str(name)
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return ""


NESTED = Rule(
    id="HF211",
    forbids=True,
    title="Declared stacks are written out, without nested stacks, macros, includes, modules or loops",
    why="What a nested stack, a macro, AWS::Include, Fn::ForEach or a module makes is not in the template that was reviewed: it is "
    "decided when it is deployed, and may be anything. A table whose name is decided then cannot be matched with its declaration.",
    remediation="Write out what it makes in {stack}, and names as plain text; declare what a nested stack holds as a stack of its own.",
    severity=Severity.HIGH,
    paths=(
        *at(("AWS::CloudFormation::Stack", "AWS::CloudFormation::StackSet"), "Type"),
        *at(TABLE, "TableName"),
        "stack Transform",
    ),
    checks=(
        Check(Resource, nothing_hidden),
        Check(StackSubject, nothing_rewritten),
        Check(Stranger, nameless),
    ),
)


RULES = (TERMINATION, ABSENT, UNDECLARED, GLOBAL, TWICE, PLACE, NESTED)
