"""The table that is written: made where it is missing, looked at where it is there."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from tidegate.connectors.postgres.client import Session
from tidegate.connectors.postgres.statements import Statements
from tidegate.connectors.postgres.types import holds, pg_type
from tidegate.connectors.staging import removed
from tidegate.errors import OptionsError, SinkError
from tidegate.plan.tables import Table

_NULLS_IN_KEYS = 150_000
"""The server's version that has UNIQUE NULLS NOT DISTINCT."""
_COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod), attnotnull, atthasdef OR attidentity <> '',
  attgenerated <> '' OR attidentity = 'a'
FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_DEFERRABLE = """
SELECT 1 FROM pg_index WHERE indrelid = to_regclass(%s) AND indisunique AND NOT indimmediate
AND (SELECT array_agg(attname::text) FROM pg_attribute WHERE attrelid = indrelid
  AND attnum = ANY (indkey)) @> %s::text[] AND indnkeyatts = %s
"""
"""The server says of such a key only when there is a row that it can take none."""
_DOUBLES_NULLS = """
SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname::text = ANY (%s::text[])
AND NOT attnotnull AND NOT EXISTS (
  SELECT 1 FROM pg_index i WHERE indrelid = attrelid AND indisunique AND indpred IS NULL
  AND (to_jsonb(i) ->> 'indnullsnotdistinct')::boolean AND indnkeyatts = %s
  AND (SELECT array_agg(a.attname::text) FROM pg_attribute a WHERE a.attrelid = indrelid
    AND a.attnum = ANY (indkey)) @> %s::text[])
"""
"""Where two rows may have the same key with NULL in it, one would never replace the other. Servers
before 15 have no such column of pg_index."""
_KINDS = {"v": "a view", "m": "a materialized view", "f": "a foreign table", "S": "a sequence"}


@dataclass(frozen=True, slots=True)
class Target:
    """``table`` as a table of the server's."""

    table: Table
    statements: Statements

    @property
    def _name(self) -> str:
        return self.statements.target

    def prepare(self, session: Session, *, fresh: bool) -> None:
        """Makes the table when the checkpoint is ``fresh`` and there is none; checks it.

        Raises SinkError, OptionsError or TrustError with what does not fit.
        """
        ((encoding,),) = session.run("SHOW server_encoding")
        if encoding != "UTF8":
            raise SinkError(
                f"table '{self.table.name}': the database is kept in {encoding}, which has no place"
                " for every text",
                hint="write into one that was made with ENCODING 'UTF8'",
            )
        # Two jobs may want it at once, and their guard's table.
        session.run("SELECT pg_advisory_xact_lock(hashtext('tidegate'))")
        found = session.run(
            "SELECT c.oid, c.relkind, c.relpersistence FROM pg_class c JOIN pg_namespace n"
            " ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s",
            *(self.statements.schema, self.statements.name),
        )
        if not found and not fresh:
            raise removed(f"table '{self.table.name}': {self._name} is gone from the database")
        if found:
            self._check(session, *found[0])
        else:
            types = tuple(pg_type(column.type) or "" for column in self.table.columns)
            has_nulls = session.connection.info.server_version >= _NULLS_IN_KEYS
            for statement in self.statements.create(types, nulls_in_keys=has_nulls):
                session.run(statement)

    def _check(self, session: Session, oid: int, kind: str, persistence: str) -> None:
        if kind not in ("r", "p"):
            raise self._misfit(f"it is {_KINDS.get(kind, 'no table')}", "name a table")
        if session.run("SELECT 1 WHERE row_security_active(%s::oid)", oid):
            raise self._misfit(
                "its row-level security holds for this user, from whom rows may be hidden that"
                " are to be replaced or to go",
                "ALTER ROLE … BYPASSRLS",
            )
        if persistence == "u":
            raise self._misfit(
                "it is UNLOGGED, so that a crash of the server empties it",
                f"ALTER TABLE {self._name} SET LOGGED",
            )
        there = {row[0]: row[1:] for row in session.run(_COLUMNS, oid)}
        wanted = {column.name: pg_type(column.type) or "" for column in self.table.columns}
        shown = ", ".join(f"{name} {row[0]}" for name, row in there.items())
        for name, type_ in wanted.items():
            if name not in there:
                raise self._misfit(f"it has no column '{name}' (it has {shown})", "add it")
            found, _, _, is_made = there[name]
            if is_made:
                raise self._misfit(f"its column '{name}' is made by the server", "leave it out")
            if not holds(found, type_):
                raise self._misfit(
                    f"its column '{name}' is {found}, which does not hold every {type_}",
                    f"ALTER TABLE {self._name} ALTER COLUMN … TYPE {type_}, or cast in the query",
                )
        for name, (_, not_null, has_default, _) in there.items():
            if name not in wanted and not_null and not has_default:
                raise self._misfit(
                    f"its column '{name}' must not be NULL, and the job does not write it",
                    "give it a DEFAULT, or write it",
                )

    def try_out(self, session: Session) -> None:
        """Lets the server plan what will be run, which tells whether it can be, and may."""
        key = self.statements.key
        try:
            if key is not None:
                session.run(self.statements.stage)
            for statement in self.statements.trial:
                session.run(statement)
        except psycopg.errors.InvalidColumnReference:
            raise self._no_key() from None
        if key and session.run(_DEFERRABLE, self._name, list(key), len(key)):
            raise self._no_key()
        if key and session.run(_DOUBLES_NULLS, self._name, list(key), len(key), list(key)):
            raise self._misfit(
                f"its key ({', '.join(key)}) does not hold rows with NULL together",
                f"ALTER TABLE {self._name} ALTER COLUMN … SET NOT NULL, or make the key UNIQUE"
                " NULLS NOT DISTINCT",
            )

    def _no_key(self) -> OptionsError:
        key = f"({', '.join(self.statements.key or ('(true)',))})"
        return self._misfit(
            f"no unique key of it is {key}",
            f"CREATE UNIQUE INDEX ON {self._name} {key}, not DEFERRABLE, without WHERE",
        )

    def _misfit(self, what: str, hint: str) -> OptionsError:
        return OptionsError(
            f"table '{self.table.name}' cannot be written into {self._name}: {what}",
            hint=f"{hint}; or name another table, which is made as it should be",
        )
