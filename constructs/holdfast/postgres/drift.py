"""How a live database differs from its schema in the repository."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import InputError
from holdfast.postgres import catalog, migrations
from holdfast.postgres.catalog import Difference
from holdfast.postgres.connection import Connection, PrivilegeError


def inspect(connection: Connection, folder: Path) -> tuple[list[Difference], list[str]]:
    """How a database differs from the schema in the folder, and what could not be seen."""
    declared = _declared(folder)
    try:
        plan = migrations.plan(connection, migrations.load(folder))
        if plan.pending and not plan.ahead:  # the rest would only say so again, in many words
            return [
                Difference(kind="missing", object=m.file, declared="not applied; run `holdfast db migrate`")
                for m in plan.pending
            ], []
        if plan.ahead:
            return [], [f"{name}: applied by a newer package, which has to check this database" for name in plan.ahead]
        live = catalog.read(connection)
        found = catalog.compare(declared, live)
        if found:  # a partition that was just being made or taken away looks otherwise a moment later
            again = catalog.compare(declared, catalog.read(connection))
            found = [difference for difference in found if difference in again]
    except PrivilegeError as error:
        return [], [str(error)]
    role = connection.info.user
    return found, [f"{table}: role {role} may not SELECT from it" for table in live.unread]


def _declared(folder: Path) -> catalog.Catalog:
    path = folder / "catalog.json"
    try:
        return catalog.load(path)
    except FileNotFoundError:
        raise InputError(f"{path} is not there: write it with `python -m holdfast.postgres.write_catalogs`") from None
    except ValueError as error:
        raise InputError(
            f"{path} is not JSON ({error}): `python -m holdfast.postgres.write_catalogs` writes it"
        ) from None
