"""The tables of a projection, and how rows get into them.

A table has a name in the code (`round`) and one in the database with its generation behind it (`projections.round_3`):
a rebuild fills the next generation beside the one that is read, and then the state names the new one.

Rows depend on the facts alone, never on how they were cut into batches: rows are added once, or sums are added up, or
the newest state takes the place of the one before.

Not here: which rows (the projections), when they are committed (`runner`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from psycopg import sql

from projections.feed import Cursor, Earlier

SCHEMA: Final = "projections"
READERS: Final = ("dealproof_app", "dealproof_reader")

Row = Sequence[object]


@dataclass(frozen=True)
class Table:
    """`columns`: name and SQL type, in order; `key`: those that name a row; `indexes`: what follows ON the table."""

    name: str
    columns: tuple[tuple[LiteralString, LiteralString], ...]
    key: tuple[LiteralString, ...]
    indexes: tuple[LiteralString, ...] = ()

    def __post_init__(self) -> None:
        if not set(self.key) <= {name for name, _ in self.columns}:
            raise ValueError(f"table {self.name}: the key {self.key} is not among its columns")


def columns(text: LiteralString) -> tuple[tuple[LiteralString, LiteralString], ...]:
    """Columns written as `name type, name type`; a text is compared by its bytes, and null only where a ? follows."""
    found: list[tuple[LiteralString, LiteralString]] = []
    for part in text.split(","):
        name, kind = part.split()
        null = "" if kind.endswith("?") else " not null"
        plain = kind.removesuffix("?")
        found.append((name, (_TYPES.get(plain, plain)) + null))
    return tuple(found)


_TYPES: Final[dict[str, LiteralString]] = {
    "text": 'text collate "C"', "bool": "boolean", "time": "timestamptz", "int": "bigint",
}  # fmt: skip


class Store:
    """Tables of one generation, inside a transaction."""

    def __init__(self, cursor: Cursor, tables: Sequence[Table], generation: int) -> None:
        self.cursor, self._generation = cursor, generation
        self._tables = {table.name: table for table in tables}
        self._statements: dict[tuple[str, str], sql.Composed] = {}
        self.earlier = Earlier(cursor)

    # -- rows

    def add(self, table: str, rows: Sequence[Row]) -> None:
        """New rows."""
        if rows:
            with self.cursor.copy(self._statement("copy", table)) as copy:
                write = copy.write_row
                for row in rows:
                    write(row)

    def sum_up(self, table: str, rows: Sequence[Row]) -> None:
        """Add what these rows have beyond their key to the rows of the same key."""
        self._upsert("sum", table, rows)

    def replace(self, table: str, rows: Sequence[Row]) -> None:
        """These rows in place of those of the same key."""
        self._upsert("replace", table, rows)

    def delete(self, table: str, keys: Sequence[object]) -> None:
        """The rows with these keys of one column."""
        if keys:
            self.cursor.execute(self._statement("delete", table), (list(keys),))

    def rows(self, query: LiteralString, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Read; `{round}` in the query is the table of that name."""
        return self.cursor.execute(self._named(query), parameters).fetchall()

    def execute(self, query: LiteralString, parameters: Sequence[object] = ()) -> None:
        """Change rows by a statement of the projection's own."""
        self.cursor.execute(self._named(query), parameters)

    def _upsert(self, way: str, table: str, rows: Sequence[Row]) -> None:
        if rows:
            self.cursor.execute(self._statement(way, table), [list(column) for column in zip(*rows, strict=True)])

    # -- tables

    def create(self, *, indexed: bool = True) -> None:
        """Make the tables; their indexes too, unless they are to be filled first."""
        for table in self._tables.values():
            name = self._name(table.name)
            defined = [sql.SQL("{} {}").format(sql.Identifier(column), sql.SQL(kind)) for column, kind in table.columns]
            key = sql.SQL("primary key ({})").format(_names(table.key))
            self.cursor.execute(sql.SQL("create table {} ({})").format(name, sql.SQL(", ").join([*defined, key])))
            readers = sql.SQL(", ").join(map(sql.Identifier, READERS))
            self.cursor.execute(sql.SQL("grant select on {} to {}").format(name, readers))
        if indexed:
            self.index()

    def index(self) -> None:
        """Make the indexes beyond the keys."""
        for table in self._tables.values():
            for index in table.indexes:
                self.cursor.execute(sql.SQL("create index on {} {}").format(self._name(table.name), sql.SQL(index)))

    def _name(self, table: str) -> sql.Identifier:
        return physical(table, self._generation)

    def _named(self, query: LiteralString) -> sql.Composed:
        return sql.SQL(query).format(**{name: self._name(name) for name in self._tables})

    def _statement(self, way: str, table: str) -> sql.Composed:
        known = self._statements.get((way, table))
        if known is None:
            known = self._statements[way, table] = _MAKERS[way](self._tables[table], self._name(table))
        return known


def physical(table: str, generation: int) -> sql.Identifier:
    """The name of a table in the database."""
    return sql.Identifier(SCHEMA, f"{table}_{generation}")


def _names(names: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def _copy(table: Table, name: sql.Identifier) -> sql.Composed:
    return sql.SQL("copy {} ({}) from stdin").format(name, _names(column for column, _ in table.columns))


def _insert(table: Table, name: sql.Identifier) -> sql.Composed:
    arrays = [sql.SQL("%b::{}[]").format(sql.SQL(kind.partition(" ")[0])) for _, kind in table.columns]
    insert = sql.SQL("insert into {name} as kept ({columns}) select * from unnest({arrays}) on conflict ({key}) do ")
    return insert.format(
        name=name, columns=_names(column for column, _ in table.columns), arrays=sql.SQL(", ").join(arrays),
        key=_names(table.key),
    )  # fmt: skip


def _sum(table: Table, name: sql.Identifier) -> sql.Composed:
    return _insert(table, name) + _update(table, sql.SQL("{0} = kept.{0} + excluded.{0}"))


def _replace(table: Table, name: sql.Identifier) -> sql.Composed:
    return _insert(table, name) + _update(table, sql.SQL("{0} = excluded.{0}"))


def _update(table: Table, each: sql.SQL) -> sql.Composed:
    rest = [sql.Identifier(column) for column, _ in table.columns if column not in table.key]
    return sql.SQL("update set {}").format(sql.SQL(", ").join(each.format(column) for column in rest))


def _delete(table: Table, name: sql.Identifier) -> sql.Composed:
    return sql.SQL("delete from {} where {} = any(%s)").format(name, _names(table.key))


_MAKERS: Final[Mapping[str, Any]] = {"copy": _copy, "sum": _sum, "replace": _replace, "delete": _delete}
