"""Where stacks are deployed: environments of an estate, each in one account and region or in several."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from holdfast.model.declaration import DeclarationError, checked

ACCOUNT = re.compile(r"\d{12}")
REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d+")
LABEL = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")


class Tier(Enum):
    """Whether an environment is production: what the protection of its data follows from."""

    PROD = "prod"
    TEST = "test"


class Aspect(Enum):
    """In what the tables of two environments may differ, beside their protection."""

    KEY = "the key"
    INDEXES = "indexes"
    BILLING = "billing"
    EXPIRY = "TTL"
    STREAM = "the stream"


@checked
@dataclass(frozen=True, slots=True)
class Place:
    """A region of an account; without an account, of the one whose credentials deploy."""

    region: str
    account: str | None = None

    def __post_init__(self) -> None:
        if not REGION.fullmatch(self.region):
            raise DeclarationError(f"{self.region!r} is not a region, such as eu-west-1")
        if self.account is not None and not ACCOUNT.fullmatch(self.account):
            raise DeclarationError(f"{self.account!r} is not an account: write its twelve digits as a text")

    def __str__(self) -> str:
        return f"{self.region} of account {self.account}" if self.account else self.region


@checked
@dataclass(frozen=True, slots=True)
class Environment:
    """One environment of an estate: ``Environment("staging", Tier.TEST, "eu-west-1", account="111122223333")``.

    Its stacks are deployed to its region and account, and to every place of ``also``. ``zones`` are letters of its
    region's zones; without any, the first that AWS names are taken. ``topic_prefix`` stands before its topics, instead
    of the prefix that a broker declares. ``differs`` are the aspects in which its tables may differ from those of other
    environments. ``s3_prefix_lists`` are AWS's lists of S3's addresses, in regions that ``model.regions`` lacks.
    """

    label: str
    tier: Tier
    region: str
    account: str | None = None
    also: tuple[Place, ...] = ()
    zones: tuple[str, ...] = ()
    topic_prefix: str | None = None
    differs: tuple[Aspect, ...] = ()
    s3_prefix_lists: Mapping[str, str] = field(default_factory=dict, hash=False)  # by region

    def __post_init__(self) -> None:
        if not LABEL.fullmatch(self.label) or self.label == "all":
            raise DeclarationError(f"environment {self.label!r}: a label has letters, digits and '-', and is not 'all'")
        if len(set(self.places)) < len(self.places):
            raise DeclarationError(f"environment {self.label}: one of its places is named twice")

    @property
    def places(self) -> tuple[Place, ...]:
        return (Place(self.region, self.account), *self.also)
