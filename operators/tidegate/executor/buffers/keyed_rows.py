"""Rows in state by key: an epoch costs what it touches, not what is kept (design "Keyed state").

An LSM tree over the runs of a `StateTable`. A *generation* is what one `put` wrote; its runs are
sorted by the 64-bit hash of the rows' key, and have a range of hashes each. Keys are never compared
here: what is put replaces all that older generations have under the same hashes (or, where rows
only *add* up, stands beside it), so who reads all rows of a hash, and puts them back with their
changes, need not care whether one key or two have it.

`settle` merges generations, the newer ones with each other, and all once the newer ones have as
many rows as the oldest. It goes through them by ranges of hashes, and does in an epoch what the
rows put in that epoch pay for: what it has merged of a range stands as runs of the newest of these
generations, and the rest of their ranges in the old runs, whose ranges shrink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.engine import Engine
from tidegate.executor.columns import single_array
from tidegate.plan.nodes import quoted
from tidegate.state import HASH_MAX, KEYED_MERGE, Run, StateTable
from tidegate.types import HIDDEN_PREFIX

UInt64s: TypeAlias = npt.NDArray[np.uint64]

HASH: Final = f"{HIDDEN_PREFIX}hash"
"""The column of rows in state that has the hash of their key, as UINT64."""
_GONE: Final = f"{HIDDEN_PREFIX}gone"
"""A column of runs with hashes that have no rows: true in the one row that says so."""
RUN_ROWS_MAX: Final = 65_536
FANOUT: Final = 8
"""So many generations of about one size are merged."""
_SMALL_ROWS: Final = 64
"""Generations of fewer rows are of one size."""
MERGED_ROWS_MIN: Final = 65_536
"""Rows that an epoch may merge whatever it has put."""
MERGED_SHARE: Final = 6
"""Rows that an epoch may merge for each row that it has put."""
_WASTE_ROWS: Final = 4 * RUN_ROWS_MAX
Generations: TypeAlias = "dict[int, list[Run]]"


class _Merge(NamedTuple):
    """Generations ``first`` to ``last``, of which what is below ``cursor`` is merged."""

    first: int
    last: int
    cursor: int


class KeyedRows:
    """The rows in a ``bucket`` of ``state``. ``adds``: rows stand beside older ones of their hash.

    ``prune`` says which rows are needed no longer: of the rows of some generations, neighbours in
    age, in the order of hash and age, it gives those that are, in that order. It must drop no row
    of which it keeps an older one, unless rows add up.
    """

    def __init__(
        self,
        state: StateTable,
        bucket: int = 0,
        *,
        adds: bool = False,
        prune: Callable[[pa.Table], pa.Table] | None = None,
    ) -> None:
        self._state = state
        self._bucket = bucket
        self._adds = adds
        self._prune = prune
        self._name = f"{KEYED_MERGE}{bucket}"
        self._put = 0

    def find(self, hashes: UInt64s) -> pa.Table | None:
        """The rows of ``hashes``, ascending and each once; None where there are none at all.

        They come in no order, but those of one hash as they were put.
        """
        found: list[pa.Table] = []
        for _, runs in reversed(self._generations().items()):
            if not len(hashes):
                break
            missing = np.ones(len(hashes), np.bool_)
            rows = []
            for run in runs:
                begin, end = _range(hashes, run.low, run.high)
                if begin == end:
                    continue
                table = self._state.read_run(run)
                at, counts = _places(hashes_of(table), hashes[begin:end])
                missing[begin:end] = counts == 0
                if len(at):
                    rows.append(table.take(pa.array(at)))
            found = rows + found
            if not self._adds:
                hashes = hashes[missing]
        if not found:
            return None
        rows_ = _without_gone(_concat(found))
        return rows_ if rows_.num_rows else None

    def put(self, rows: pa.Table, gone: UInt64s | None = None) -> None:
        """Puts ``rows``, sorted by `HASH`, in the place of what their hashes had.

        The hashes in ``gone``, none of which is one of theirs, have no rows from now on.
        """
        if gone is not None and len(gone):
            rows = _with_gone(rows, gone)
        if not rows.num_rows:
            return
        self._put += rows.num_rows
        runs = self._runs()
        self._append(max((run.level for run in runs), default=-1) + 1, rows, 0, HASH_MAX)

    def put_instead(self, before: pa.Table | None, rows: pa.Table) -> None:
        """Puts ``rows`` in the place of those that were found ``before``: what is not among their
        hashes any more has no rows from now on."""
        gone = None if before is None else np.setdiff1d(hashes_of(before), hashes_of(rows))
        self.put(by_hash(rows), gone)

    def settle(self) -> None:
        """Merges what is due, in bounds: call it once an epoch, behind its last `put`."""
        budget = max(MERGED_ROWS_MIN, MERGED_SHARE * self._put)
        self._put = 0
        while budget > 0:
            merge = self._merge()
            if merge is None:
                return
            budget -= self._step(merge, min(budget, 4 * MERGED_ROWS_MIN))

    def scan(self) -> Iterator[pa.Table]:
        """All rows, by ascending hashes, some at once."""
        generations = self._generations()
        cursor = 0
        while generations and cursor <= HASH_MAX:
            end = _end(generations, cursor, RUN_ROWS_MAX)
            rows = _without_gone(self._merged(generations, cursor, end))
            if rows.num_rows:
                yield rows
            cursor = end + 1

    def _runs(self) -> list[Run]:
        return self._state.runs.get(self._bucket, [])

    def _generations(self) -> Generations:
        """The runs by age, the oldest first, each by its hashes."""
        found: Generations = {}
        for run in sorted(self._runs(), key=lambda run: (run.level, run.low)):
            found.setdefault(run.level, []).append(run)
        return found

    def _merge(self) -> _Merge | None:
        """What is being merged, or is due."""
        known = self._state.get(self._name)
        if known is not None:
            return _Merge(*map(int, known.split()))
        generations = self._generations()
        ages, sizes = list(generations), [_rows(runs) for runs in generations.values()]
        newer = sum(sizes[1:])
        if newer >= (sizes[0] if sizes else 1) and (len(ages) >= FANOUT or newer >= _WASTE_ROWS):
            return _Merge(ages[0], ages[-1], 0)
        levels = [_level(size) for size in sizes]
        for level in sorted(set(levels)):
            larger = [at for at, other in enumerate(levels) if other > level]
            first = larger[-1] + 1 if larger else 0
            if levels[first:].count(level) >= FANOUT:
                return _Merge(ages[first], ages[-1], 0)
        return None

    def _step(self, merge: _Merge, rows_max: int) -> int:
        """Merges the next range of hashes; gives how many rows that has read."""
        every = self._generations()
        ours = {age: runs for age, runs in every.items() if merge.first <= age <= merge.last}
        end = _end(ours, merge.cursor, rows_max)
        before = _rows(self._runs())
        merged = self._merged(ours, merge.cursor, end)
        if next(iter(ours)) == next(iter(every)):
            merged = _without_gone(merged)
        self._cut(merge, end)
        read = before - _rows(self._runs())
        if merged.num_rows:
            self._append(merge.last, merged, merge.cursor, end)
        if end == HASH_MAX:
            self._state.values.pop(self._name, None)
        else:
            self._state.put(self._name, b"%d %d %d" % (merge.first, merge.last, end + 1))
        return max(read, 1)

    def _merged(self, generations: Generations, low: int, high: int) -> pa.Table:
        """The rows of these generations that have hashes from ``low`` to ``high``, merged."""
        parts: list[pa.Table] = []
        sizes: list[int] = []
        for runs in generations.values():
            size = 0
            for run in runs:
                first, last = max(run.low, low), min(run.high, high)
                if first > last:
                    continue
                table = self._state.read_run(run)
                begin, end = _range(hashes_of(table), first, last)
                parts.append(table.slice(begin, end - begin))
                size += end - begin
            sizes.append(size)
        rows = _concat(parts)
        if sum(size > 0 for size in sizes) > 1:
            hashes = hashes_of(rows)
            order = np.argsort(hashes, kind="stable")
            if not self._adds:
                ages = np.repeat(np.arange(len(sizes)), sizes)
                order = _newest(hashes[order], ages[order], order)
            rows = rows.take(pa.array(order))
        return rows if self._prune is None else _pruned(rows, self._prune)

    def _cut(self, merge: _Merge, end: int) -> None:
        """Forgets what the merged generations have from the cursor to ``end``."""
        kept = []
        for run in self._runs():
            if (
                not merge.first <= run.level <= merge.last
                or run.low > end
                or run.high < merge.cursor
            ):
                kept.append(run)
            elif run.high <= end:
                self._state.forget_run(run)
            else:
                first, last = _range(hashes_of(self._state.read_run(run)), end + 1, run.high)
                size = run.bytes * (last - first) // max(run.rows, 1)
                kept.append(run._replace(low=end + 1, rows=last - first, bytes=size))
        self._set(kept)

    def _append(self, age: int, rows: pa.Table, low: int, high: int) -> None:
        """Writes ``rows`` as runs of a generation that have the hashes ``low`` to ``high``."""
        hashes = hashes_of(rows)
        cuts = [0]
        while cuts[-1] + RUN_ROWS_MAX < len(hashes):
            cuts.append(int(np.searchsorted(hashes, hashes[cuts[-1] + RUN_ROWS_MAX - 1], "right")))
        if cuts[-1] < len(hashes):
            cuts.append(len(hashes))
        starts = [low, *(int(hashes[cut]) for cut in cuts[1:-1])]
        ends = [*(start - 1 for start in starts[1:]), high]
        written = [
            self._state.write_run(rows.slice(begin, end - begin), age, first, last)
            for (begin, end), first, last in zip(pairwise(cuts), starts, ends, strict=True)
        ]
        self._set([*self._runs(), *written])

    def _set(self, runs: list[Run]) -> None:
        if runs:
            self._state.runs[self._bucket] = runs
        else:
            self._state.runs.pop(self._bucket, None)


def _rows(runs: Iterable[Run]) -> int:
    return sum(run.rows for run in runs)


def _end(generations: Generations, cursor: int, rows_max: int) -> int:
    """Where a range from ``cursor`` ends that has about ``rows_max`` rows: hashes are even."""
    rows = sum(run.rows for runs in generations.values() for run in runs if run.high >= cursor)
    if rows <= rows_max:
        return HASH_MAX
    return min(HASH_MAX, cursor + (HASH_MAX - cursor) * rows_max // rows)


def _pruned(rows: pa.Table, prune: Callable[[pa.Table], pa.Table]) -> pa.Table:
    if _GONE not in rows.column_names:
        return prune(rows)
    gone = hashes_of(rows.filter(rows.column(_GONE)))
    return _with_gone(prune(_without_gone(rows)), gone)


def with_hashes(rows: pa.Table, keys: Sequence[str], engine: Engine) -> pa.Table:
    """``rows`` with the column `HASH`, of their ``keys``."""
    if keys:
        sql = f"SELECT hash({', '.join(map(quoted, keys))}) FROM rows_"
        hashes = single_array(engine.query(sql, {"rows_": rows.select(list(keys))}).column(0))
    else:
        hashes = pa.array(np.zeros(rows.num_rows, np.uint64))
    return rows.append_column(HASH, hashes)


def by_hash(rows: pa.Table) -> pa.Table:
    """``rows`` in the order of `HASH`; those of one hash as they stand."""
    return rows.take(pa.array(np.argsort(hashes_of(rows), kind="stable")))


def stretch(rows: pa.Table, hashes: UInt64s) -> pa.Table:
    """Those of ``rows``, by hash, that have hashes from the first to the last of ``hashes``, which
    are ascending."""
    begin, end = _range(hashes_of(rows), int(hashes[0]), int(hashes[-1]))
    return rows.slice(begin, end - begin)


def groups_of(rows: pa.Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where the rows of each hash begin, and how many they are; ``rows`` are in that order."""
    hashes = hashes_of(rows)
    starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
    return starts, np.diff(starts, append=len(hashes))


def only_needed(
    rows: pa.Table,
    is_asked: npt.NDArray[np.bool_],
    needed: Callable[[pa.Table], npt.NDArray[np.int64]],
) -> pa.Table:
    """For `prune`: ``rows`` without those that are asked about and that ``needed`` does not name.

    It is given the rows asked about, and gives the numbers of those that stay.
    """
    asked = np.flatnonzero(is_asked)
    if not len(asked):
        return rows
    stays = ~is_asked
    stays[asked[needed(rows.take(pa.array(asked)))]] = True
    return rows.filter(pa.array(stays))


def hashes_of(rows: pa.Table) -> UInt64s:
    """The column `HASH`."""
    hashes: UInt64s = single_array(rows.column(HASH)).to_numpy(zero_copy_only=False)
    return hashes


def _range(hashes: UInt64s, low: int, high: int) -> tuple[int, int]:
    """From where to where ascending ``hashes`` are from ``low`` to ``high``."""
    begin = 0 if low == 0 else int(np.searchsorted(hashes, np.uint64(low), "left"))
    end = (
        len(hashes) if high == HASH_MAX else int(np.searchsorted(hashes, np.uint64(high), "right"))
    )
    return begin, end


def _places(
    hashes: UInt64s, wanted: UInt64s
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where in ascending ``hashes`` those ``wanted`` stand, and how often each of them does."""
    first = np.searchsorted(hashes, wanted, "left")
    is_there = first < len(hashes)
    is_there[is_there] = hashes[first[is_there]] == wanted[is_there]
    counts = np.zeros(len(wanted), np.int64)
    starts = first[is_there]
    stops = np.searchsorted(hashes, wanted[is_there], "right")
    found = stops - starts
    counts[is_there] = found
    if (found == 1).all():
        return starts, counts
    steps = np.arange(found.sum()) - np.repeat(np.cumsum(found) - found, found)
    return np.repeat(starts, found) + steps, counts


def _newest(
    hashes: UInt64s, ages: npt.NDArray[np.int64], order: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Of ``order``, by ``hashes`` and ``ages``, what is of the last age of its hash."""
    if not len(hashes):
        return order
    ends = np.flatnonzero(np.append(hashes[1:] != hashes[:-1], True))
    counts = np.diff(ends, prepend=-1)
    newest: npt.NDArray[np.int64] = order[ages == np.repeat(ages[ends], counts)]
    return newest


def _level(rows: int) -> int:
    level = 0
    while rows >= _SMALL_ROWS * FANOUT:
        rows //= FANOUT
        level += 1
    return level


def _concat(tables: Sequence[pa.Table]) -> pa.Table:
    """One table of one chunk a column; a run has `_GONE`, and others, if it needs them."""
    if any(table.num_columns != tables[0].num_columns for table in tables) or any(
        _GONE in table.column_names for table in tables
    ):
        return pa.concat_tables(tables, promote_options="default").combine_chunks()
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).combine_chunks()


def _with_gone(rows: pa.Table, gone: UInt64s) -> pa.Table:
    marks = pa.table({HASH: gone, _GONE: np.ones(len(gone), np.bool_)})
    both = pa.concat_tables([rows, marks], promote_options="default").combine_chunks()
    return by_hash(both)


def _without_gone(rows: pa.Table) -> pa.Table:
    if _GONE not in rows.column_names:
        return rows
    stays = pc.invert(pc.fill_null(rows.column(_GONE), False))
    return rows.filter(stays).drop_columns([_GONE])
