"""How old the gaps of an audit are, by the history of the contracts and by the last update of their stack. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from holdfast.contract.deployed import Running, normal, running
from holdfast.contract.history import History, Json
from holdfast.contract.since import BY_HAND, since
from holdfast.rules.base import Rule
from holdfast.rules.gap import Gap, Since
from holdfast.shared.account import StackLive
from holdfast.unknown import Unknown

UNREAD = Unknown("the history of the contracts was not read")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ages:
    """When the audit looked, and what it dates by."""

    now: datetime
    history: History | Unknown = UNREAD
    _templates: dict[int, Json | Unknown] = field(default_factory=dict, compare=False, repr=False)  # by their identity

    def gap(
        self,
        rule: Rule,
        contract: str,
        name: str | None,
        stack: StackLive | Unknown | None,
        *,
        says: str,
        deployed: str,
        live: str,
        intent: str = "as declared",
        by_hand: bool = False,
    ) -> Gap:
        """``contract`` is the id of the stack; ``by_hand`` is what is deployed as intended and not live."""
        there = stack if isinstance(stack, StackLive) else None
        template = self._template(there) if there else None
        asked = None if isinstance(template, Unknown) else template
        return Gap(
            intent=intent,
            deployed=deployed,
            live=live,
            says=says,
            now=self.now,
            since=Since(why=BY_HAND) if by_hand else since(self.history, contract, name, rule.paths, asked),
            updated=there.last if there else None,
            rolled_back=there is not None and there.rolled_back,
        )

    def running(self, contract: str, stack: StackLive) -> Running:
        """Which contract a deployed stack runs."""
        return running(self.history, contract, self._template(stack), stack.last, succeeded=not stack.rolled_back)

    def _template(self, stack: StackLive) -> Json | Unknown:
        if isinstance(stack.seen, Unknown):
            return stack.seen
        template = stack.seen.template
        if id(template) not in self._templates:
            self._templates[id(template)] = normal(template)
        return self._templates[id(template)]
