"""The guard row: which epoch of a sink is applied, and which driver may apply the next.

    sink        the checkpoint's own name for its sink, which no other has
    job_table   the table's name in the job, for people
    epoch       the last epoch whose rows are in the table
    term        of the driver's lease (`spark.lease`): it only rises; 0 before the first
    applied_at  when that epoch was

It is changed by the transaction that writes the epoch's rows, so both are there or neither. Who
writes holds the row's lock until the end, so that two drivers never write at once; who begins puts
its term there and thereby waits for what an earlier driver has open. A driver whose term is not
the row's any more may not write; nor does one begin whose term is there already: it is of a copy of
the checkpoint, which has leases of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import psycopg

from tidegate.connectors.postgres.client import Server, Session
from tidegate.errors import LeaseHeldError, SinkError, TrustError
from tidegate.patience import Patience, Waiting
from tidegate.plan.nodes import quoted
from tidegate.ports import Progress

_T = TypeVar("_T")


class _Busy(Exception):  # noqa: N818 -- nobody is told
    """The row's lock was not to be had in time."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The row of one sink. ``sink``: what it is called in the table ``schema.name``."""

    server: Server
    schema: str
    name: str
    sink: str

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
        a driver has written, it has entered before. So an epoch that is not entered is one of a
        newer state of the checkpoint, or of a copy of it. Raises LeaseHeldError where a higher term
        is there, or the same, which a copy has; TrustError where checkpoint and server do not know
        each other any more.
        """
        has_asked = False

        def take(session: Session, epoch: int, holder: int) -> int:
            nonlocal has_asked
            at = progress()
            self.judge(epoch, 0, at.entered)
            if holder > term or (holder == term and not has_asked):
                raise self._taken(holder, term)
            self.judge(epoch, max(at.written.values(), default=0), at.entered)
            enter = f"UPDATE {self._beside_values} SET term = %s WHERE sink = %s"
            session.run(enter, term, self.sink)
            has_asked = True  # the term is our own where the answer to the commit is lost
            session.commit()
            return epoch

        return self._holding(take, lambda: progress().entered == 0)

    def holding(self, term: int, work: Callable[[Session, int], _T]) -> _T:
        """What ``work`` gives, which gets a session that has the row's lock, and the row's epoch.

        A session of this sink that does not give the lock up is ended: of a driver before this
        one, or our own whose connection is lost; what it has not committed is undone. Raises
        LeaseHeldError when a later driver is there, TrustError when there is no row.
        """

        def check(session: Session, epoch: int, holder: int) -> _T:
            if holder > term:
                raise self._taken(holder, term)
            return work(session, epoch)

        return self._holding(check, lambda: False)

    def _holding(self, work: Callable[[Session, int, int], _T], is_new: Callable[[], bool]) -> _T:
        """As `holding`; ``work`` gets the row's term, too. Where there is no row, and it
        ``is_new``, it is made."""

        def attempt(session: Session) -> _T:
            return work(session, *self._locked(session, is_new))

        waiting = Waiting(Patience(self.server.options.statement_us / 1e6), self.server.clock)
        while True:
            try:
                return self.server.attempt(attempt, again=True)
            except _Busy:
                if not waiting.again():
                    raise SinkError(
                        f"table '{self.server.table}': another session holds the row of this sink"
                        f" in {self._table}",
                        detail=f"it is the row of '{self.sink}'",
                        hint="see pg_locks and pg_stat_activity for whose it is, and end it",
                    ) from None
            self.server.attempt(self._end_others, again=True)

    def _end_others(self, session: Session) -> None:
        session.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
            " AND datname = current_database() AND usename = current_user"
            " AND pid <> pg_backend_pid() AND pid IN"
            " (SELECT pid FROM pg_locks WHERE relation = to_regclass(%s))",
            *(self.server.application, self._table),
        )

    def _locked(self, session: Session, is_new: Callable[[], bool]) -> tuple[int, int]:
        """The row's epoch and term; nobody else can change the row until the transaction ends.

        Raises TrustError when there is no row.
        """
        find = f"SELECT epoch, term FROM {self._beside_values} WHERE sink = %s FOR UPDATE"
        make = (
            f"INSERT INTO {self._beside_values} (sink, job_table, epoch, term, applied_at)"
            " VALUES (%s, %s, 0, 0, now()) ON CONFLICT DO NOTHING"
        )
        try:
            with session.waiting(self.server.patience.lock_s):
                found = session.run(find, self.sink)
                if not found and is_new():
                    session.run(make, self.sink, self.server.table)
                    found = session.run(find, self.sink)
        except psycopg.errors.LockNotAvailable:
            raise _Busy from None
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            raise self._lost(f"{self._table} is gone") from None
        if not found:
            raise self._lost(f"the row of '{self.sink}' in {self._table} is gone")
        ((epoch, holder),) = found
        return int(epoch), int(holder)

    def _taken(self, holder: int, term: int) -> LeaseHeldError:
        return LeaseHeldError(
            f"table '{self.server.table}': another driver has taken over this checkpoint; this"
            " one stops without committing",
            detail=f"{self._table} has term {holder}, the lease of this one is {term}",
            hint="if a copy of the checkpoint is in use: only one of them may go on; if an older"
            " state of it was put back: put the newest one back, or start anew with another"
            " --checkpoint and another table",
        )

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
                hint="an older state of the checkpoint was put back, or a copy of it has gone on:"
                " go on with the newest one, or start anew with another --checkpoint and another"
                " table",
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
