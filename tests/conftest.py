"""What holds for every test, of the library and of the estate."""

from __future__ import annotations

import locale
import signal
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from support import MOMENTS, TOKYO

# A shell starts what runs in the background with ctrl-c ignored, and so would be the commands that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(params=MOMENTS)
def now(request: pytest.FixtureRequest) -> Iterator[datetime]:
    """Each of MOMENTS; of one of them the machine is in Tokyo."""
    before = locale.setlocale(locale.LC_ALL)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in TOKYO.items() if "Tokyo" in request.param else ():
            patch.setenv(name, value)
        time.tzset()
        locale.setlocale(locale.LC_ALL, "")
        yield MOMENTS[request.param]
    time.tzset()
    locale.setlocale(locale.LC_ALL, before)


@pytest.fixture(autouse=True)
def _own_estate() -> Iterator[None]:
    """A command that was run in another repository leaves that one's estate imported."""
    before = _estates()
    yield
    if _estates() != before:
        for name in _estates():
            del sys.modules[name]
        sys.modules.update(before)


def _estates() -> dict[str, Any]:
    return {n: m for n, m in list(sys.modules.items()) if n.partition(".")[0] in ("stacks", "shop")}


@pytest.fixture(scope="session", autouse=True)
def _one_copy_of_holdfast() -> Any:
    """PyPI's `constructs` extends its path to our folder of that name: nobody may import us through it."""
    yield
    assert not [name for name in sys.modules if name.startswith("constructs.holdfast")]
