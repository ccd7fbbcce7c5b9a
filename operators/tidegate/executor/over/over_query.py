"""The SQL of an over-window in the order of time: which rows leave, are kept, and the values (S5).

Over the table ``rows_`` of `over_sql`, with ``h`` besides, the hash of the partition. ``{known}``:
rows of smaller number were in state; ``{bound}`` and ``{seen}``: how far rows are known, and were.
A partition's carried values are the columns ``p…`` of ``carry_``, with its keys and ``n``, the
number of rows behind them.
"""

from __future__ import annotations

from tidegate.executor.over.over_running import Running
from tidegate.executor.over.over_sql import Clauses, call_sql
from tidegate.plan.over import OverWindow, Reach
from tidegate.types import END


def found_sql(
    over: OverWindow, reach: Reach, carried: dict[int, Running], *, has_carry: bool
) -> str:
    """Of each row: ``leaves``, ``kept``, ``waits``, its time and hash, and the calls' values.

    With calls that are ``carried``: what to carry on (where ``last``), and whether it ``had`` any.
    """
    computed = [f"{call_sql(over, n)} AS c{n}" for n in range(len(over.calls)) if n not in carried]
    for number, call in carried.items():
        for place, each in enumerate(call.parts):
            computed += [f"{each.sql} AS x{number}_{place}", f"{each.last} AS y{number}_{place}"]
    judged = ["*", "complete AND NOT was AS leaves", f"{_kept(over, reach)} AS kept"]
    rows = f"SELECT {', '.join([*judged, *computed])} FROM ({_marked(over, reach)})"
    return _joined(over, carried, rows, has_carry)


def kept_sql(over: OverWindow, reach: Reach) -> str:
    """The numbers of the rows that a frame may still reach, if these are all, or some, in state."""
    marked = _marked(over, reach)
    return f"SELECT i FROM (SELECT i, {_kept(over, reach)} AS kept FROM ({marked})) WHERE kept"


def _marked(over: OverWindow, reach: Reach) -> str:
    """The rows with their places, which of them are ``complete``, and which ``was`` before."""
    clauses = Clauses(over)
    part = clauses.partition
    columns = ["*", f"row_number() OVER ({part} {clauses.total}) AS idx"]
    if any(call.function == "dense_rank" for call in over.calls):
        columns.append(f"dense_rank() OVER ({part} {clauses.ordered}) AS dr")
    if not reach.is_ahead:
        columns += ["true AS complete", "i < {known} AS was"]
        return f"SELECT {', '.join(columns)} FROM rows_"
    up_to = f"OVER ({part} ORDER BY t ASC NULLS LAST)"
    old = "FILTER (WHERE i < {known})"
    columns += [
        f"count(*) OVER ({part}) - count(*) {up_to} AS later",
        f"count(*) {old} OVER ({part}) - count(*) {old} {up_to} AS later_then",
    ]
    ahead = f"t < {{bound}}::HUGEINT - {reach.time_ahead} AND later >= {reach.rows_ahead}"
    ahead_then = f"t < {{seen}}::HUGEINT - {reach.time_ahead} AND later_then >= {reach.rows_ahead}"
    return (
        f"SELECT *, {{bound}} = {END} OR coalesce({ahead}, false) AS complete,"
        f" i < {{known}} AND coalesce({ahead_then}, false) AS was"
        f" FROM (SELECT {', '.join(columns)} FROM rows_)"
    )


def _kept(over: OverWindow, reach: Reach) -> str:
    """Whether a frame may still reach a row.

    It is no less so with more rows before it, or fewer behind it: so what a part of a partition
    has no need of, the whole has not either.
    """
    part = Clauses(over).partition
    first = f"min(idx) FILTER (WHERE NOT complete) OVER ({part})"
    kept = f"idx >= coalesce({first}, count(*) OVER ({part}) + 1) - {reach.rows_back}"
    if reach.time_back is not None:
        known = f"{{bound}}::HUGEINT - {reach.time_ahead}"
        first_time = f"coalesce(min(t) FILTER (WHERE NOT complete) OVER ({part}), {known})"
        kept = f"({kept} OR t >= {first_time} - {reach.time_back})"
    return f"NOT complete OR coalesce({kept}, false)"


def _joined(over: OverWindow, carried: dict[int, Running], rows: str, has_carry: bool) -> str:
    """``rows`` with what is carried put before it."""
    keys = [f"k{number}" for number in range(len(over.keys))]
    outputs = ["r.i", "r.t", "r.h", "r.leaves", "r.kept", "NOT r.complete AS waits"]
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
    had = "b.n IS NOT NULL" if has_carry else "false"
    outputs += [f"{last} AS last", f"{so_far} + {left} AS n", f"{had} AS had"]
    on = " AND ".join(f"r.{key} IS NOT DISTINCT FROM b.{key}" for key in keys) or "true"
    source = f"({rows}) AS r" + f" LEFT JOIN carry_ AS b ON {on}" * has_carry
    return f"SELECT {', '.join(outputs)} FROM {source} ORDER BY r.i"


def _with_carried(joined: str, value: str, name: str, has_carry: bool) -> str:
    """A part with the carried value before it, which is NULL for a new partition."""
    return joined.format(x=value, b=f"b.{name}") if has_carry else value
