"""Random declarations for property-based tests: legal ones, and any."""

from __future__ import annotations

from declare import PROD, TEST
from hypothesis import strategies as st

from holdfast import (
    NONE,
    Attribute,
    Data,
    Durable,
    Guard,
    Index,
    Key,
    Kind,
    Projection,
    Stream,
    Transient,
    View,
)

ENVIRONMENTS = st.sampled_from((PROD, TEST))
LEGAL_NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{2,12}", fullmatch=True)
ANY_NAMES = st.from_regex(r"[A-Za-z0-9_.{ -]{0,12}", fullmatch=True)
ATTRIBUTES = [
    Attribute("id"),
    Attribute("owner"),
    Attribute("a.b"),
    Attribute("at", Kind.NUMBER),
    Attribute("hash", Kind.BINARY),
]
ANY_ATTRIBUTES = st.builds(Attribute, st.sampled_from(["id", "owner", "at", ""]), st.sampled_from(Kind))


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


def _tables(
    names: st.SearchStrategy[str], keys: st.SearchStrategy[Key], index_names: st.SearchStrategy[list[str]]
) -> st.SearchStrategy[dict[str, object]]:
    indexes = index_names.flatmap(
        lambda ns: st.tuples(
            *(st.builds(Index, st.just(n), keys, st.sampled_from([Projection.ALL, Projection.KEYS_ONLY])) for n in ns)
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
            "stream": st.none() | st.builds(Stream, view=st.sampled_from(View), pending=st.none() | st.just("later")),
            "floor": GUARDS,
        }
    )


legal_tables = _tables(LEGAL_NAMES, legal_keys(), st.lists(LEGAL_NAMES, max_size=3, unique=True))
any_tables = _tables(
    ANY_NAMES, st.builds(Key, ANY_ATTRIBUTES, st.none() | ANY_ATTRIBUTES), st.lists(ANY_NAMES, max_size=25)
)
