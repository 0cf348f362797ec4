"""`python -m holdfast.postgres.write_catalogs` writes schemas/<name>/catalog.json from the migrations."""

from __future__ import annotations

import sys
from pathlib import Path

from holdfast.errors import InputError
from holdfast.postgres.catalog import dump, read
from holdfast.postgres.connection import connect, without_variables
from holdfast.postgres.migrations import load, migrate
from holdfast.postgres.server import temporary


def main(folder: Path = Path("schemas")) -> None:
    """Writes the declared catalog of every schema, from a server that has nothing else."""
    with without_variables(), temporary() as server:
        for number, schema in enumerate(sorted(p for p in folder.iterdir() if p.is_dir())):
            with connect(server.dsn()) as admin:
                admin.execute(f"CREATE DATABASE declared_{number}".encode())
            with connect(server.dsn(f"declared_{number}")) as connection:
                migrate(connection, load(schema))
                text = dump(read(connection).catalog)
            (schema / "catalog.json").write_text(text)
            print(f"wrote {schema / 'catalog.json'}")


if __name__ == "__main__":
    try:
        main()
    except (InputError, OSError) as error:
        sys.exit(f"holdfast: {error}")
