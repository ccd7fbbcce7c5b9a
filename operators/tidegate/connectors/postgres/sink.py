"""The `postgres` sink (design §2 "Sinks"): an epoch is one transaction of the server's.

Writers stage their rows in the checkpoint (`staged_parquet`); when the epoch's entry is written,
the driver copies them into the table. The same transaction writes the epoch's number into the
guard row (`guard`), so that an epoch that is published again, after whatever crash, is found
there and left alone; and what was committed by a connection that was lost in that moment is found
as well. A driver that has lost its lease is refused by the row's term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.clock import Clock, SystemClock
from tidegate.connectors.option_types import parsed
from tidegate.connectors.postgres.client import USUAL, PostgresPatience, Server, Session
from tidegate.connectors.postgres.guard import Guard
from tidegate.connectors.postgres.options import PostgresOptions
from tidegate.connectors.postgres.statements import Statements
from tidegate.connectors.postgres.target import Target
from tidegate.connectors.postgres.text import Text
from tidegate.connectors.staged_parquet import staged_parts
from tidegate.connectors.staging import Staging, unique_token
from tidegate.engine.engine import shared_engine
from tidegate.errors import TrustError
from tidegate.failpoints import hit
from tidegate.plan.tables import Table
from tidegate.ports import Progress, StagedFile, in_order
from tidegate.types import OP, Op

_NAME_LENGTH: Final = 16


class PostgresCommitter:
    """Implements `tidegate.ports.LeasedCommitter`. ``staging`` lies in the checkpoint.

    What is remembered is the ``identity`` of the sink, by which its guard row is found.
    """

    def __init__(
        self,
        table: Table,
        staging: str,
        token: Callable[[], str] = unique_token,
        clock: Clock | None = None,
        patience: PostgresPatience = USUAL,
    ) -> None:
        self._options = parsed(PostgresOptions, table.options)
        self._table = table
        self._staging = Staging(staging)
        self._token = token
        self._clock: Clock = clock or SystemClock()
        self._patience = patience
        # The planner says what tells changing results apart, be it nothing: there is one then.
        has_key = "key.fields" in dict(table.options)
        schema, name = self._options.target
        self._statements = Statements(
            schema,
            name,
            tuple(column.name for column in table.columns),
            self._options.key_fields if has_key else None,
        )
        self._guard: Guard | None = None
        self._term = 0
        self._applied = 0

    def prepare(self, fresh: bool) -> dict[str, str]:
        self._staging.make()
        server = self._server("prepare")
        target = Target(self._table, self._statements)
        guard = self._guard_of(server, "")

        def make(session: Session) -> None:
            target.prepare(session, fresh=fresh)
            if fresh:
                guard.create(session)
            session.commit()

        server.attempt(make)
        server.attempt(target.try_out)
        return {"identity": self._token()[:_NAME_LENGTH]} if fresh else {}

    def bind(self, remembered: Mapping[str, str]) -> None:
        identity = remembered.get("identity", "")
        if not identity:
            raise TrustError("the checkpoint's job.json does not say which guard row is its own")
        self._guard = self._guard_of(self._server(identity), identity)

    def take_over(self, term: int, progress: Callable[[], Progress]) -> None:
        assert self._guard is not None
        self._applied = self._guard.claim(term, progress)
        self._term = term

    def publish(self, epoch: int, staged: Sequence[StagedFile]) -> None:
        if not staged:
            return
        assert self._guard is not None
        guard, files = self._guard, in_order(staged)

        def apply(session: Session, applied: int) -> None:
            guard.judge(applied, self._applied, max(epoch, self._applied))
            if applied < epoch:
                self._write(session, files)
                hit("sink-produced", epoch)
                guard.advance(session, epoch)
                hit("sink-before-commit", epoch)
                session.commit()
                hit("sink-after-commit", epoch)

        guard.holding(self._term, apply)
        self._applied = max(epoch, self._applied)
        self._staging.delete(files)

    def discard_unknown(self, epoch: int) -> None:
        self._staging.discard(epoch)

    def _write(self, session: Session, files: Sequence[StagedFile]) -> None:
        """The rows of staged files, into the table."""
        key = self._statements.key
        if key is None:
            session.copy(self._statements.copy, self._lines(files, Seen(())))
            return
        seen = Seen(key)
        session.run(self._statements.stage)
        session.copy(self._statements.copy, self._lines(files, seen))
        if seen.deletes:  # else the server plans for any number of rows
            session.run("ANALYZE pg_temp.tidegate_rows")
            session.run(self._statements.delete(nulls=seen.nulls))
        session.run(self._statements.merge)

    def _lines(self, files: Sequence[StagedFile], seen: Seen) -> Iterator[memoryview]:
        with_op = self._statements.key is not None
        text = Text(self._table.columns, shared_engine(), with_op=with_op)
        first = 0
        for rows in staged_parts(self._staging, files, f"table '{self._table.name}'"):
            changes = _changes(rows) if self._statements.key is not None else rows
            seen.look(changes)
            yield text.encode(changes, first)
            first += changes.num_rows

    def _server(self, identity: str) -> Server:
        name = f"tidegate-{identity}"
        return Server(self._table.name, self._options, name, self._clock, self._patience)

    def _guard_of(self, server: Server, identity: str) -> Guard:
        return Guard(server, self._statements.schema, self._options.guard, identity)


class Seen:
    """What is among an epoch's changes: deletions, and such with NULL in their ``key``."""

    def __init__(self, key: tuple[str, ...]) -> None:
        self._key = key
        self.deletes = False
        self.nulls = False

    def look(self, changes: pa.Table) -> None:
        if OP in changes.column_names and pc.any(pc.equal(changes[OP], int(Op.DELETE))).as_py():
            self.deletes = True
            self.nulls |= any(changes[name].null_count for name in self._key)


def _changes(rows: pa.Table) -> pa.Table:
    """``rows`` with `OP`, without what they were before: the key tells."""
    if OP not in rows.column_names:
        return rows.append_column(OP, pa.array(np.full(rows.num_rows, int(Op.INSERT), np.int8)))
    return rows.filter(pc.not_equal(rows.column(OP), int(Op.UPDATE_BEFORE)))
