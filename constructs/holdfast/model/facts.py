"""What a table is: facts about data. Nothing here knows CDK, boto3 or CloudFormation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum, Flag, auto
from ipaddress import ip_network
from string import Formatter

from holdfast.model.declaration import DeclarationError, Located, checked
from holdfast.model.environment import Environment

KEY_ARN = re.compile(r"arn:aws[a-z-]*:kms:([a-z0-9-]+|\{region\}):(\d{12}|\{account\}):key/[\w{}-]+")

PLACEHOLDERS = frozenset({"env", "Env", "region", "account"})


class Data(Enum):
    """How sensitive the items are. There is no default: every table has to say."""

    OPERATIONAL = "operational"
    PERSONAL = "personal"


class Encryption(Enum):
    """The key of tables whose data is not personal; personal data always has the stack's own key."""

    AWS_OWNED = "aws-owned"
    AWS_MANAGED = "aws-managed"


@dataclass(frozen=True, slots=True)
class StackKey:
    """A customer-managed key of the stack's own: made with it, rotated, and kept as long as its data."""


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalKey:
    """A customer-managed key that exists elsewhere, and whose settings and policy others answer for.

    ``ExternalKey(arn="arn:aws:kms:{region}:{account}:key/1234abcd-12ab-34cd-56ef-1234567890ab")``. Its policy has to
    let in the services of the stack, and CloudWatch where the stack has alarms.
    """

    arn: str

    def __post_init__(self) -> None:
        if wrong := unknown_placeholders(self.arn):
            raise DeclarationError(f"key {self.arn}: {wrong}")
        if not KEY_ARN.fullmatch(self.arn):
            raise DeclarationError(
                f"{self.arn!r} is not the ARN of a key, such as arn:aws:kms:{{region}}:{{account}}:key/…; an alias can "
                "be moved to another key"
            )


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class SharedKey:
    """The key that another stack makes in the same place: ``SharedKey(stack="Keys-{env}")``.

    The other stack may hold nothing else. Its key lets in the services of all who share it, and is exported to them.
    """

    stack: str  # the id as it is declared


class Guard(Flag):
    """One convention that a table can keep. Guards form a set: combining them only ever adds."""

    DELETION_PROTECTION = auto()
    RETAIN = auto()
    PITR = auto()
    TTL = auto()
    CUSTOMER_KEY = auto()
    TAGS = auto()
    ALARMS = auto()

    @property
    def label(self) -> str:
        """What a guard is called; of a set, each."""
        return ", ".join(_CALLED[guard][0] for guard in self)

    @property
    def short(self) -> str:
        """What a narrow column calls it; of a set, each."""
        return " ".join(_CALLED[guard][1] for guard in self)


_CALLED: Mapping[Guard, tuple[str, str]] = {
    Guard.DELETION_PROTECTION: ("deletion protection", "DP"),
    Guard.RETAIN: ("retained", "RETAIN"),
    Guard.PITR: ("point-in-time recovery", "PITR"),
    Guard.TTL: ("time to live", "TTL"),
    Guard.CUSTOMER_KEY: ("customer-managed key", "CMK"),
    Guard.TAGS: ("tags", "TAGS"),
    Guard.ALARMS: ("alarms", "ALARMS"),
}
NONE = Guard(0)


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Durable:
    """Data that the business would miss. Single items may still expire through ``ttl``."""

    ttl: str | None = None


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Transient:
    """Data that is worthless once stale, so it cannot be declared without a ``ttl``."""

    ttl: str


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver(Located):
    """A rule that need not hold for a table or store in one environment, until a day; its owner answers for it.

    ``Waiver(rule="HF205", environment=PROD, reason="…", owner="ops", expires=date(2027, 1, 31))``
    """

    rule: str
    environment: Environment
    reason: str
    owner: str
    expires: date  # the last day on which it holds, at most a year ahead

    def __post_init__(self) -> None:
        if not (self.reason.strip() and self.owner.strip()):
            raise DeclarationError(f"waiver of {self.rule} in {self.environment.label}: give it a reason and an owner")


def wrong_cidr(cidr: str) -> str | None:
    """Why a network cannot have these addresses, or None: AWS takes /16 to /28, and a stack needs room for subnets."""
    try:
        network = ip_network(cidr)
    except ValueError as error:
        return f"cidr={cidr!r} is not a network ({error})"
    fits = network.version == 4 and 16 <= network.prefixlen <= 18
    return None if fits else f"cidr={cidr!r} does not fit three subnets of /20: use an IPv4 network of /16 to /18"


def construct_id(name: str) -> str:
    """Stable whatever else is declared: ``shop-OAuthStates-{env}`` gives ``ShopOAuthStates``."""
    words = re.split(r"[^A-Za-z0-9]+", re.sub(r"\{\w+\}", "", name))
    return "".join(w[0].upper() + w[1:] for w in words if w)


def fill(text: str, values: Mapping[str, str]) -> str:
    return text.format_map(values)


def unknown_placeholders(text: str) -> str | None:
    """What is wrong with the placeholders in a declared name, or None."""
    known = ", ".join(f"{{{p}}}" for p in sorted(PLACEHOLDERS))
    try:
        fields = [(name, spec, conversion) for _, name, spec, conversion in Formatter().parse(text) if name is not None]
    except ValueError as error:
        return f"its name is not a template ({error}); placeholders are {known}"
    wrong = sorted(str(name) for name, spec, conversion in fields if name not in PLACEHOLDERS or spec or conversion)
    return f"unknown placeholder {', '.join(map(repr, wrong))}; use {known}" if wrong else None
