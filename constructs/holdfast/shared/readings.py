"""The records with which kinds and shared resources declare what protects in them, and how it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.cfn.strength import Strength, on, own_key
from holdfast.model.facts import Guard

Path = tuple[str, ...]
BACKUPS = "recovery period"


@dataclass(frozen=True, slots=True)
class GuardReading:
    """A property that protects, and how strong its value is."""

    label: str
    path: Path  # from the resource: Properties and below, or DeletionPolicy
    strength: Strength
    short: str = ""  # what the register and a headline call it
    of: Path = ()  # what the strength is read from, where that is not the path
    within: str = ""  # the label of the guard whose loss says this one's, too

    @property
    def source(self) -> Path:
        return self.of or self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """What protects in the resources of one type; paths start at their properties."""

    type: str
    name: str = ""  # the property that names a store; empty for what is not a store
    holds: bool = False  # whether something is lost when it is made anew, as with every store
    protects: str = ""  # what it is called, where it protects by being there
    readings: tuple[GuardReading, ...] = ()
    members: tuple[tuple[str, str], ...] = ()  # lists of which every item protects: path, and what an item is
    fixed: tuple[tuple[str, str, str], ...] = ()  # what protects as it is: path, what a change means, short name
    openings: tuple[tuple[str, str], ...] = ()  # lists of which every new item lets more in: path, and what it means
    parameter_group: str = ""  # the property that names it


def at(path: str, strength: Strength, label: str, short: str = "", **more: Any) -> GuardReading:
    return GuardReading(label, properties(path), strength, short, **more)


def properties(path: str) -> Path:
    return ("Properties", *path.split("/"))


def guard(path: str, strength: Strength, named: Guard, **more: Any) -> GuardReading:
    """The reading of a guard of the policy."""
    return at(path, strength, named.label, named.short, **more)


def deletion_protection(path: str) -> GuardReading:
    return guard(path, on, Guard.DELETION_PROTECTION)


def customer_key(path: str) -> GuardReading:
    return guard(path, own_key, Guard.CUSTOMER_KEY)
