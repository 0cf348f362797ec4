"""What every declaration has in common: it is refused at once, in one line that says where, what and the way out."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from holdfast.model import typed

T = TypeVar("T")


class DeclarationError(ValueError):
    """A declaration that AWS or the conventions would refuse; the message says the way out.

    ``where`` is the file and line of the estate, as far as they are known.
    """

    def __init__(self, text: str, where: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.where = where

    def __str__(self) -> str:
        return f"{self.where}: {self.text}" if self.where else self.text


class Located:
    """A declaration that remembers its line, for what is found wrong with it only beside others."""

    __slots__ = ("_declared",)
    _declared: tuple[str, int] | None


def declared_at(declaration: Located) -> str:
    """File and line of a declaration; empty where it was not declared in an estate."""
    found = getattr(declaration, "_declared", None)  # a copy that was unpickled has none
    return shown(*found) if found else ""


def checked(cls: type[T]) -> type[T]:
    """A dataclass that takes values of its fields' types only, and says what is wrong, missing or unknown.

    Stands above ``@dataclass``, whose ``__init__`` the type checker goes on seeing. What ``__post_init__`` refuses gets
    the line of the estate, too.
    """
    made = cls.__init__
    of: Any = cls
    in_order = tuple(f.name for f in fields(of) if f.init and not f.kw_only)
    located = issubclass(cls, Located)
    fits: dict[str, typed.Fits] = {}
    plain: dict[str, frozenset[type]] = {}

    @wraps(made)
    def init(self: T, *values: Any, **named: Any) -> None:
        try:
            if not fits:  # at the first one, when every module that its types are in is loaded
                hints = _hints(cls)
                plain.update({name: typed.plain(hint) for name, hint in hints.items()})
                fits.update({name: typed.fits(hint) for name, hint in hints.items()})
            for name, value in chain(zip(in_order, values, strict=False), named.items()):
                # Most values are of a plain class, and a look at that is all that they cost.
                if name not in fits or (type(value) not in plain[name] and not fits[name](value)):
                    raise DeclarationError(f"{_label(cls, values, named, name)}: {_refusal(cls, name, value)}")
            if located:
                object.__setattr__(self, "_declared", _line())  # these are frozen
            made(self, *values, **named)
        except TypeError:
            if (said := _misfit(cls, values, named)) is None:
                raise
            raise DeclarationError(f"{_label(cls, values, named)}: {said}", place()) from None
        except DeclarationError as error:
            error.where = error.where or place()
            raise

    of.__init__ = init
    return cls


def place() -> str:
    """File and line of the declaration."""
    found = _line()
    return shown(*found) if found else ""


def _line() -> tuple[str, int] | None:
    """The innermost line that is neither this library's nor dataclasses'."""
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] in ("holdfast", "dataclasses"):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def shown(file: str, line: int | None) -> str:
    """A place in the words of all messages, from the working folder where it is inside."""
    path, here = Path(file), Path.cwd()
    return f"{path.relative_to(here) if path.is_relative_to(here) else file}, line {line}"


def _hints(cls: Any) -> dict[str, Any]:
    """The types of the fields that can be given."""
    found = get_type_hints(cls, localns=vars(sys.modules[cls.__module__]))
    return {f.name: found[f.name] for f in fields(cls) if f.init}


def _label(cls: Any, values: tuple[Any, ...], named: Mapping[str, Any], wrong: str = "") -> str:
    """``Table orders-{env}``: what is declared, by its first field where that is a text and not what is wrong."""
    first = fields(cls)[0].name
    name = values[0] if values else named.get(first)
    return f"{cls.__name__} {typed.clipped(name)}" if isinstance(name, str) and first != wrong else str(cls.__name__)


def _refusal(cls: type, name: str, value: object) -> str:
    """What is wrong with one field."""
    hints = _hints(cls)
    if name in hints:
        return f"{name}{typed.wrong(hints[name], value)}"
    from difflib import get_close_matches

    near = get_close_matches(name, hints, n=1)
    return f"it has no field {name}; " + (f"did you mean {near[0]}?" if near else f"it has {', '.join(hints)}")


def _misfit(cls: Any, values: tuple[Any, ...], named: Mapping[str, Any]) -> str | None:
    """Which fields are missing or given twice; None where they fit together, and something else is wrong."""
    in_order = [f.name for f in fields(cls) if f.init and not f.kw_only]
    if len(values) > len(in_order):
        return f"it takes {len(in_order)} values without a name, not {len(values)}; write name=value"
    given = [*in_order[: len(values)], *named]
    for name in given:
        if given.count(name) > 1:
            return f"{name} is given twice"
    missing = [
        f.name
        for f in fields(cls)
        if f.init and f.default is MISSING and f.default_factory is MISSING and f.name not in given
    ]
    if len(missing) > 1:
        return f"{', '.join(missing[:-1])} and {missing[-1]} are missing"
    return f"{missing[0]} is missing, and has to be {typed.expected(_hints(cls)[missing[0]])}" if missing else None
