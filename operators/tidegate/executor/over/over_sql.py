"""The SQL of over-windows, for DuckDB, over a narrow table of the columns that decide (S5).

The table ``rows_`` has ``i`` (the row's number), ``t`` (its time, a 64-bit integer, NULL without
one), ``k0…`` (the partition), ``o0…`` (the order), ``s0…`` (what breaks ties) and, of call n, its
arguments ``a{n}_0…``, its default ``d{n}`` and its condition ``w{n}``. Where SQL leaves an order
open, ties decide (S6): so functions that look at single rows order by all of it, those that take
rows of equal order together by ``o0…`` only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.plan.nodes import SortKey
from tidegate.plan.over import Frame, OverCall, OverWindow

_PICKS: Final = {"first_value": "arg_min", "last_value": "arg_max"}
"""Calls that pick a row's value, and the aggregates that do it by the row's place."""


def narrow(node: OverWindow, data: pa.Table, times: pa.Array) -> pa.Table:
    """The columns of ``data`` that decide, under the names above."""
    columns = {f"k{n}": data.column(key) for n, key in enumerate(node.keys)}
    columns |= {f"o{n}": data.column(key.column) for n, key in enumerate(node.order)}
    columns |= {f"s{n}": data.column(tie) for n, tie in enumerate(node.ties)}
    columns |= read_by(node.calls, data)
    return pa.table({**columns, "t": times, "i": pa.array(np.arange(data.num_rows))})


def read_by(calls: Sequence[OverCall], data: pa.Table) -> dict[str, pa.ChunkedArray]:
    """What the calls read of ``data``, under the names above."""
    columns = {}
    for number, call in enumerate(calls):
        for place, argument in enumerate(call.arguments):
            columns[f"a{number}_{place}"] = data.column(argument)
        for letter, name in (("d", call.default), ("w", call.where)):
            if name is not None:
                columns[f"{letter}{number}"] = data.column(name)
    return columns


@dataclass(frozen=True, slots=True)
class Clauses:
    """The parts of OVER clauses of one node."""

    node: OverWindow

    @property
    def partition(self) -> str:
        names = [f"k{n}" for n in range(len(self.node.keys))]
        return f"PARTITION BY {', '.join(names)}" if names else ""

    @property
    def ordered(self) -> str:
        """Rows of equal order are together."""
        keys = [self._key(n, key) for n, key in enumerate(self.node.order)]
        return f"ORDER BY {', '.join(keys)}" if keys else ""

    @property
    def total(self) -> str:
        """Every row has its place."""
        keys = [self._key(n, key) for n, key in enumerate(self.node.order)]
        keys += [f"s{n} {self.node.tie_order}" for n in range(len(self.node.ties))]
        return f"ORDER BY {', '.join(keys)}" if keys else ""

    @property
    def peers(self) -> str:
        """The partition of rows of equal order."""
        names = [f"k{n}" for n in range(len(self.node.keys))]
        names += [self._name(n) for n in range(len(self.node.order))]
        return f"PARTITION BY {', '.join(names)}" if names else ""

    def of_frame(self, frame: Frame) -> str:
        """The order in which ``frame`` lies: time and a length may be more than 64 bits hold."""
        if frame.in_rows:
            return self.total
        has_length = any((frame.start, frame.end))
        return f"ORDER BY t::HUGEINT {self.node.order[0].sql}" if has_length else self.ordered

    def _key(self, number: int, key: SortKey) -> str:
        return f"{self._name(number)} {key.sql}"

    def _name(self, number: int) -> str:
        return "t" if number == 0 and not self.node.by_partition else f"o{number}"


def framed(frame: Frame) -> str:
    """``ROWS BETWEEN 3 PRECEDING AND CURRENT ROW``."""
    kind = "ROWS" if frame.in_rows else "RANGE"
    start = "UNBOUNDED PRECEDING" if frame.start is None else _edge(frame.start)
    end = "UNBOUNDED FOLLOWING" if frame.end is None else _edge(frame.end)
    return f"{kind} BETWEEN {start} AND {end}"


def call_sql(node: OverWindow, number: int) -> str:
    """A call over all rows of ``rows_`` (with ``idx``, the place in its partition)."""
    call, clauses = node.calls[number], Clauses(node)
    part = clauses.partition
    if call.offset:
        return offset_sql(call, number, f"{part} {clauses.total}")
    if call.frame is None:
        arguments = ", ".join(f"a{number}_{n}" for n in range(len(call.arguments)))
        order = clauses.total if call.function in ("row_number", "ntile") else clauses.ordered
        return f"{call.function}({arguments}) OVER ({part} {order})"
    return frame_sql(call, number, call.frame, f"{part} {clauses.of_frame(call.frame)}")


def offset_sql(call: OverCall, number: int, rows: str) -> str:
    """LAG and LEAD over ``rows``, a partition and an order."""
    default = "" if call.default is None else f", d{number}"
    return f"{call.function}(a{number}_0, {call.offset}{default}) OVER ({rows})"


def frame_sql(call: OverCall, number: int, frame: Frame, rows: str) -> str:
    """An aggregate over ``frame`` of ``rows``, a partition and an order."""
    value = f"{aggregate(call, number)} OVER ({rows} {framed(frame)})"
    return f"({value}).v" if call.function in _PICKS else value


def aggregate(call: OverCall, number: int, condition: str = "") -> str:
    """The aggregate of a call, over the rows for which ``condition`` holds too.

    The first or last row's value is the field ``v`` of what is picked by the place in the
    partition, so that it may be NULL.
    """
    argument = f"a{number}_0" if call.arguments else "*"
    function = call.function
    if function in _PICKS:
        function, argument = _PICKS[function], f"struct_pack(v := {argument}), idx"
    conditions = [condition] * bool(condition) + [f"w{number}"] * (call.where is not None)
    where = f" FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""
    return f"{function}({argument}){where}"


def _edge(offset: int) -> str:
    if offset == 0:
        return "CURRENT ROW"
    return f"{-offset} PRECEDING" if offset < 0 else f"{offset} FOLLOWING"
