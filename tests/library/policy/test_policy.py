"""The user's sentence, one clause per line; and what must hold for any table."""

from __future__ import annotations

import pytest
from declare import PROD, TEST
from hypothesis import given
from strategies import ENVIRONMENTS, GUARDS, any_tables, legal_tables

from holdfast import Data, DeclarationError, Durable, Environment, Guard, Table, Tier, Transient, key
from holdfast.policy.required import required, why_unprotected

SAFE = Guard.DELETION_PROTECTION | Guard.RETAIN | Guard.PITR | Guard.ALARMS


def table(lifetime: Durable | Transient, data: Data) -> Table:
    return Table(name="orders", purpose="", key=key("id"), lifetime=lifetime, data=data)


@pytest.mark.parametrize(
    ("lifetime", "data", "env", "expected"),
    [
        (Durable(), Data.OPERATIONAL, PROD, Guard.TAGS | SAFE),
        (Durable(), Data.PERSONAL, PROD, Guard.TAGS | SAFE | Guard.CUSTOMER_KEY),
        (Durable(ttl="ttl"), Data.OPERATIONAL, PROD, Guard.TAGS | SAFE | Guard.TTL),
        (Durable(), Data.OPERATIONAL, TEST, Guard.TAGS),
        (Durable(), Data.PERSONAL, TEST, Guard.TAGS | Guard.CUSTOMER_KEY),
        (Transient(ttl="ttl"), Data.OPERATIONAL, PROD, Guard.TAGS | Guard.TTL),
        (Transient(ttl="ttl"), Data.PERSONAL, PROD, Guard.TAGS | Guard.TTL | Guard.CUSTOMER_KEY),
        (Transient(ttl="ttl"), Data.OPERATIONAL, TEST, Guard.TAGS | Guard.TTL),
    ],
)
def test_required(lifetime: Durable | Transient, data: Data, env: Environment, expected: Guard) -> None:
    assert required(table(lifetime, data), env) == expected


def declared(arguments: dict[str, object]) -> Table:
    return Table(**arguments)  # type: ignore[arg-type]


@given(any_tables)
def test_any_declaration_is_taken_or_refused_in_words(arguments: dict[str, object]) -> None:
    try:
        declared(arguments)
    except DeclarationError as refused:
        if not refused.text.startswith(f"table {arguments['name']}: "):
            raise


@given(legal_tables, ENVIRONMENTS, GUARDS, GUARDS)
def test_a_floor_only_adds(arguments: dict[str, object], env: Environment, floor: Guard, more: Guard) -> None:
    t = declared(arguments)
    assert required(t, env) in required(t, env, floor)
    assert required(t, env, floor) in required(t, env, floor | more)
    assert floor in required(t, env, floor)


@given(legal_tables, ENVIRONMENTS)
def test_what_holds_for_any_table(arguments: dict[str, object], env: Environment) -> None:
    t = declared(arguments)
    guards = required(t, env)
    assert Guard.TAGS in guards
    assert (t.data is not Data.PERSONAL) or Guard.CUSTOMER_KEY in guards
    if isinstance(t.lifetime, Durable) and env.tier is Tier.PROD:
        assert SAFE in guards
    if isinstance(t.lifetime, Durable) and env.tier is Tier.PROD and t.data is Data.PERSONAL:
        with pytest.raises(ValueError, match="nothing excuses it"):
            why_unprotected(t, env)
    else:
        assert why_unprotected(t, env)


@given(legal_tables)
def test_prod_never_asks_for_less_than_test(arguments: dict[str, object]) -> None:
    t = declared(arguments)
    assert required(t, TEST) in required(t, PROD)
