"""Calls from a partition's first row on: what is carried from step to step (S5).

ROW_NUMBER, RANK, DENSE_RANK, and aggregates over UNBOUNDED PRECEDING, look at all rows that ever
were. Of those that have left, only a value for each partition is kept. Rows leave in groups of
equal time, so whatever is carried is of strictly earlier rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tidegate.executor.over.over_sql import Clauses, aggregate, framed
from tidegate.plan.aggregate_types import result_type
from tidegate.plan.over import OverWindow

_ADDED: Final = "coalesce({b} + {x}, {b}, {x})"
_LESSER: Final = {"min": "least", "max": "greatest"}
_LOGIC: Final = {"bool_and": "AND", "bool_or": "OR"}


@dataclass(frozen=True, slots=True)
class Part:
    """One value that is carried.

    ``sql`` computes it over the rows that have not left, up to a row and all of its order;
    ``last`` up to the row only, which is what is carried on. ``joined`` puts the carried value
    ``{b}`` before ``{x}``.
    """

    sql: str
    last: str
    joined: str


@dataclass(frozen=True, slots=True)
class Running:
    """A call as its parts; ``result`` makes the value of them, joined (``{0}``, ``{1}``)."""

    parts: tuple[Part, ...]
    result: str = "{0}"


def running(node: OverWindow, number: int) -> Running:
    """How call ``number`` of ``node`` is carried; it is one of `CARRIED`."""
    clauses = Clauses(node)
    rows = f"{clauses.partition} {clauses.total} ROWS UNBOUNDED PRECEDING"
    counted = f"count(*) FILTER (WHERE NOT was) OVER ({rows})"
    added = "coalesce({b}, 0) + {x}"
    match node.calls[number].function:
        case "row_number":
            return Running((Part(counted, counted, added),))
        case "rank":
            # What is carried is how many rows there were, not how many were before the last.
            until = f"count(*) FILTER (WHERE NOT was) OVER ({clauses.partition} {clauses.ordered})"
            peers = f"count(*) FILTER (WHERE NOT was) OVER ({clauses.peers})"
            return Running((Part(f"{until} - {peers} + 1", counted, added),))
        case "dense_rank":
            left = f"coalesce(max(dr) FILTER (WHERE was) OVER ({clauses.partition}), 0)"
            return Running((Part(f"dr - {left}", f"dr - {left}", added),))
    return _aggregated(node, number, clauses, rows)


def _aggregated(node: OverWindow, number: int, clauses: Clauses, rows: str) -> Running:
    call = node.calls[number]
    assert call.frame is not None
    frame = rows if call.frame.in_rows else f"{clauses.partition} {clauses.ordered}"
    if call.frame.end:  # the row before may be carried, and it is the last that is
        frame = f"{clauses.partition} {clauses.total} {framed(call.frame)}"
    where = "NOT was" + f" AND w{number}" * (call.where is not None)
    argument = f"a{number}_0"

    def part(sql: str, joined: str, type_: str = "") -> Part:
        spelled = [f"{sql} OVER ({over})" for over in (frame, rows)]
        if type_:
            spelled = [f"CAST({each} AS {type_})" for each in spelled]
        return Part(spelled[0], spelled[1], joined)

    plain = aggregate(call, number, "NOT was")
    function = call.function
    match function:
        case "count":
            return Running((part(plain, "coalesce({b}, 0) + {x}"),))
        case "sum":
            return Running((part(plain, _ADDED, call.output.type),))
        case "avg":
            type_ = result_type("sum", node.input.column_of(call.arguments[0]).type)
            total = part(f"sum({argument}) FILTER (WHERE {where})", _ADDED, type_)
            count = part(f"count({argument}) FILTER (WHERE {where})", "coalesce({b}, 0) + {x}")
            return Running((total, count), "CAST({0} AS DOUBLE) / nullif({1}, 0)")
        case "min" | "max":
            return Running((part(plain, f"{_LESSER[function]}({{b}}, {{x}})"),))
        case "bool_and" | "bool_or":
            logic = _LOGIC[function]
            return Running((part(plain, f"coalesce({{b}} {logic} {{x}}, {{b}}, {{x}})"),))
        case "first_value":
            return Running((part(plain, "coalesce({b}, {x})"),), "({0}).v")
        case "last_value":
            return Running((part(plain, "coalesce({x}, {b})"),), "({0}).v")
    raise AssertionError(f"{function} cannot be carried")
