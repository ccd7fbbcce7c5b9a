"""Sinks in memory: rows are staged by writers, and there for everybody once they are published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

import pyarrow as pa

from tidegate.errors import TrustError
from tidegate.plan.tables import Table
from tidegate.ports import SinkCommitter, SinkWriter, StagedFile, in_order, order_of


class Outputs:
    """What a job has written, by target (see `tidegate.epochs.targets`).

    ``on_use`` is called before anything is staged or published, and may raise what a store raises.
    """

    def __init__(self, on_use: Callable[[], None] = lambda: None) -> None:
        self.on_use = on_use
        self.staged: dict[int, dict[str, _Staged]] = {}
        self.published: dict[int, dict[tuple[int, int], pa.Table]] = {}
        self._numbers = count()
        self.unsynced: list[Callable[[], None]] = []
        """What undoes the moves of files that are not synced."""

    def rows_of(self, target: int) -> list[pa.Table]:
        """What is published, in the order of the epochs, and in each of the files' order."""
        published = self.published.get(target, {})
        return [published[place] for place in sorted(published)]

    def lose(self) -> None:
        """The machine dies: what was being published is staged again."""
        for undo in self.unsynced:
            undo()
        self.unsynced.clear()

    def writer(self, target: int, epoch: int, writer: str, known: int = 0) -> SinkWriter:
        """What stages rows of ``epoch`` (see `tidegate.epochs.worker.WriterOf`)."""
        del known
        path = f"{epoch}-{writer}-{next(self._numbers)}"
        return _Writer(self, self.staged.setdefault(target, {}), epoch, writer, path)

    def committer(self, target: int, table: Table, staging: str) -> SinkCommitter:
        """What publishes them (see `tidegate.epochs.opening.CommitterOf`)."""
        del table, staging
        staged = self.staged.setdefault(target, {})
        return _Committer(self, staged, self.published.setdefault(target, {}))


@dataclass(frozen=True, slots=True)
class _Staged:
    epoch: int
    rows: pa.Table


@dataclass(slots=True)
class _Writer:
    """Implements `tidegate.ports.SinkWriter`."""

    outputs: Outputs
    staged: dict[str, _Staged]
    epoch: int
    writer: str
    path: str
    tables: list[pa.Table] = field(default_factory=list)

    def write(self, data: pa.Table) -> None:
        self.tables.append(data)

    def close(self) -> list[StagedFile]:
        rows = sum(table.num_rows for table in self.tables)
        if not rows:
            return []
        self.outputs.on_use()
        data = pa.concat_tables(self.tables, promote_options="permissive")
        self.staged[self.path] = _Staged(self.epoch, data)
        return [StagedFile(self.path, order_of(self.writer, 0), rows, data.nbytes)]

    def abort(self) -> None:
        self.tables.clear()
        self.staged.pop(self.path, None)


@dataclass(slots=True)
class _Committer:
    """Implements `tidegate.ports.SinkCommitter`."""

    outputs: Outputs
    staged: dict[str, _Staged]
    published: dict[tuple[int, int], pa.Table]

    def prepare(self, fresh: bool) -> dict[str, str]:
        del fresh
        return {}

    def bind(self, remembered: Mapping[str, str]) -> None:
        del remembered

    def publish(self, epoch: int, staged: Sequence[StagedFile]) -> None:
        for index, path in enumerate(file.path for file in in_order(staged)):
            self.outputs.on_use()
            found = self.staged.pop(path, None)
            if found is not None:
                self.published[epoch, index] = found.rows
                self.outputs.unsynced.append(partial(self._back, path, found, epoch, index))
            elif (epoch, index) not in self.published:
                raise TrustError(f"a staged file is lost: '{path}'")
        self.outputs.unsynced.clear()

    def _back(self, path: str, file: _Staged, epoch: int, index: int) -> None:
        del self.published[epoch, index]
        self.staged[path] = file

    def discard_unknown(self, epoch: int) -> None:
        for path in [path for path, file in self.staged.items() if file.epoch <= epoch]:
            del self.staged[path]
