"""The guard row: which epoch of a sink is applied, and which driver may apply the next.

    sink        the checkpoint's own name for its sink, which no other has
    job_table   the table's name in the job, for people
    epoch       the last epoch whose rows are in the table
    term        of the driver's lease (`spark.lease`): it only rises
    applied_at  when that epoch was

It is changed by the transaction that writes the epoch's rows, so both are there or neither. Who
writes holds the row's lock until the end, so that two drivers never write at once; who begins puts
its term there and thereby waits for what an earlier driver has open. A driver whose term is not
the row's any more may not write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import psycopg

from tidegate.clock import Clock
from tidegate.connectors.base import Progress
from tidegate.connectors.postgres.client import Server, Session
from tidegate.errors import LeaseHeldError, SinkError, TrustError
from tidegate.plan.nodes import quoted

_T = TypeVar("_T")

_PATIENCE_S: Final = 10
"""How long a transaction of an earlier driver may go on before its session is ended."""


class _Busy(Exception):  # noqa: N818 -- nobody is told
    """The row's lock was not to be had in time."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The row of one sink. ``sink``: what it is called in the table ``schema.name``."""

    server: Server
    schema: str
    name: str
    sink: str
    clock: Clock

    @property
    def _table(self) -> str:
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    @property
    def _beside_values(self) -> str:
        """The table in a statement that gets values, where ``%`` is half of a placeholder."""
        return self._table.replace("%", "%%")

    def create(self, session: Session) -> None:
        """Makes the table if there is none."""
        ((found,),) = session.run("SELECT to_regclass(%s)", self._table)
        if found is None:
            session.run(
                f"CREATE TABLE {self._table} (sink text PRIMARY KEY, job_table text NOT NULL,"
                " epoch bigint NOT NULL, term bigint NOT NULL, applied_at timestamptz NOT NULL)"
            )
        session.run(f"SELECT sink, job_table, epoch, term, applied_at FROM {self._table} LIMIT 0")

    def claim(self, term: int, progress: Callable[[], Progress]) -> int:
        """From here on no driver of a lower term writes; gives the epoch that is applied.

        Waits for what such a driver has open. ``progress`` is asked behind the lock: whatever such
        a driver has written, it has entered before. Raises LeaseHeldError where a higher term is
        there, TrustError where checkpoint and server do not know each other any more.
        """

        def take(session: Session, epoch: int) -> int:
            at = progress()
            self.judge(epoch, max(at.written.values(), default=0), at.entered)
            enter = f"UPDATE {self._beside_values} SET term = %s WHERE sink = %s"
            session.run(enter, term, self.sink)
            session.commit()
            return epoch

        return self.holding(term, take, lambda: progress().entered == 0)

    def holding(
        self,
        term: int,
        work: Callable[[Session, int], _T],
        is_new: Callable[[], bool] = lambda: False,
    ) -> _T:
        """What ``work`` gives, which gets a session that has the row's lock, and the row's epoch.

        A session of this sink that does not give the lock up is ended: of a driver before this
        one, or our own whose connection is lost; what it has not committed is undone. Where there
        is no row, and it ``is_new``, it is made. Raises as `_locked`.
        """

        def attempt(session: Session) -> _T:
            return work(session, self._locked(session, term, is_new))

        until_s = self.clock.monotonic_s() + self.server.options.statement_us / 1e6
        while True:
            try:
                return self.server.again(attempt)
            except _Busy:
                pass
            if self.clock.monotonic_s() > until_s:
                raise SinkError(
                    f"table '{self.server.table}': another session holds the row of this sink in"
                    f" {self._table}",
                    detail=f"it is the row of '{self.sink}'",
                    hint="see pg_locks and pg_stat_activity for whose it is, and end it",
                )
            self.server.again(self._end_others)

    def _end_others(self, session: Session) -> None:
        session.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
            " AND datname = current_database() AND usename = current_user"
            " AND pid <> pg_backend_pid() AND pid IN"
            " (SELECT pid FROM pg_locks WHERE relation = to_regclass(%s))",
            *(self.server.application, self._table),
        )

    def _locked(self, session: Session, term: int, is_new: Callable[[], bool]) -> int:
        """The row's epoch; nobody else can change the row until the transaction ends.

        Raises LeaseHeldError when a later driver is there, TrustError when there is no row.
        """
        find = f"SELECT epoch, term FROM {self._beside_values} WHERE sink = %s FOR UPDATE"
        make = (
            f"INSERT INTO {self._beside_values} (sink, job_table, epoch, term, applied_at)"
            " VALUES (%s, %s, 0, %s, now()) ON CONFLICT DO NOTHING"
        )
        try:
            with session.waiting(_PATIENCE_S):
                found = session.run(find, self.sink)
                if not found and is_new():
                    session.run(make, self.sink, self.server.table, term)
                    found = session.run(find, self.sink)
        except psycopg.errors.LockNotAvailable:
            raise _Busy from None
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            raise self._lost(f"{self._table} is gone") from None
        if not found:
            raise self._lost(f"the row of '{self.sink}' in {self._table} is gone")
        ((epoch, holder),) = found
        if holder > term:
            raise LeaseHeldError(
                f"table '{self.server.table}': another driver has taken over this checkpoint; this"
                " one stops without committing",
                detail=f"{self._table} has term {holder}, the lease of this one is {term}",
                hint="if an older state of the checkpoint was put back: put the newest one back,"
                " or start anew with another --checkpoint and another table",
            )
        return int(epoch)

    def _lost(self, what: str) -> TrustError:
        return TrustError(
            f"table '{self.server.table}': nobody can tell which epochs are in it",
            detail=what,
            hint="the database was put back, or somebody removed it: start anew with another"
            " --checkpoint and another table",
        )

    def judge(self, epoch: int, least: int, most: int) -> None:
        """Raises TrustError unless the row's ``epoch`` is one that this checkpoint can have."""
        if epoch > most:
            raise TrustError(
                f"table '{self.server.table}' is ahead of the checkpoint: epoch {epoch} is in it,"
                f" the checkpoint has no more than {most}",
                detail=f"so says the row of '{self.sink}' in {self._table}",
                hint="an older state of the checkpoint was put back: put the newest one back, or"
                " start anew with another --checkpoint and another table",
            )
        if epoch < least:
            raise TrustError(
                f"table '{self.server.table}' is behind the checkpoint: epoch {epoch} is in it,"
                f" {least} was written",
                detail=f"so says the row of '{self.sink}' in {self._table}",
                hint="the database was put back, or a server took over that lacked the last"
                " commits: start anew with another --checkpoint and another table",
            )

    def advance(self, session: Session, epoch: int) -> None:
        """Says that ``epoch`` is applied, when the transaction is committed."""
        session.run(
            f"UPDATE {self._beside_values} SET epoch = %s, applied_at = now() WHERE sink = %s",
            *(epoch, self.sink),
        )
