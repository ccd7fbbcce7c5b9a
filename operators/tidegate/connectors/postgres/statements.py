"""The statements that put an epoch's rows into their table.

Rows are copied into a temporary table. Of each key the last row counts: keys whose last row is a
deletion go first, by one statement; then all others are inserted or brought up to date, by another.
Rows that nothing tells apart are copied into the table itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.connectors.postgres.text import POSITION
from tidegate.plan.nodes import quoted
from tidegate.types import OP, Op

_ROWS = "pg_temp.tidegate_rows"


@dataclass(frozen=True, slots=True)
class Statements:
    """Those of one table. ``key`` None: rows are added. Empty: there is one row at a time."""

    schema: str
    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...] | None

    @property
    def target(self) -> str:
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    @property
    def _listed(self) -> str:
        return ", ".join(quoted(column) for column in self.columns)

    def create(self, types: tuple[str, ...], *, nulls_in_keys: bool) -> list[str]:
        """Makes the table. ``nulls_in_keys``: the server has keys in which NULL is a value."""
        columns = [
            f"{quoted(name)} {type_}" for name, type_ in zip(self.columns, types, strict=True)
        ]
        if self.key:
            kind = "UNIQUE NULLS NOT DISTINCT" if nulls_in_keys else "PRIMARY KEY"
            columns.append(f"{kind} ({', '.join(map(quoted, self.key))})")
        made = [f"CREATE TABLE {self.target} ({', '.join(columns)})"]
        if self.key == ():
            made.append(f"CREATE UNIQUE INDEX ON {self.target} ((true))")
        return made

    @property
    def stage(self) -> str:
        """Makes the temporary table: with the types and collations that the table has."""
        return (
            f"CREATE TEMPORARY TABLE tidegate_rows ON COMMIT DROP AS SELECT"
            f" NULL::bigint AS {POSITION}, NULL::smallint AS {OP}, {self._listed}"
            f" FROM {self.target} WITH NO DATA"
        )

    @property
    def copy(self) -> str:
        """Where rows are copied to: the temporary table if there is a key."""
        if self.key is None:
            return f"COPY {self.target} ({self._listed}) FROM STDIN (FORMAT csv)"
        return f"COPY {_ROWS} FROM STDIN (FORMAT csv)"

    @property
    def _now(self) -> str:
        """Of each key the last row."""
        assert self.key is not None
        if not self.key:
            return f"now AS MATERIALIZED (SELECT * FROM {_ROWS} ORDER BY {POSITION} DESC LIMIT 1)"
        keys = ", ".join(map(quoted, self.key))
        last = f"SELECT DISTINCT ON ({keys}) * FROM {_ROWS} ORDER BY {keys}, {POSITION} DESC"
        return f"now AS MATERIALIZED ({last})"

    def delete(self, *, nulls: bool) -> str:
        """Removes what is to go. ``nulls``: some of it may have NULL in its key.

        A statement of its own: what is inserted by the same one would still meet the values of
        these rows in other unique keys of the table.
        """
        gone = f"now.{OP} = {int(Op.DELETE)}"
        deletion = self._delete("=", gone)
        if not nulls or not self.key:
            return f"WITH {self._now} {deletion}"
        some = " OR ".join(f"now.{quoted(key)} IS NULL" for key in self.key)
        lost = self._delete("IS NOT DISTINCT FROM", gone, f"({some})")
        return f"WITH {self._now}, gone AS ({deletion}) {lost}"

    @property
    def merge(self) -> str:
        """Inserts what is there now, or brings it up to date."""
        assert self.key is not None
        keys = ", ".join(map(quoted, self.key))
        others = [column for column in self.columns if column not in self.key]
        sets = ", ".join(f"{quoted(name)} = EXCLUDED.{quoted(name)}" for name in others)
        return (
            f"WITH {self._now} INSERT INTO {self.target} ({self._listed})"
            f" SELECT {self._listed} FROM now WHERE now.{OP} <> {int(Op.DELETE)}"
            f" ON CONFLICT ({keys or '(true)'}) DO {f'UPDATE SET {sets}' if sets else 'NOTHING'}"
        )

    def _delete(self, equals: str, *conditions: str) -> str:
        """Of rows with the key of a deletion. ``=`` alone can use an index."""
        assert self.key is not None
        same = (f"was.{quoted(key)} {equals} now.{quoted(key)}" for key in self.key)
        where = " AND ".join([*conditions, *same])
        return f"DELETE FROM {self.target} AS was USING now WHERE {where}"

    @property
    def trial(self) -> list[str]:
        """What is planned, and not run, to see whether rows can be written."""
        if self.key is None:
            nulls = ", ".join("NULL" for _ in self.columns)
            return [f"EXPLAIN INSERT INTO {self.target} ({self._listed}) VALUES ({nulls})"]
        return [f"EXPLAIN {self.delete(nulls=True)}", f"EXPLAIN {self.merge}"]
