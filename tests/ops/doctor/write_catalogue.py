"""Write ops/doctor/catalogue.json anew from a freshly migrated database: `python -m tests.ops.doctor.write_catalogue`.

After every new migration.  Look at the difference before you commit it: it is what the doctor will expect.
"""

from __future__ import annotations

import shutil

import msgspec
import psycopg

from ops.database import migrate
from ops.doctor.catalogue import FILE, Expected, read_catalogue, revision_of
from ops.postgres_server import EmbeddedPostgres
from tests.conftest import open_folder


def catalogue_file(url: str) -> bytes:
    """What the file says of a migrated database."""
    with psycopg.connect(url) as connection:
        connection.execute("set local search_path = pg_catalog, pg_temp")
        expected = Expected(revision_of(connection), read_catalogue(connection))
    return msgspec.json.format(msgspec.json.encode(expected, order="sorted"), indent=1) + b"\n"


def main() -> None:
    """Migrate a database of its own and write the file."""
    base = open_folder("dealproof-catalogue-")
    try:
        with EmbeddedPostgres(base / "server") as server:
            migrate(server.url)
            FILE.write_bytes(catalogue_file(server.url))
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    main()
