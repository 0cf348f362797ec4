"""Ids of rules that are no more: waivers, commands and reports that name one are still understood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from holdfast.model.facts import Waiver

# {old id: the rule that says the same today}
MERGED: Mapping[str, str] = {
    "HF003": "HF002",
    "HF005": "HF004",
    "HF011": "HF010",
    "HF012": "HF002",
    "HF101": "HF102",
    "HF104": "HF103",
    "HF105": "HF103",
    "HF106": "HF103",
    "HF107": "HF103",
    "HF108": "HF103",
    "HF206": "HF205",
    "HF207": "HF211",
    "HF208": "HF205",
    "HF303": "HF515",
    "HF304": "HF301",
    "HF305": "HF515",
    "HF308": "HF301",
    "HF309": "HF529",
    "HF311": "HF205",
    "HF501": "HF201",
    "HF502": "HF202",
    "HF510": "HF001",
    "HF511": "HF002",
    "HF512": "HF004",
    "HF514": "HF007",
    "HF523": "HF010",
    "HF524": "HF205",
    "HF525": "HF310",
    "HF526": "HF310",
    "HF533": "HF006",
    "HF535": "HF310",
}
# They said that a thing is as its construct makes it: a difference from the contract says that now.
CONTRACT = "HF703"
DROPPED = ("HF302", "HF306", "HF312", "HF504", "HF508", "HF528")


def current(rule: str) -> str:
    """The id of the rule that says today what ``rule`` said."""
    return CONTRACT if rule in DROPPED else MERGED.get(rule, rule)


def of_stores(rule: str) -> bool:
    """Whether an id is, or was, of a rule about stores that are not tables."""
    return rule.startswith("HF5")


def counting(waiver: Waiver, of_table: bool) -> Waiver:
    """``waiver`` under the id of today, where it names a former rule of tables, or of stores, and is on one of these."""
    return replace(waiver, rule=current(waiver.rule)) if of_stores(waiver.rule) is not of_table else waiver


def note(rule: str) -> str:
    """What became of a rule; empty where it is still one of its own."""
    if rule in DROPPED:
        return f"{rule} is now told by the contract ({CONTRACT})"
    return f"{rule} merged into {MERGED[rule]}" if rule in MERGED else ""
