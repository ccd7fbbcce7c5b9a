"""OverRows: over-windows of rows in the order of time, each emitted once, when it is final (S5).

Contract. Rows in, each partition at one instance. A row is known once the watermark w of the time
is above its own; it leaves when all rows that its frames can reach are known: at once where they
look back only, when there are so many later rows in its partition (``LEAD``, ``FOLLOWING``), or
when w has passed its time and the length of the frame ahead. Rows of equal time leave together. At
`END` all leave: no row is coming, and frames end where the partition does.

Watermarks. What leaves later lies at or above the oldest row that still waits, or w. So ``LEAD``
holds the watermark at the last row of a partition that never gets another one (S4). That is the
watermark of the time, and, moved by their distance, of the columns in ``follow``.

State:

- ``rows``: those that are not known (a `TimeQueue`);
- ``context``: rows that wait, and those that left and that a frame may still reach: the last ones
  of each partition where frames count rows, those of the frame's length where they measure time. A
  log in one bucket, written anew once half of it is needed no more;
- ``carry``: a row for each partition, where a call looks at all rows that ever were.

A partition's last rows and its carried values stay as long as the job runs, for the next row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.engine import Engine
from tidegate.executor.base import chunks
from tidegate.executor.buffers.known_rows import LOG, KnownRows, is_worn, keep
from tidegate.executor.columns import INT64_MIN, event_times
from tidegate.executor.over.over_partitions import columns_of, with_outputs
from tidegate.executor.over.over_running import Running, running
from tidegate.executor.over.over_sql import Clauses, call_sql, narrow
from tidegate.plan.over import OverWindow, Reach
from tidegate.plan.physical import OverRows
from tidegate.state import StateTable, compact, get_int, put_int
from tidegate.types import END, Chunk

_SEEN: Final = "over:seen"
_WAITING: Final = "over:waiting"


class OverRowsExecutor(KnownRows):
    """One of the parallel instances; ``state`` gives the state tables by name."""

    def __init__(self, node: OverRows, engine: Engine, state: Callable[[str], StateTable]) -> None:
        over = node.over
        super().__init__(over.time, columns_of(node), state("rows"), node.follow)
        self.schema = over.schema
        self._node = node
        self._over = over
        self._engine = engine
        self._context = state("context")
        self._carry = state("carry")
        self._reach = Reach.of(over.calls)
        self._running = {
            number: running(over, number)
            for number, call in enumerate(over.calls)
            if call.is_running
        }
        self._sql = tuple(
            _query(over, self._reach, self._running, has_carry) for has_carry in (False, True)
        )
        self._seen = get_int(self._context, _SEEN, INT64_MIN)
        """How far the rows in the context are known."""
        self._waiting = get_int(self._context, _WAITING, END)

    def _step(self, tables: list[pa.Table], bound: int) -> Iterator[Chunk]:
        old = self._context.read(LOG)
        if not tables and not (old and self._is_due(bound)):
            if bound == END:
                self._carry.delete_bucket(LOG)
            return
        new = pa.concat_tables(tables) if tables else old[0].slice(0, 0)
        known = sum(table.num_rows for table in old)
        data = pa.concat_tables([*old, new])
        runs = self._carry.read(LOG) if self._running else []
        carried = self._latest(runs) if runs else None
        found = self._found(data, known, bound, carried)
        self._seen = bound
        waiting = pc.min(found.column("waiting")).as_py() if found.num_rows else None
        self._waiting = END if waiting is None else int(waiting)
        leaving = found.filter(found.column("leaves"))
        outputs = leaving.select([f"c{number}" for number in range(len(self._over.calls))])
        yield from chunks(with_outputs(self._node, data.take(leaving.column("i")), outputs))
        if self._running and leaving.num_rows and bound != END:
            self._carry_on(leaving, runs, 0 if carried is None else carried.num_rows)
        self._keep(data, found, known, bound)

    def _is_due(self, bound: int) -> bool:
        """Whether time alone lets rows leave, or be forgotten."""
        reach = self._reach
        waits_for_rows_only = reach.rows_ahead > 0 and reach.time_ahead == 0
        if not waits_for_rows_only and self._waiting + reach.time_ahead < bound:
            return True
        if bound == END:
            return True
        length = (reach.time_back or 0) + reach.time_ahead
        return reach.time_back is not None and bound - self._seen > length

    def _found(self, data: pa.Table, known: int, bound: int, carried: pa.Table | None) -> pa.Table:
        times, valid = event_times(data.column(self._over.time))
        rows = narrow(self._over, data, pa.array(times, mask=~valid))
        tables = {"rows_": rows}
        if carried is not None:
            tables["carry_"] = carried
        sql = self._sql[carried is not None]
        bounds = {"known": known, "bound": bound, "seen": self._seen}
        return self._engine.query(sql.format(**bounds), tables)

    def _keep(self, data: pa.Table, found: pa.Table, known: int, bound: int) -> None:
        """Writes the context that frames may still reach."""
        put_int(self._context, _SEEN, self._seen)
        put_int(self._context, _WAITING, self._waiting)
        if bound == END:
            for table in (self._context, self._carry):
                table.delete_bucket(LOG)
            return
        kept = found.filter(found.column("kept")).column("i")
        added = kept.filter(pc.greater_equal(kept, known))
        keep(self._context, known, data, kept, added)

    def _latest(self, runs: list[pa.Table]) -> pa.Table:
        """What is carried, a row for each partition: the last one written."""
        keys = [f"k{number}" for number in range(len(self._over.keys))]
        by = f"PARTITION BY {', '.join(keys)} " if keys else ""
        sql = f"SELECT * FROM runs_ QUALIFY row_number() OVER ({by}ORDER BY n DESC) = 1"
        return self._engine.query(sql, {"runs_": pa.concat_tables(runs)})

    def _carry_on(self, leaving: pa.Table, runs: list[pa.Table], partitions: int) -> None:
        """Notes the values at the last row of each partition that has left, behind ``runs``."""
        names = [f"k{number}" for number in range(len(self._over.keys))]
        names += [name for name in leaving.column_names if name.startswith("p")] + ["n"]
        last = leaving.filter(leaving.column("last")).select(names)
        if is_worn(sum(run.num_rows for run in runs), partitions):
            last = self._latest([*runs, last])
            self._carry.delete_bucket(LOG)
        self._carry.append(LOG, last)
        compact(self._carry, LOG, pa.concat_tables)


def _query(over: OverWindow, reach: Reach, carried: dict[int, Running], has_carry: bool) -> str:
    """What becomes of each row: does it leave, is it kept, and the calls' values.

    ``{known}``: rows of smaller number were in the context; ``{bound}`` and ``{seen}``: how far
    rows are known, and were.
    """
    clauses = Clauses(over)
    part = clauses.partition
    up_to = f"OVER ({part} ORDER BY t ASC NULLS LAST)"
    is_dense = any(call.function == "dense_rank" for call in over.calls)
    dense = f", dense_rank() OVER ({part} {clauses.ordered}) AS dr" * is_dense
    placed = (
        f"SELECT *, i < {{known}} AS old, row_number() OVER ({part} {clauses.total}) AS idx{dense},"
        f" count(*) OVER ({part}) - count(*) {up_to} AS later,"
        f" count(*) FILTER (WHERE i < {{known}}) OVER ({part})"
        f" - count(*) FILTER (WHERE i < {{known}}) {up_to} AS later_then FROM rows_"
    )
    ahead = f"t < {{bound}}::HUGEINT - {reach.time_ahead} AND later >= {reach.rows_ahead}"
    ahead_then = f"t < {{seen}}::HUGEINT - {reach.time_ahead} AND later_then >= {reach.rows_ahead}"
    marked = (
        f"SELECT *, {{bound}} = {END} OR coalesce({ahead}, false) AS complete,"
        f" old AND coalesce({ahead_then}, false) AS was FROM ({placed})"
    )
    first = f"min(idx) FILTER (WHERE NOT complete) OVER ({part})"
    kept = f"idx >= coalesce({first}, count(*) OVER ({part}) + 1) - {reach.rows_back}"
    if reach.time_back is not None:
        first_time = f"coalesce(min(t) FILTER (WHERE NOT complete) OVER ({part}), {{bound}})"
        kept = f"({kept} OR t >= {first_time}::HUGEINT - {reach.time_back})"
    selected = [
        "i",
        "complete AND NOT was AS leaves",
        f"NOT complete OR coalesce({kept}, false) AS kept",
        "CASE WHEN complete THEN NULL ELSE t END AS waiting",
    ]
    computed = [f"{call_sql(over, n)} AS c{n}" for n in range(len(over.calls)) if n not in carried]
    for number, call in carried.items():
        for place, each in enumerate(call.parts):
            computed += [f"{each.sql} AS x{number}_{place}", f"{each.last} AS y{number}_{place}"]
    inner = ", ".join(["*", *selected[1:], *computed])
    rows = f"SELECT {inner} FROM ({marked})"
    return _joined(over, carried, rows, has_carry)


def _joined(over: OverWindow, carried: dict[int, Running], rows: str, has_carry: bool) -> str:
    """``rows`` with what is carried put before it."""
    keys = [f"k{number}" for number in range(len(over.keys))]
    outputs = ["r.i", "r.leaves", "r.kept", "r.waiting"]
    for number, call in enumerate(over.calls):
        value = f"r.c{number}"
        if number in carried:
            parts = [
                _with_carried(part.joined, f"r.x{number}_{place}", f"p{number}_{place}", has_carry)
                for place, part in enumerate(carried[number].parts)
            ]
            value = carried[number].result.format(*parts)
        outputs.append(f"CAST({value} AS {call.output.type}) AS c{number}")
    if not carried:
        return f"SELECT {', '.join(outputs)} FROM ({rows}) AS r ORDER BY r.i"
    outputs += [f"r.{key}" for key in keys]
    for number, carried_call in carried.items():
        for place, part in enumerate(carried_call.parts):
            name = f"p{number}_{place}"
            joined = _with_carried(part.joined, f"r.y{number}_{place}", name, has_carry)
            outputs.append(f"{joined} AS {name}")
    by = f"PARTITION BY {', '.join(f'r.{key}' for key in keys)}" if keys else ""
    last = f"coalesce(r.idx = max(r.idx) FILTER (WHERE r.leaves) OVER ({by}), false)"
    left = f"count(*) FILTER (WHERE r.leaves) OVER ({by})"
    so_far = "coalesce(b.n, 0)" if has_carry else "0"
    outputs += [f"{last} AS last", f"{so_far} + {left} AS n"]
    on = " AND ".join(f"r.{key} IS NOT DISTINCT FROM b.{key}" for key in keys) or "true"
    source = f"({rows}) AS r" + f" LEFT JOIN carry_ AS b ON {on}" * has_carry
    return f"SELECT {', '.join(outputs)} FROM {source} ORDER BY r.i"


def _with_carried(joined: str, value: str, name: str, has_carry: bool) -> str:
    """A part with the carried value before it, which is NULL for a new partition."""
    return joined.format(x=value, b=f"b.{name}") if has_carry else value
