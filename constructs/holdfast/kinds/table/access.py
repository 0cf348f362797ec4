"""What is written into a table and how it is read back: entities and access patterns, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any

from holdfast.kinds.table.declaration import AttributeType
from holdfast.model.declaration import checked
from holdfast.model.provenance import Assumed, Source, Sources

if TYPE_CHECKING:
    from holdfast.kinds.table.declaration import Attribute, Index, Table


@checked
@dataclass(frozen=True, slots=True)
class Item:
    """The key attributes of one kind of item, as templates: ``{"PK": "USER#{userId}", "SK": "METADATA"}``."""

    keys: Mapping[str, str] = field(hash=False)

    def render(self, values: Mapping[str, str]) -> dict[str, str]:
        return {name: template.format_map(values) for name, template in self.keys.items()}


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A thing that applications store: the items that it writes (its own first, then its reverse look-ups)."""

    type: str
    table: str
    items: tuple[Item, ...]
    attributes: tuple[str, ...] = ()  # documented top-level attributes beside the keys
    expires_after: timedelta | None = None
    booleans: tuple[str, ...] = ()  # those attributes that the documented items hold as Boolean
    documented_ttl: tuple[datetime, int] | None = None  # when the documented sample was created, and its TTL
    departs: Mapping[str, str] = field(default_factory=dict, hash=False)  # what of that sample is not written: why
    source: Source = ()
    sources: Sources = field(default_factory=dict, hash=False)
    assumed: tuple[Assumed, ...] = ()

    def ttl(self, at: datetime) -> int | None:
        """Seconds since the epoch, computed and never typed; None for what does not expire."""
        return int((at + self.expires_after).timestamp()) if self.expires_after else None


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """Entities of one table that are written together or not at all."""

    id: str
    purpose: str
    table: str
    entities: tuple[str, ...]  # their types; of each, its own item is put
    source: Source = ()

    def request(
        self, entities: Sequence[Entity], table: str, values: Mapping[str, str], more: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """The TransactItems of boto3's resource: every item rendered, with whatever else it holds by type."""
        own = {e.type: e.items[0] for e in entities if e.table == self.table}
        return [
            {"Put": {"TableName": table, "Item": {**own[t].render(values), "EntityType": t, **more.get(t, {})}}}
            for t in self.entities
        ]


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """An attribute whose value is looked up in another table, of its own stack or of any other."""

    table: str
    attribute: str
    to_table: str
    to_attribute: str
    source: Source = ()


class Match(Enum):
    """How a pattern compares the sort key."""

    EXACT = "="
    PREFIX = "begins_with"


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One documented question to a table. ``unsupported`` says why its keys cannot answer it as documented."""

    id: str
    purpose: str
    table: str
    partition: str
    sort: str | None = None
    match: Match = Match.EXACT
    index: str | None = None
    newest_first: bool = False
    only: Mapping[str, Any] = field(default_factory=dict, hash=False)
    unsupported: str | None = None
    source: Source = ()

    def request(self, table: Table, values: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
        """The boto3 table method and arguments that ask this; all names are placeholders, reserved words included."""
        key = table.key if self.index is None else next(i.key for i in table.every_index if i.name == self.index)
        partition = _value(key.partition, self.partition.format_map(values))
        sort = None if self.sort is None else _value(key.sort, self.sort.format_map(values))
        whole_key = self.match is Match.EXACT and (sort is None) == (key.sort is None)
        if self.index is None and whole_key and not self.only:
            names = [a.name for a in key.attributes]
            return "get_item", {"Key": dict(zip(names, [partition, sort], strict=False))}
        request: dict[str, Any] = {
            "KeyConditionExpression": "#p = :p",
            "ExpressionAttributeNames": {"#p": key.partition.name},
            "ExpressionAttributeValues": {":p": partition},
            "ScanIndexForward": not self.newest_first,
        }
        if self.index is not None:
            request["IndexName"] = self.index
        if sort is not None and key.sort is not None:
            request["KeyConditionExpression"] += (
                " AND begins_with(#s, :s)" if self.match is Match.PREFIX else " AND #s = :s"
            )
            request["ExpressionAttributeNames"]["#s"] = key.sort.name
            request["ExpressionAttributeValues"][":s"] = sort
        for n, (name, value) in enumerate(self.only.items()):
            request["FilterExpression"] = " AND ".join(
                filter(None, [request.get("FilterExpression"), f"#f{n} = :f{n}"])
            )
            request["ExpressionAttributeNames"][f"#f{n}"] = name
            request["ExpressionAttributeValues"][f":f{n}"] = value
        return "query", request


def _value(of: Attribute | None, text: str) -> str | Decimal:
    """A rendered template as the type of its key attribute: the engine refuses a text where it keeps numbers."""
    return Decimal(text) if of is not None and of.kind is AttributeType.NUMBER else text


def index_pattern(table: Table, index: Index) -> Pattern:
    """The question that an index with a purpose answers: all items of one partition."""
    return Pattern(
        id=index.name,
        purpose=index.purpose,
        table=table.name,
        index=index.name,
        partition="{value}",
        source=index.source,
    )
