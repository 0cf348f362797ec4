"""Strangers: tables and stores that no declaration has, and what could not be read."""

from __future__ import annotations

from holdfast.policy.required import TagSource
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.live import IMPORT, holds, left_behind
from holdfast.rules.subjects import LiveStranger, Tagged, Unvisited
from holdfast.shared.account import Unreadable
from holdfast.verdict import EXEMPT, Outcome, Verdict, fail, unknown

OTHERS = Verdict(Outcome.EXEMPT, "it belongs to another team: foreign=(…) of the estate names it")


def uncoded(s: LiveStranger) -> Verdict:
    """A template has it, and the code has not."""
    if s.template is None:
        return EXEMPT
    if s.others:
        return OTHERS
    return fail(f"{s.template} has it and the code does not{'' if s.live else '; it is not live either'}")


def orphaned(s: LiveStranger) -> Verdict:
    """It is live and in no template: what is known of the stack that it came from."""
    if s.template is not None or s.live is None:
        return EXEMPT
    if s.others:
        return OTHERS
    what, owner = f"live and undeclared, holds {holds(s.live)}", s.live.owner
    if not isinstance(owner, str):
        return fail(what)
    return fail(f"{what}; {left_behind(owner, s.account)}")


def ours(s: Tagged) -> Verdict:
    owner, system = (s.policy.tag(source) for source in (TagSource.OWNER, TagSource.SYSTEM))
    of_system = f"{s.tags[system]}'s, " if system else ""  # no policy needs to ask for it
    return fail(f"it is tagged as {of_system}owned by {s.tags[owner or '']}, and declared nowhere")


def refused(s: Unreadable) -> Verdict:
    return unknown(f"{s.what}: {s.reason}{f' (needs {s.action})' if s.action else ''}")


def not_read(s: Unvisited) -> Verdict:
    return unknown(f"{s.placed.place} was not read, and {s.placed.name} is declared there")


ORPHAN = Rule(
    id="HF602",
    title="Live tables are declared",
    why="A table that is not declared has no owner, no data class and no required protection. Most of them outlived a stack "
    "that was deleted, and hold data that may be missed.",
    remediation="Find out whose {table} is. If it is yours, declare it in stacks/; a deploy would try to create it, which exists, and "
    f"fail: {IMPORT}. If it is another team's, name it in foreign=(…) of the estate.",
    severity=Severity.HIGH,
    checks=(Check(LiveStranger, orphaned),),
)
UNCODED = Rule(
    id="HF603",
    title="Tables of a stack are in the code",
    why="The deployed template still has the table and the code has not: the next deploy of that stack deletes it, or leaves "
    "it behind without an owner.",
    remediation="Declare {table} in stacks/ again before {stack} is deployed; to retire it, archive it first. If it is another team's, "
    "name it in foreign=(…) of the estate.",
    severity=Severity.HIGH,
    checks=(Check(LiveStranger, uncoded),),
)
UNREAD = Rule(
    id="HF614",
    title="Everything could be read",
    why="What cannot be read can be neither fine nor wrong. A refused call hides whatever is behind it.",
    remediation="Allow the action that is named (`holdfast iam audit` prints the whole policy), or run again if it was a passing fault.",
    severity=Severity.MEDIUM,
    checks=(
        Check(Unreadable, refused),
        Check(Unvisited, not_read),
    ),
)
STRANGER = Rule(
    id="HF617",
    title="Stores with our tags are declared",
    why="A database, cache, broker or bucket with the tags of our stacks was made by them or copied from them, and holds "
    "their data, but nothing requires its protection. Stores without our tags belong to others and are not looked at.",
    remediation="Declare {table}; if it was left behind, archive what it holds and remove it, or take the tags off what is not ours.",
    severity=Severity.LOW,
    checks=(Check(Tagged, ours),),
)
RULES = (ORPHAN, UNCODED, UNREAD, STRANGER)
