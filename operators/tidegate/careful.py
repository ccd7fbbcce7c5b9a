"""Rows that kill who runs them, found by a process that may die.

A library that aborts on a row, or asks for all memory there is, ends the process, and does so each
time that the row is read. So an epoch that has cost a worker its life is run carefully: rows are
first run by a copy of the process. If that dies, its halves are, until a row is alone; it is left
out, and goes to the ledger as `tidegate.types.Reason.CRASHED`.
"""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol, Self, TypeVar

_TRIED_S: Final = 300
"""Longer than any part takes: what is not over then does not die, it is slow."""
_OUT_OF_MEMORY: Final = 3
_VICTIM: Final = "1000"
"""Of the processes that hold the memory, the kernel kills this one first."""


class Rows(Protocol):
    """Rows that can be cut, as a table's."""

    def __len__(self) -> int: ...
    def slice(self, offset: int, length: int) -> Self: ...


R = TypeVar("R", bound=Rows)


class Careful:
    """How this process runs rows; one of them does one task at a time."""

    def __init__(self) -> None:
        self.is_on = False
        self._killers: set[bytes] = set()

    @contextmanager
    def during(self, epoch_is_careful: bool) -> Iterator[None]:
        """The block is a task's. It may yield to its caller, who runs no other one meanwhile."""
        self.is_on = epoch_is_careful
        try:
            yield
        finally:
            self.is_on = False
            self._killers.clear()

    def parts(self, rows: R, run: Callable[[R], object]) -> Iterator[tuple[R, bool]]:
        """``rows`` in their order, in parts, and whether a part, of one row, kills who runs it.

        Whoever takes the parts may change what the next ones are run with: each is tried when it is
        its turn.
        """
        if not self.is_on or len(rows) == 0 or not _kills(lambda: run(rows)):
            yield rows, False
        elif len(rows) == 1:
            yield rows, True
        else:
            half = len(rows) // 2
            yield from self.parts(rows.slice(0, half), run)
            yield from self.parts(rows.slice(half, len(rows) - half), run)

    def remember(self, record: bytes) -> None:
        """The record of a row that kills."""
        self._killers.add(record)

    def knows(self, record: bytes | None) -> bool:
        """Whether a record is one of those that kill."""
        return record in self._killers


CAREFUL: Final = Careful()
"""That of this process."""


def _kills(run: Callable[[], object]) -> bool:
    """Whether a copy of this process that does ``run`` dies of it, or finds no memory."""
    child = os.fork()
    if child == 0:
        _run(run)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status) != signal.SIGALRM
    return os.waitstatus_to_exitcode(status) == _OUT_OF_MEMORY


def _run(run: Callable[[], object]) -> None:
    """In the copy: never returns, and nothing of the process that it is a copy of is ended."""
    code = 0
    faulthandler.disable()  # this death is looked for
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_TRIED_S)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_VICTIM, encoding="ascii")
    try:
        run()
    except MemoryError:
        code = _OUT_OF_MEMORY
    except BaseException:
        pass
    finally:
        os._exit(code)
