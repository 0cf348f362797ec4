"""Whether a value is of a declared type and, where it is not, what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from datetime import date, datetime, timedelta
from enum import Enum, Flag
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

Fits = Callable[[Any], bool]
WORDS = {
    Any: "anything",
    NoneType: "None",
    bool: "True or False",
    date: "a date, such as date(2027, 1, 31)",
    float: "a number",
    int: "a whole number",
    str: "a text",
    timedelta: "a timedelta, such as timedelta(days=30)",
}
EXAMPLES = {
    "Durable": "Durable()",
    "Index": 'gsi("email")',
    "Key": 'key("id")',
    "Store": "Database(…)",
    "Transient": 'Transient(ttl="expiresAt")',
}
LONGEST = 60  # characters of a wrong value that are worth showing


def fits(hint: Any) -> Fits:
    """Whether a value is of a type. What this does not know is refused: a field that nothing checks would be a hole."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: True
    if origin in (Union, UnionType):
        any_of = tuple(map(fits, parts))
        return lambda value: any(one(value) for one in any_of)
    if origin is tuple and parts[-1] is not ...:
        each = tuple(map(fits, parts))
        return lambda value: (
            isinstance(value, tuple) and len(value) == len(each) and all(f(v) for f, v in zip(each, value, strict=True))
        )
    if origin in (tuple, frozenset):
        inner = fits(parts[0])
        return lambda value: isinstance(value, origin) and all(map(inner, value))
    if origin is Mapping:
        name, content = map(fits, parts)
        return lambda value: isinstance(value, Mapping) and all(name(k) and content(v) for k, v in value.items())
    if origin is type:
        return lambda value: isinstance(value, type) and issubclass(value, parts[0])
    if origin is Literal:
        return lambda value: value in parts
    if hint is int:
        return lambda value: isinstance(value, int) and not isinstance(value, bool)
    if hint is float:
        return lambda value: isinstance(value, int | float) and not isinstance(value, bool)
    if hint is date:  # to Python a datetime is one, and cannot be compared with any
        return lambda value: isinstance(value, date) and not isinstance(value, datetime)
    if isinstance(hint, type) and origin is None:
        return lambda value: isinstance(value, hint)
    raise TypeError(f"typed.py cannot check values of {hint}: teach it")


def plain(hint: Any) -> frozenset[type]:
    """Classes of which every value, subclasses' aside, is of a type."""
    known = {int, float} if hint is float else {part for part in _alternatives(hint) if isinstance(part, type)}
    return frozenset(part for part in known if get_origin(part) is None)


def wrong(hint: Any, value: object) -> str:
    """In what way ``value`` is not of a type: what follows the name of its field."""
    for part in _alternatives(hint):
        origin, inner = get_origin(part), get_args(part)
        if origin is tuple and inner[-1] is ... and isinstance(value, tuple):
            n, one = next((n, one) for n, one in enumerate(value) if not fits(inner[0])(one))
            return f"[{n}]{wrong(inner[0], one)}"
        if origin is Mapping and isinstance(value, Mapping):
            for name, content in value.items():
                if not fits(inner[0])(name):
                    return f" has the key {_shown(name)}, which has to be {expected(inner[0], name)}"
                if not fits(inner[1])(content):
                    return f"[{_shown(name)}]{wrong(inner[1], content)}"
    return f" is {_shown(value)}, and has to be {expected(hint, value)}{_way_out(hint, value)}"


def expected(hint: Any, value: object = None) -> str:
    """A type in words, with an example where one helps: the nearest to a wrong ``value``."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(expected(part, value) for part in parts)
    if origin is tuple:
        return f"a tuple of {_name(parts[0]) if parts[-1] is ... else ' and '.join(map(_name, parts))}"
    if origin is frozenset:
        return f"a frozenset of {_name(parts[0])}"
    if origin is Mapping:
        return f"a mapping of {_name(parts[0])} to {_name(parts[1])}"
    if origin is type:
        return f"the class {_name(parts[0])}"
    if origin is Literal:
        return " or ".join(map(repr, parts))
    if hint in WORDS:
        return WORDS[hint]
    example = EXAMPLES.get(hint.__name__) or (_member(hint, value) if issubclass(hint, Enum) else "")
    return f"{_a(hint.__name__)}, such as {example}" if example else _a(hint.__name__)


def clipped(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _way_out(hint: Any, value: object) -> str:
    """What is usually forgotten where a tuple is meant."""
    for part in _alternatives(hint):
        if get_origin(part) is tuple and isinstance(value, list):
            return ": write (…) instead of […]"
        if get_origin(part) is tuple and get_args(part)[-1] is ... and fits(get_args(part)[0])(value):
            return ": write (…,), with a comma at the end"
    return ""


def _member(kind: type[Enum], value: object) -> str:
    """The member that was probably meant, else the first."""
    said = str(value).casefold()
    near = [m for m in kind if said in (str(m.value).casefold(), m.name.casefold())]
    return f"{kind.__name__}.{(near or list(kind))[0].name}"


def _name(hint: Any) -> str:
    names = {str: "text", NoneType: "None", Any: "anything"}
    return " or ".join(names.get(part) or str(getattr(part, "__name__", part)) for part in _alternatives(hint))


def _shown(value: object) -> str:
    """A wrong value, short: what it says where it is plain, else what it is."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, Enum) and not isinstance(value, Flag):
        return f"{type(value).__name__}.{value.name}"
    if value is None or isinstance(value, str | int | float | Flag):
        return clipped(repr(value))
    if callable(value) and not is_dataclass(value):
        return f"the function {getattr(value, '__name__', '')}".rstrip()
    return _a(type(value).__name__)


def _a(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
