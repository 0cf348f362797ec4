"""One account and region as it was read: tables, other stores, stacks. The reader fills it, rules judge it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import Enum

from holdfast.cfn.template import StackSeen
from holdfast.model.facts import Encryption
from holdfast.shared.key.observed import ObservedKey
from holdfast.unknown import Unknown

# DeletionPolicy and UpdateReplacePolicy of a live table or key: the template that was deployed says, not the API.
ONLY_IN_TEMPLATES = Unknown("the API does not show it, only the deployed template does")
# States of a stack whose last change is what runs.
SUCCEEDED = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
NOT_ASKED = Unknown("it is not asked of this kind of store")


class Part(Enum):
    """The parts of an account that are read one by one; what could not be read leaves a hole in its part only."""

    TABLES = "tables"
    KEYS = "keys"
    STACKS = "stacks"
    DELETED = "deleted stacks"
    ALARMS = "alarms"
    READS = "reads and writes"
    MENTIONS = "mentions"
    STORES = "stores"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A call that was refused or failed: what could not be read, why, and the missing IAM action, if it is that."""

    what: str
    reason: str
    action: str | None = None
    part: Part = Part.TABLES


@dataclass(frozen=True, slots=True)
class Units:
    """Capacity units that were consumed in seven days and in thirty, and the last day with any."""

    week: float = 0.0
    month: float = 0.0
    last: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexUse:
    """What an index holds and how often it was read."""

    items: int | Unknown
    size: int | Unknown
    reads: Units | Unknown
    status: str = "ACTIVE"


@dataclass(frozen=True, slots=True, kw_only=True)
class StackLive:
    """A deployed stack: its template and when it last changed."""

    seen: StackSeen | Unknown  # the template may be unreadable, or YAML
    status: str
    created: datetime
    updated: datetime | None  # also where that update did not succeed
    succeeded: datetime | None = None  # when one last did, where the last one did not; None: it is not known
    exports: Mapping[str, str] = field(default_factory=dict)  # what other stacks import

    @property
    def last(self) -> datetime:
        """When it was last updated with success, or made."""
        return self.succeeded or self.updated or self.created

    @property
    def rolled_back(self) -> bool:
        """Whether the last update did not succeed, and it is not known when one before it did."""
        return self.updated is not None and self.status not in SUCCEEDED and self.succeeded is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Something that runs and names a table: an environment variable, an event source, a policy, a line of code."""

    where: str  # such as function orders-api, variable TABLE
    kind: str  # variable, event source, policy, code
    table: str
    place: tuple[str, str] | None = None  # the account and region that an ARN names; a bare name names none


class Aspect(Enum):
    """The aspects of a store that are asked for one by one; what cannot be read leaves the others as they are."""

    OWN = "which resources are the stack's own"
    TAGS = "tags"
    PARAMETERS = "parameters"
    GROUPS = "security groups"
    BACKUPS = "backups"
    ALARMS = "alarms"
    USERS = "users"
    TOPICS = "topics"
    NODES = "nodes"
    ENCRYPTION = "encryption"
    VERSIONS = "versioning"
    POLICY = "policy"
    PUBLIC = "the block on public access"
    LIFECYCLE = "lifecycle"
    LOGGING = "access logs"
    LOCK = "Object Lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSeen:
    """A live table or store: one resource of ``stack``, which is what the APIs show, in CloudFormation's words."""

    arn: str
    stack: StackSeen
    logical_id: str
    status: str | Unknown = "available"  # of a table or a database; the other stores are there or not
    unread: Mapping[Aspect, Unknown] = field(default_factory=dict)
    # Of a table.
    owner: str | Unknown | None = None  # which stack says that it made the table
    created: datetime | Unknown = NOT_ASKED
    items: int | Unknown = NOT_ASKED
    size: int | Unknown = NOT_ASKED
    restorable: datetime | Unknown | None = NOT_ASKED  # from when on; None: recovery is off
    without_key: datetime | Unknown | None = None  # since when DynamoDB cannot use its key, where that is so
    reads: Units | Unknown = NOT_ASKED  # without those of its indexes
    writes: Units | Unknown = NOT_ASKED
    indexes: Mapping[str, IndexUse] | Unknown = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """The stores of one account and region beside its tables, by stack id, kind and name."""

    found: Mapping[tuple[str, str, str], StoreSeen | Unknown]  # what is missing here is not live
    keys: Mapping[str, ObservedKey | Encryption | Unknown] = field(default_factory=dict)  # of each stack, by its id
    groups: Mapping[str, StackSeen | Unknown] = field(default_factory=dict)  # security groups of each stack, by its id
    tagged: Mapping[str, Mapping[str, str]] | Unknown = field(default_factory=dict)  # tags by ARN, where all are ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What was read of one account and region. Unknown lists are Unknown, never empty."""

    id: str
    region: str
    tables: Mapping[str, StoreSeen] | Unknown
    stacks: Mapping[str, StackLive] | Unknown
    deleted: Mapping[str, datetime] | Unknown = field(default_factory=dict)  # stacks that CloudFormation still lists
    mentions: tuple[Mention, ...] | Unknown = ()  # what was found; unreadable says what could not be read
    unreadable: tuple[Unreadable, ...] = ()
    stores: Stores | None = None  # None: they were not asked for


def stack_of(region: str, name: str, accounts: Sequence[Account]) -> StackLive | Unknown | None:
    """A stack by its name; None where CloudFormation has none, Unknown where that could not be read."""
    unread: Unknown | None = None
    for account in accounts:
        if account.region == region:
            if isinstance(account.stacks, Unknown):
                unread = account.stacks
            elif name in account.stacks:
                return account.stacks[name]
    return unread
