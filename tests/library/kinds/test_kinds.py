"""What every kind of store has to say, and that a kind which leaves some of it out cannot be made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.contract.guards import OF_TYPE
from holdfast.kinds.base import Kind
from holdfast.kinds.kinds import KINDS, kind_of
from holdfast.model.facts import Guard

OFFERING = [kind for kind in KINDS if kind.declaration.offers & Guard.CUSTOMER_KEY]
NAMES = [kind.declaration.__name__ for kind in OFFERING]


def test_every_kind_is_found_by_its_declaration() -> None:
    assert len({kind.declaration for kind in KINDS}) == len(KINDS)
    assert all(kind_of(object.__new__(kind.declaration)) is kind for kind in KINDS)


@pytest.mark.parametrize("kind", OFFERING, ids=NAMES)
def test_a_guard_that_is_offered_and_not_read_is_refused(kind: Kind) -> None:  # type: ignore[type-arg]
    with pytest.raises(TypeError, match=r"offers customer-managed key: say in needs and guards how it is read$"):
        replace(kind, needs=replace(kind.needs, customer_key=None))
    with pytest.raises(TypeError, match=r"offers (customer-managed key|deletion protection): say in needs and guards"):
        replace(kind, guards=())
    nameless = tuple(replace(of, name="") for of in kind.guards)
    with pytest.raises(TypeError, match=r"guards need a Protection\(type='AWS::"):
        replace(kind, guards=nameless)


@pytest.mark.parametrize("kind", OFFERING, ids=NAMES)
def test_the_comparison_of_contracts_reads_what_the_kind_says(kind: Kind) -> None:  # type: ignore[type-arg]
    assert all(OF_TYPE[of.type] is of for of in kind.guards)
