"""Random declarations for property-based tests: legal ones, and any."""

from __future__ import annotations

from declare import PROD, TEST
from hypothesis import strategies as st

from holdfast import Attribute, AttributeType, Data, Durable, Guard, Projection, Provisioned, Stream, Transient, View
from holdfast.kinds.table.declaration import Index, Key, LocalIndex
from holdfast.model.facts import NONE

ENVIRONMENTS = st.sampled_from((PROD, TEST))
LEGAL_NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{2,12}", fullmatch=True)
ANY_NAMES = st.from_regex(r"[A-Za-z0-9_.{ -]{0,12}", fullmatch=True)
ATTRIBUTES = [
    Attribute("id"),
    Attribute("owner"),
    Attribute("a.b"),
    Attribute("at", AttributeType.NUMBER),
    Attribute("hash", AttributeType.BINARY),
]
ANY_ATTRIBUTES = st.builds(Attribute, st.sampled_from(["id", "owner", "at", ""]), st.sampled_from(AttributeType))


def _union(guards: list[Guard]) -> Guard:
    found = NONE
    for guard in guards:
        found |= guard
    return found


GUARDS = st.lists(st.sampled_from(list(Guard)), max_size=3).map(_union)


@st.composite
def legal_keys(draw: st.DrawFn) -> Key:
    partition, sort = draw(st.permutations(ATTRIBUTES))[:2]
    return Key(partition, draw(st.sampled_from([None, sort])))


PROJECTIONS = st.sampled_from(
    [
        (Projection.ALL, ()),
        (Projection.KEYS_ONLY, ()),
        (Projection.INCLUDE, ("total",)),
        (Projection.INCLUDE, ("b", "a")),
    ]
)
CAPACITY = st.none() | st.builds(Provisioned, read=st.integers(1, 9), write=st.integers(1, 9))


def _index(name: str, key: Key, projection: tuple[Projection, tuple[str, ...]]) -> Index:
    return Index(name, key, *projection)


def _local(place: int, sort: Attribute, projection: tuple[Projection, tuple[str, ...]]) -> LocalIndex:
    return LocalIndex(f"local-index-number-{place}", sort, *projection)


def _tables(
    names: st.SearchStrategy[str], keys: st.SearchStrategy[Key], index_names: st.SearchStrategy[list[str]]
) -> st.SearchStrategy[dict[str, object]]:
    indexes = index_names.flatmap(lambda ns: st.tuples(*(st.builds(_index, st.just(n), keys, PROJECTIONS) for n in ns)))
    local = st.integers(0, 6).flatmap(
        lambda count: st.tuples(
            *(st.builds(_local, st.just(n), st.sampled_from(ATTRIBUTES), PROJECTIONS) for n in range(count))
        )
    )
    return st.fixed_dictionaries(
        {
            "name": names,
            "purpose": st.just("made up"),
            "key": keys,
            "lifetime": st.builds(Durable, ttl=st.none() | st.just("ttl"))
            | st.builds(Transient, ttl=st.just("expiry")),
            "data": st.sampled_from(Data),
            "indexes": indexes,
            "local_indexes": local,
            "billing": CAPACITY,
            "logical_id": st.none() | st.just("Existing"),
            "stream": st.none() | st.builds(Stream, view=st.sampled_from(View), pending=st.none() | st.just("later")),
            "floor": GUARDS,
        }
    )


def _legal(arguments: dict[str, object]) -> dict[str, object]:
    """Local indexes only beside a sort key, at most five, and never on the partition key."""
    key, local = arguments["key"], arguments["local_indexes"]
    assert isinstance(key, Key)
    assert isinstance(local, tuple)
    kept = tuple(i for i in local if i.sort != key.partition)[:5] if key.sort else ()
    return {**arguments, "local_indexes": kept}


legal_tables = _tables(LEGAL_NAMES, legal_keys(), st.lists(LEGAL_NAMES, max_size=3, unique=True)).map(_legal)
any_tables = _tables(
    ANY_NAMES, st.builds(Key, ANY_ATTRIBUTES, st.none() | ANY_ATTRIBUTES), st.lists(ANY_NAMES, max_size=25)
)
