"""Whether what is declared is there: stacks deployed, tables and stores live and readable. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.audit.advice import Way
from holdfast.audit.places import state, template_of
from holdfast.audit.remedy import advised, made, restore
from holdfast.audit.seen import NEVER_DEPLOYED, Seen
from holdfast.cfn.template import Source
from holdfast.estate.placement import Placed
from holdfast.kinds.table.declaration import Table
from holdfast.rules import estate, finding, live
from holdfast.rules.base import Finding
from holdfast.shared.account import Account, StoreSeen, stack_of
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Outcome, Verdict, fail, unknown

GONE = frozenset({"deleting", "failed", "incompatible-restore", "restore-error"})
NO_KEY = "inaccessible-encryption-credentials"


def present(s: Seen) -> Finding:
    """Whether a declared table or store is there."""
    if isinstance(s.what, Table):
        return advised(s.finding(live.ABSENT, _table(s)), restore(s))
    verdict, source = _store(s)
    return s.finding(estate.ABSENT, verdict, source)


def _table(s: Seen) -> Verdict:
    if isinstance(s.live, Unknown):
        return unknown(f"tables of {s.placed.region} could not be read: {s.live.reason}")
    if s.live is not None:
        return usable(s.live.status)
    if s.waits and s.stack is None:
        return Verdict(Outcome.EXEMPT, f"{s.placed.name} is declared as not deployed in {s.placed.env.label} yet")
    if s.waits and isinstance(s.stack, Unknown):
        return unknown(f"whether {s.placed.name} is deployed cannot be read: {s.stack.reason}")
    if isinstance(s.deployed, Unknown):
        return fail(f"it is not live; what is deployed cannot be read: {s.deployed.reason}")
    if s.deployed is not None:
        return _deleted(s)
    if s.stack is None:
        return fail(f"{NEVER_DEPLOYED}: there is no stack {s.placed.name}")
    return fail(f"{NEVER_DEPLOYED}: {s.placed.name} was last updated without it")


def _store(s: Seen) -> tuple[Verdict, Source]:
    absent, template, is_live = s.then.get(estate.ABSENT), template_of(s.stack), isinstance(s.live, StoreSeen)
    if s.stack is None and s.waits and not is_live:
        return EXEMPT, Source.DEPLOYED
    if isinstance(template, Unknown):
        return unknown(f"what is deployed cannot be read: {template.reason}"), Source.DEPLOYED
    if absent is not None and absent.outcome is not Outcome.PASS:
        also = "it is live, and " if is_live else ""
        return Verdict(absent.outcome, f"{also}{absent.detail}"), Source.DEPLOYED
    if not s.found.asked:
        return PASS, Source.DEPLOYED
    if isinstance(s.live, Unknown):
        return unknown(f"whether it is live cannot be read: {s.live.reason}"), Source.LIVE
    return _deleted(s) if s.live is None else usable(s.live.status), Source.LIVE


def _deleted(s: Seen) -> Verdict:
    return fail(f"intended and deployed in {s.placed.name}, but not live: it was deleted outside of CloudFormation")


def usable(status: str | Unknown) -> Verdict:
    """Whether what is listed can be read, or will be when what happens to it is done."""
    state = "" if isinstance(status, Unknown) else status.lower().replace("_", "-")
    if state in GONE:
        return fail(f"it cannot be read, now or soon: it is {status}")
    if state.startswith(NO_KEY):
        return fail(f"it cannot be read: it is {status}. A table is archived after seven days without its key")
    if state in ("archiving", "archived"):
        return fail(f"it cannot be read: it is {status}, because DynamoDB could not use its key. Restore its backup")
    return unknown("it is being made: look again when that is done") if state == "creating" else PASS


def deployed(placed: Placed, accounts: Sequence[Account], way: Way) -> Finding:
    """Whether a stack is there at all; where it has tables, these say so."""
    stack = stack_of(placed.region, placed.name, accounts)
    if isinstance(stack, Unknown):
        verdict = unknown(f"stacks of {placed.region} could not be read: {stack.reason}")
    elif stack is not None:
        verdict = state(stack.status)
    elif placed.tables or placed.env in placed.stack.undeployed:
        verdict = EXEMPT
    else:
        verdict = fail(f"{NEVER_DEPLOYED}: there is no such stack")
    found = finding(live.UNDEPLOYED, verdict, placed, None, f"{placed.region}/{placed.name}", Source.DEPLOYED)
    return advised(found, made(way, "")) if stack is None else found
