"""Where declared facts come from: a line of a document, an inference from one, or an assumption with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from holdfast.model.declaration import DeclarationError, checked
from holdfast.model.environment import Environment


class Fact(Enum):
    """What a declaration says, by the names that lists and findings use."""

    # of a stack
    STACK = "stack name"
    SYSTEM = "system"
    OWNER = "owner"
    ENVIRONMENT = "environment name"
    REGION = "region"
    ACCOUNT = "account"
    ENCRYPTION = "encryption"
    IDENTITY = "identities"
    WALL = "data wall"
    NAMING = "names of new tables"
    PROCESSOR = "stream processor"
    ACCESS = "access policy"
    RELATION = "relation"
    # of a table or another store
    NAME = "name"
    PURPOSE = "purpose"
    DATA = "data class"
    LIFETIME = "lifetime"
    FLOOR = "floor"
    TAGS = "tags"
    # of a table
    KEY = "key"
    KEY_TYPES = "key types"
    INDEX = "index"
    INDEX_NAME = "index name"
    INDEX_KEY = "index key"
    INDEX_TYPES = "index key types"
    PROJECTION = "projection"
    ADDITION = "addition"
    TTL = "TTL attribute"
    EXPIRY = "expiry"
    STREAM = "stream"
    BILLING = "billing"
    CARDINALITY = "low cardinality"
    RENAMED = "renamed attributes"
    MIXED = "attributes of several types"
    USAGE = "usage"
    GOVERNANCE = "governance"
    SUCCESSOR = "successor"
    ARCHIVE = "archive phase"
    SIGHTING = "sighting"
    # of what is written into a table, and how it is read
    ITEMS = "items"
    DEPARTURE = "departure"
    TRANSACTION = "transaction"
    PATTERN = "access pattern"


OF_INDEXES = frozenset({Fact.INDEX, Fact.INDEX_NAME, Fact.INDEX_KEY, Fact.ADDITION})


@checked
@dataclass(frozen=True, slots=True)
class Assumed:
    """A fact that no source gives: chosen here, with the reason, until the live table confirms it."""

    fact: Fact
    reason: str
    environment: Environment | None = None  # of this one only


@dataclass(frozen=True, slots=True, init=False)
class Inferred:
    """A fact that follows from what a document says: ``Inferred("a UUID is a String", 194)``, with the lines."""

    reason: str
    lines: tuple[int, ...]

    def __init__(self, reason: str, *lines: int) -> None:
        if not isinstance(reason, str) or not reason or not all(type(line) is int and line > 0 for line in lines):
            raise DeclarationError(
                'Inferred("why it follows", 39, 44) takes a reason, and the lines that it follows from'
            )
        object.__setattr__(self, "reason", reason)
        object.__setattr__(self, "lines", lines)


Source = int | tuple[int, ...] | Inferred  # lines of the stack's document, or an inference from them
Said = Fact | tuple[Fact, Environment] | str  # a text is what another store than a table calls one of its facts
Sources = Mapping[Said, Source]
DOCUMENTED, INFERRED, ASSUMED, UNKNOWN = "documented", "inferred", "assumed", "unsourced"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where one fact comes from; a fact without a reason stands in the document as it is declared."""

    kind: str
    reason: str = ""
    document: str | None = None
    lines: tuple[int, ...] = ()
    assumed: Assumed | None = None

    def __str__(self) -> str:
        where = f"{self.document or 'document'}:{spans(self.lines)}" if self.lines else ""
        if self.kind in (DOCUMENTED, UNKNOWN):
            return where or self.kind
        return f"{self.kind}: {self.reason}{f' ({where})' if where else ''}"


UNSOURCED = Origin(UNKNOWN)


def cited(source: Source, document: str | None) -> Origin:
    """Where a fact with this source comes from."""
    if isinstance(source, Inferred):
        return Origin(INFERRED, source.reason, document, source.lines)
    lines = (source,) if isinstance(source, int) else source
    return Origin(DOCUMENTED, "", document, lines) if lines else UNSOURCED


def spans(lines: tuple[int, ...]) -> str:
    """Lines as a reader writes them: 39, 44-54."""
    found: list[list[int]] = []
    for line in sorted(set(lines)):
        if found and line == found[-1][-1] + 1:
            found[-1].append(line)
        else:
            found.append([line])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in found)
