"""What is public: a short list, each with a sentence and an example that runs."""

from __future__ import annotations

import inspect
from datetime import date, timedelta

import pytest
from support import ROOT

import holdfast
from holdfast import KeyFamily, Topic
from holdfast.inventory import api

PUBLIC = [(module, name) for module in api.MODULES for name in module.__all__]
GIVEN = {
    "date": date,
    "timedelta": timedelta,
    "TOPIC": Topic(name="t", purpose="p", partitions=1, keep=timedelta(days=1), groups=("g",)),
    "FAMILY": KeyFamily(pattern="x:{id}", ttl=timedelta(minutes=1), purpose="p"),
}


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=[name for _, name in PUBLIC])
def test_every_public_name_says_what_it_is_and_its_example_runs(module: object, name: str) -> None:
    found = getattr(module, name)
    if callable(found):
        assert inspect.getdoc(found)
        assert not str(inspect.getdoc(found)).startswith(f"{name}(")  # what dataclasses write where nobody did
    assert name in api.EXAMPLES[name]
    known = {n: getattr(m, n) for m in api.MODULES for n in m.__all__}
    assert eval(api.EXAMPLES[name], known | GIVEN) is not None


def test_every_example_is_of_a_public_name() -> None:
    assert api.EXAMPLES.keys() == {*holdfast.__all__}


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "api.md").read_text(encoding="utf-8").endswith(api.page())
