"""Which estate a command works on: named in the project file of the repository that it runs in, and imported by path.

There is no other way to one: an estate that was not named is another team's.
"""

from __future__ import annotations

import os
import sys
import tomllib
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from holdfast.errors import InputError
from holdfast.estate.estate import Estate
from holdfast.model.declaration import DeclarationError, shown

EXAMPLE = 'estate = "stacks:ESTATE"'
NONE = (
    f"no estate is named here: write {EXAMPLE} below [tool.holdfast] in pyproject.toml or holdfast.toml, "
    "or give --estate module:NAME"
)


class NoEstateError(InputError):
    """No estate is named anywhere; a command that needs none goes on without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """An estate, and where it is declared: the folder of a package, or one file."""

    estate: Estate
    source: Path


def find(asked: str | None = None) -> Project:
    """The estate that ``asked`` names (module:NAME), or HOLDFAST_ESTATE, or the nearest project file upwards."""
    upwards = tuple(_upwards(Path.cwd().resolve()))
    for said_by, named in (("--estate", asked), ("HOLDFAST_ESTATE", os.environ.get("HOLDFAST_ESTATE"))):
        if named:
            return load(named, said_by, upwards)
    for folder in upwards:
        for file in (folder / "holdfast.toml", folder / "pyproject.toml"):
            if (named := _setting(file)) is not None:
                return load(named, str(file), (folder,))
    raise NoEstateError(NONE)


def _upwards(start: Path) -> Iterator[Path]:
    """The folder and those above it, up to the root of the repository: what lies beyond is not the team's."""
    for folder in (start, *start.parents):
        yield folder
        if (folder / ".git").exists():
            return


def _refuse_strangers(file: Path) -> None:
    """What a command imports belongs to its user, to root, or to the owner of the working folder."""
    if hasattr(os, "getuid") and file.stat().st_uid not in (0, os.getuid(), Path.cwd().stat().st_uid):
        raise InputError(f"{file} belongs to another user: an estate is code, and only yours is run")


def _setting(file: Path) -> str | None:
    if not file.is_file():
        return None
    _refuse_strangers(file)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read ({getattr(error, 'strerror', None) or 'it is not UTF-8'})") from None
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{file} is not TOML ({error})") from None
    tools = content.get("tool")
    table = tools.get("holdfast") if isinstance(tools, dict) else None
    named = table.get("estate") if isinstance(table, dict) else None
    if named is None and file.name == "holdfast.toml":
        raise InputError(f"{file} names no estate: write {EXAMPLE} below [tool.holdfast]")
    if named is not None and not isinstance(named, str):
        raise InputError(f"{file}: the estate is a text, such as {EXAMPLE}")
    return named


def load(named: str, said_by: str, folders: tuple[Path, ...]) -> Project:
    """The estate of the first of ``folders`` that has its module; whatever stops it is told in one line."""
    module, _, name = named.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise InputError(f"{said_by}: {named!r} is not module:NAME, such as stacks:ESTATE")
    path = next((p for folder in folders if (p := _file(folder, module))), None)
    if path is None:
        inside = module.replace(".", "/")
        where = f"{folders[0]}{' or above it' if len(folders) > 1 else ''}"
        raise InputError(f"{said_by}: there is no {inside}.py or {inside}/__init__.py in {where}")
    _refuse_strangers(path)
    found = vars(_imported(module, path)).get(name)
    if not isinstance(found, Estate):
        what = "is missing" if found is None else f"is a {type(found).__name__}"
        raise InputError(f"{path}: {name} {what}; it has to be a holdfast.Estate(…) ({said_by})")
    return Project(estate=found, source=path.parent if path.name == "__init__.py" else path)


def _file(folder: Path, module: str) -> Path | None:
    inside = folder.joinpath(*module.split("."))
    return next((p for p in (inside / "__init__.py", inside.with_suffix(".py")) if p.is_file()), None)


def _imported(module: str, path: Path) -> ModuleType:
    """The module from that file, and what is inside of its own package; nothing else of the folder can be imported."""
    known = sys.modules.get(module)
    if known is not None and known.__file__ and Path(known.__file__).resolve() == path:
        return known
    for name in [n for n in sys.modules if n == module or n.startswith(f"{module}.")]:
        del sys.modules[name]
    _name_parents(module, path)
    spec = spec_from_file_location(module, path)
    assert spec
    assert spec.loader
    made = sys.modules[module] = module_from_spec(spec)
    try:
        spec.loader.exec_module(made)
    except DeclarationError as error:
        error.where = error.where or _place(error, path)
        raise
    except SyntaxError as error:
        where = shown(error.filename, error.lineno) if error.filename else str(path)
        raise InputError(f"{where}: Python cannot read it ({error.msg})") from None
    except (Exception, SystemExit) as error:
        raise InputError(f"{_place(error, path)}: {' '.join(str(error).split()) or type(error).__name__}") from None
    return made


def _name_parents(module: str, path: Path) -> None:
    """``infra.stacks`` needs a package ``infra`` to be in; its own code is not run."""
    names = module.split(".")[:-1]
    folder = path.parent.parent if path.name == "__init__.py" else path.parent
    for depth in range(len(names), 0, -1):
        name = ".".join(names[:depth])
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
        sys.modules.setdefault(name, module_from_spec(spec))
        folder = folder.parent


def _place(error: BaseException, path: Path) -> str:
    """Where in the estate it stopped."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if Path(frame.filename).is_relative_to(path.parent)]
    return shown(inside[-1].filename, inside[-1].lineno) if inside else str(path)
