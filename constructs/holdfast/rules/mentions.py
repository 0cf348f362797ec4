"""Mentions: what runs or is written names the tables that it should."""

from __future__ import annotations

from holdfast.kinds.table.declaration import Governance
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.engine import ACTIONABLE, Rules
from holdfast.rules.subjects import TableMention
from holdfast.rules.use import RETIRED
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, PASS, Outcome, Verdict, fail, unknown


def astray(s: TableMention) -> Verdict:
    if s.runs is None or s.owner is None or s.owner.env == s.runs:
        return EXEMPT
    return fail(f"{s.says}, which belongs to {s.owner.env.label}, but runs in {s.runs.label}")


def retired(s: TableMention) -> Verdict:
    if s.table is None or s.owner is None or s.exists is not True:
        return EXEMPT
    state = s.table.state
    if state.usage not in RETIRED and state.governance is Governance.STACK:
        return EXEMPT
    instead = f"; {s.owner.fill(state.replaced_by)} replaces it" if state.replaced_by else ""
    kind = state.usage.value if state.usage in RETIRED else f"an {state.governance.value}"
    return fail(f"{s.says}, which is {kind}{instead}")


def phantom(s: TableMention) -> Verdict:
    match s.exists:
        case None:
            return Verdict(Outcome.EXEMPT, f"{s.says}, which was not read")
        case Unknown(reason=reason):
            return unknown(f"{s.says}; {reason}")
        case True:
            return PASS
        case False:
            return fail(f"{s.says}, and that table does not exist{f' ({s.hint})' if s.hint else ''}")


def hard_coded(s: TableMention) -> Verdict:
    return fail(f"{s.says}: it is hard-coded") if s.kind == "code" else EXEMPT


ASTRAY = Rule(
    id="HF610",
    title="What runs stays in its environment",
    why="Production code that names a test table reads test data and writes customers' data where nothing protects it, and the "
    "other way round it is worse.",
    remediation="Take the table's name from the environment of the deployment instead of writing it down.",
    severity=Severity.HIGH,
    checks=(Check(TableMention, astray),),
)
LEGACY_USED = Rule(
    id="HF611",
    title="Nothing names a retired table",
    why="A table that was replaced cannot be archived while something names it, and what is read from it is out of date.",
    remediation="Point it to the table that replaces {table}, or retire what names it; then watch for reads.",
    severity=Severity.MEDIUM,
    checks=(Check(TableMention, retired),),
)
PHANTOM = Rule(
    id="HF609",
    title="What runs names tables that exist",
    why="A function, mapping or policy that names a table which does not exist fails when it gets there, or grants a right on the next table of that name.",
    remediation="Correct the name, or remove the reference if its feature is gone.",
    severity=Severity.MEDIUM,
    checks=(Check(TableMention, phantom),),
)
HARD_CODED = Rule(
    id="HF612",
    title="Code takes table names from its environment",
    why="A name or an ARN that is written down in code is right in one environment only, is found by no reference scan of "
    "the account, and keeps a table from being replaced.",
    remediation="Pass the name of {table} as a variable of the deployment.",
    severity=Severity.LOW,
    checks=(Check(TableMention, hard_coded),),
)
RULES = (ASTRAY, LEGACY_USED, PHANTOM, HARD_CODED)
_RULES = Rules(RULES)


def judged(s: TableMention) -> tuple[Rule, Verdict]:
    """One mention is one finding: by the first rule that it fails, else by whether the table exists."""
    said = dict(_RULES.judge(s))
    rule = next((r for r, v in said.items() if v.outcome in ACTIONABLE), PHANTOM)
    return rule, said[rule]
