"""MatchRows: MATCH_RECOGNIZE, a row for each match of a pattern of rows (S5, SQL:2016).

Contract. Rows in, each partition at one instance. A row is known once the watermark w of the time
is above its own. The known rows of a partition are tried as starts one after the other, in their
order; a match leaves once no row that comes later can change it: the pattern is complete and
nothing preferred is possible any more, or w has passed the time in which it must end. A start that
later rows decide holds those behind it. At `END` no row is coming. Rows without a time match
nothing.

Watermarks. The times of matches that leave later lie at or above the oldest start that is not
decided, or w: that is the watermark of the outputs that are a time of the match. So, as with
``LEAD``, a partition that never gets another row holds it back, unless WITHIN ends that.

State:

- ``rows``: those that are not known (a `TimeQueue`);
- ``context``: known rows from the first start on that is not decided, and as many before it as
  ``PREV`` looks back, in each partition. A log in one bucket, written anew once half of it is
  needed no more; rows have a number, in their order;
- ``starts``: of each partition with such a start, its number.

A start that is not decided is tried again in the epoch in which its rows come: what is kept are
rows, not the ways in which they may be taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.engine import Engine
from tidegate.executor.base import chunks
from tidegate.executor.buffers.known_rows import LOG, KnownRows, keep
from tidegate.executor.columns import Int64s, event_times, single_array
from tidegate.executor.patterns.match_outputs import outputs
from tidegate.executor.patterns.match_threads import MATCHED, NOTHING, OPEN, Found, Matcher, Rows
from tidegate.executor.sorting.order import sorted_by
from tidegate.plan.match import MatchRecognize, SkipTo
from tidegate.plan.nodes import SortKey
from tidegate.state import StateTable, get_int, put_int
from tidegate.types import END, Chunk, Message

_NUMBER: Final = "__number"
_NEXT: Final = "match:next"
_WAITING: Final = "match:waiting"

TRIED_MIN: Final = 256
TRIED_MAX: Final = 65_536
"""How many rows of a partition are tried as starts at a time.

They are tried beside each other, each as far as it goes, though a match of the first one may leave
none of the others. So more are tried while they do not go far (`FAR_ROWS`), which saves rounds, and
few when they do: of one match of all 10,000 rows, all starts at once took 35 s, and this 1 s.
"""
FAR_ROWS: Final = 64


class MatchRowsExecutor(KnownRows):
    """One of the parallel instances; ``state`` gives the state tables by name."""

    def __init__(
        self, node: MatchRecognize, engine: Engine, state: Callable[[str], StateTable]
    ) -> None:
        columns = [*(column.name for column in node.input.schema), *node.hidden]
        follow = [(name, 0) for name in node.times]
        super().__init__(node.time, columns, state("rows"), follow)
        self.schema = node.schema
        self._node = node
        self._engine = engine
        self._matcher = Matcher(node, engine)
        self._order = (*node.order, *(SortKey(tie) for tie in node.ties))
        self._context = state("context")
        self._starts = state("starts")
        self._next = get_int(self._context, _NEXT, 0)
        """The number of the next row."""
        self._waiting = get_int(self._context, _WAITING, END)
        """The time of the oldest start that is not decided."""

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        times = chunk.data.column(self._node.time)
        return super().on_chunk(Chunk(chunk.data.filter(pc.is_valid(times))))

    def _step(self, tables: list[pa.Table], bound: int) -> Iterator[Chunk]:
        if not tables and not self._is_due(bound):
            return
        old = self._context.read(LOG)
        if tables or old:
            new = self._numbered(tables or [old[0].slice(0, 0).drop_columns([_NUMBER])])
            known = self._known(pa.concat_tables([*old, new]))
            at_once = self._matcher.at_once(known)
            open_ = self._begins(known, self._next - new.num_rows)
            undecided, most = [open_[:0]], TRIED_MIN
            while len(open_):
                tried = _tried(known, open_, most)
                found = self._matcher.find(known, at_once, tried, bound)
                most = TRIED_MIN if found.depth > FAR_ROWS else min(4 * most, TRIED_MAX)
                matches, waiting, open_ = self._resolved(known, found)
                undecided.append(waiting)
                if len(matches):
                    names = self._matcher.names
                    rows = outputs(self._node, self._engine, names, known, found, matches)
                    yield from chunks(rows)
            held = np.sort(np.concatenate(undecided))
            self._keep(known, held, sum(table.num_rows for table in old), new.num_rows)
        if bound == END:
            for table in (self._context, self._starts):
                table.delete_bucket(LOG)

    def _is_due(self, bound: int) -> bool:
        """Whether time alone decides a start."""
        within = self._node.within
        return bound == END or (within is not None and self._waiting + within <= bound)

    def _numbered(self, tables: list[pa.Table]) -> pa.Table:
        """New rows in their order, with their numbers."""
        data = pa.concat_tables(tables)
        data = sorted_by(self._engine, data, self._order)
        numbers = np.arange(self._next, self._next + data.num_rows, dtype=np.int64)
        self._next += data.num_rows
        return data.append_column(_NUMBER, pa.array(numbers))

    def _known(self, data: pa.Table) -> Rows:
        """``data`` partition by partition."""
        keys = [f"k{n}" for n in range(len(self._node.keys))]
        columns = {key: data.column(name) for key, name in zip(keys, self._node.keys, strict=True)}
        columns |= {"n": data.column(_NUMBER), "i": pa.array(np.arange(data.num_rows))}
        partition = f"dense_rank() OVER (ORDER BY {', '.join(keys)})" if keys else "1"
        sql = f"SELECT i, {partition} AS p FROM rows_ ORDER BY p, n"
        placed = self._engine.query(sql, {"rows_": pa.table(columns)})
        data = data.take(placed.column("i")).combine_chunks()
        partitions = single_array(placed.column("p")).to_numpy()
        begins = np.flatnonzero(np.append(True, partitions[1:] != partitions[:-1]))[
            : len(partitions)
        ]
        lengths = np.diff(np.append(begins, len(partitions)))
        first, end = np.repeat(begins, lengths), np.repeat(begins + lengths, lengths)
        times, _ = event_times(data.column(self._node.time))
        return Rows(data, times, first, end)

    def _begins(self, rows: Rows, new: int) -> Int64s:
        """Of each partition the first row that may be a start, if it has one.

        That is the one that was not decided, or the first one from number ``new`` on.
        """
        runs = self._starts.read(LOG)
        marks = pa.concat_tables(runs).column(_NUMBER).to_numpy() if runs else []
        first, end, numbers = rows.first, rows.end, _numbers(rows)
        (begins,) = np.nonzero(first == np.arange(len(first)))
        (fresh,) = np.nonzero(numbers >= new)
        begin = np.searchsorted(begins, first[fresh])  # of which partition it is
        result = end[begins].copy()
        result[begin[::-1]] = fresh[::-1]  # the first one stays
        (marked,) = np.nonzero(np.isin(numbers, marks))
        result[np.searchsorted(begins, first[marked])] = marked
        return result[result < end[begins]]

    def _resolved(self, rows: Rows, found: Found) -> tuple[Int64s, Int64s, Int64s]:
        """The matches that are there, as numbers of starts; the rows at which partitions stay; and
        those at which they go on.

        A start that is reached from no other, as it lies in a match, is none.
        """
        places, partition = np.unique(rows.first[found.starts], return_inverse=True)
        goes_on = np.zeros(len(places), dtype=np.int64)  # behind what was tried, and behind matches
        goes_on[partition] = found.starts + 1  # the last one stays
        (events,) = np.nonzero(found.fate != NOTHING)
        at, behind, partition = found.starts[events], self._behind(found, events), partition[events]
        following = np.searchsorted(at, behind)
        _, frontier = np.unique(partition, return_index=True)
        reached = np.zeros(len(events), dtype=np.bool_)
        while len(frontier):
            reached[frontier] = True
            frontier = frontier[found.fate[events[frontier]] == MATCHED]
            place = partition[frontier]
            goes_on[place] = np.maximum(goes_on[place], behind[frontier])
            further = following[frontier]
            is_there = further < len(at)
            frontier, further = frontier[is_there], further[is_there]
            frontier = further[partition[further] == partition[frontier]]
        fate = found.fate[events[reached]]
        stays = np.flatnonzero(reached)[fate == OPEN]
        goes_on[partition[stays]] = rows.end[at[stays]]
        further = goes_on[goes_on < rows.end[places]]
        return events[reached][fate == MATCHED], at[stays], further

    def _behind(self, found: Found, events: Int64s) -> Int64s:
        """At which row to go on behind each of ``events``, if it is a match."""
        start, length = found.starts[events], found.length[events]
        skip = self._node.skip
        if skip is SkipTo.PAST_LAST:
            return start + length
        result = start + 1
        if skip is SkipTo.NEXT:
            return result
        (matched,) = np.nonzero(found.fate[events] == MATCHED)
        taken = found.taken(events[matched])
        wanted = taken.variable == self._matcher.names.index(self._node.skip_variable)
        match, row = taken.match[wanted], taken.row[wanted]
        if skip is SkipTo.FIRST:
            match, row = match[::-1], row[::-1]
        result[matched[match]] = np.maximum(row, result[matched[match]])  # the last one stays
        return result

    def _keep(self, rows: Rows, undecided: Int64s, stored: int, new: int) -> None:
        """Writes the rows that are needed later."""
        numbers = _numbers(rows)
        self._starts.delete_bucket(LOG)
        if len(undecided):
            self._starts.append(LOG, pa.table({_NUMBER: numbers[undecided]}))
        self._waiting = int(rows.times[undecided].min()) if len(undecided) else END
        put_int(self._context, _NEXT, self._next)
        put_int(self._context, _WAITING, self._waiting)
        stays = rows.end.copy()  # at the first row of each partition
        stays[rows.first[undecided]] = undecided
        (kept,) = np.nonzero(np.arange(len(rows.end)) >= stays[rows.first] - self._node.rows_back)
        added = kept[numbers[kept] >= self._next - new]
        keep(self._context, stored, rows.data, pa.array(kept), pa.array(added))


def _numbers(rows: Rows) -> Int64s:
    """Those that known rows have got in their order."""
    numbers: Int64s = single_array(rows.data.column(_NUMBER)).to_numpy()
    return numbers


def _tried(rows: Rows, begin: Int64s, most: int) -> Int64s:
    """The rows to be tried next: ``most`` of each partition from ``begin`` on, ascending."""
    counts = np.minimum(rows.end[begin] - begin, most)
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    tried: Int64s = np.repeat(begin, counts) + place
    return tried
