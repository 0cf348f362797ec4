"""What the accounts show of one declared table or store: deployed and live, by each rule. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from holdfast.audit.advice import Way
from holdfast.audit.ages import Ages
from holdfast.audit.places import Found, template_of
from holdfast.cfn.template import Source
from holdfast.estate.placement import Placed
from holdfast.kinds.kinds import subject
from holdfast.kinds.table.declaration import Table
from holdfast.kinds.table.live import observed
from holdfast.kinds.table.observed import Observed
from holdfast.model.store import Store
from holdfast.rules import STORE_RULES, TABLE_RULES, alarms, engine, estate, finding
from holdfast.rules.base import Finding, Rule
from holdfast.rules.subjects import TableSubject
from holdfast.shared.account import Aspect, StackLive, StoreSeen
from holdfast.unknown import Unknown
from holdfast.verdict import EXEMPT, Outcome, Verdict, unknown

# An import believes the template and applies nothing, and CloudFormation does not say afterwards that it was one.
NOT_APPLIED = "intended and deployed, not live: it was changed after the deploy, or imported and never applied"
UNREADABLE = "intended, not live; what is deployed cannot be read"
UNSEEN = "-"  # no API shows it, or it was not asked for
WORDS = {Outcome.PASS: "on", Outcome.FAIL: "off", Outcome.UNKNOWN: "unknown", Outcome.EXEMPT: "-"}
Column = Verdict | str  # a word where there is nothing to judge


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the accounts show of one declared table or store."""

    placed: Placed
    what: Table | Store
    found: Found
    stack: StackLive | Unknown | None  # None: not deployed
    then: Mapping[Rule, Finding]  # of the deployed template
    way: Way
    ages: Ages

    @property
    def live(self) -> StoreSeen | Unknown | None:
        return self.found.live

    @cached_property
    def name(self) -> str:
        return self.placed.fill(self.what.name)

    @property
    def where(self) -> str:
        return self.live.arn if isinstance(self.live, StoreSeen) else f"{self.placed.region}/{self.name}"

    @property
    def outside(self) -> str:
        """Where it is when its own stack does not have it."""
        return f"in {self.way.elsewhere[self.name]}" if self.name in self.way.elsewhere else "in no stack"

    @cached_property
    def deployed(self) -> Mapping[Rule, Finding] | Unknown | None:
        """What the rules say of the template that has it; None where none does."""
        template, absent = template_of(self.stack), self.then.get(estate.ABSENT)
        if isinstance(template, Unknown):
            return template
        if absent is None or absent.outcome is Outcome.PASS:
            return self.then
        return Unknown(absent.detail) if absent.outcome is Outcome.UNKNOWN else None

    @cached_property
    def observed(self) -> Observed | None:
        """A live table as rules see it."""
        return observed(self.live) if isinstance(self.live, StoreSeen) and isinstance(self.what, Table) else None

    @property
    def unwatched(self) -> bool:
        """Whether alarms of a live table are missing: then how they are set up is not asked."""
        if not isinstance(self.what, Table) or self.observed is None:
            return False
        subject = TableSubject(self.placed, self.what, self.placed.required(self.what), self.observed)
        return alarms.missing(subject).outcome is Outcome.FAIL

    @cached_property
    def columns(self) -> Mapping[Rule, tuple[Column, Column]]:
        """What each rule says of the deployed template and of what is live."""
        rules = TABLE_RULES if isinstance(self.what, Table) else STORE_RULES
        return {rule: (self._then(rule), self._there(rule)) for rule in rules}

    def _then(self, rule: Rule) -> Column:
        match self.deployed:
            case None:
                return self.outside
            case Unknown(reason=reason):
                return unknown(f"what is deployed cannot be read: {reason}")
            case found:
                return Verdict(found[rule].outcome, found[rule].detail) if rule in found else EXEMPT

    def _there(self, rule: Rule) -> Column:
        if rule.only_deployed or not self.found.asked:
            return UNSEEN
        match self.live:
            case None:
                return "not live"
            case Unknown(reason=reason):
                return unknown(reason)
            case live:
                return judge(rule, self.placed, self.what, live, self.observed)

    def finding(self, rule: Rule, verdict: Verdict, source: Source | None = None) -> Finding:
        speaks = source or (Source.DEPLOYED if rule.only_deployed else Source.LIVE)
        return finding(rule, verdict, self.placed, self.what, self.where, speaks)

    def judged(self, rule: Rule, subject: object, source: Source | None = None) -> Finding:
        return self.finding(rule, engine.verdict(rule, subject), source)


def judge(rule: Rule, placed: Placed, what: Table | Store, live: StoreSeen, shown: Observed | None = None) -> Verdict:
    """What a rule says of a live table or store; unknown where something that it needs could not be read."""
    if isinstance(what, Table):
        return engine.verdict(rule, TableSubject(placed, what, placed.required(what), shown or observed(live)))
    verdict = engine.verdict(rule, subject(placed, what, live.stack, live.logical_id))
    hole = next((live.unread[a] for a in Aspect if a in rule.aspects and a in live.unread), None)
    return verdict if hole is None or verdict.outcome is Outcome.EXEMPT else unknown(hole.reason)


def word(column: Column) -> str:
    return column if isinstance(column, str) else WORDS[column.outcome]
