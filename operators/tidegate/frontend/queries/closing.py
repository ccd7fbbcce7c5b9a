"""Which key closes the groups of a query, and what to do where none does (S5)."""

from __future__ import annotations

from tidegate.errors import BindError, Position, SqlError, UnsupportedError
from tidegate.frontend.expressions.clocks import clock_hint
from tidegate.plan.changes import is_changing
from tidegate.plan.derivation import closing_key, derive
from tidegate.plan.derived import PROCESSING_TIME
from tidegate.plan.joins import ChangingJoin
from tidegate.plan.nodes import Node, Scan
from tidegate.plan.windows import Session, Window

ALLOW = (
    "; or a time to live, SET 'table.exec.state.ttl' = '1 d'; or ALLOW UNBOUNDED at the end of the"
    " query, where state may grow for ever"
)
_WINDOWS = "group by window_start, window_end of FROM TUMBLE(table, column, size)"


def closing_key_of(
    below: Node,
    keys: tuple[str, ...],
    place: Position,
    clause: str = "GROUP BY",
    *,
    updates: bool,
    unbounded: bool,
    grows: str = "",
) -> str:
    """The key of ``keys`` that closes groups of ``below``; empty where they stay.

    ``clause`` is where the keys stand. Groups that ``updates`` may stay, which say at once how they
    change: if state may be ``unbounded``, or if a group is one row, and new ones do not come all
    the time: its keys are no times, and no call ``grows`` with the rows of a group. Raises SqlError
    at ``place``.
    """
    closing = closing_key(keys, derive(below))
    if closing is not None:
        return closing
    if updates and (is_changing(below) or any(isinstance(n, ChangingJoin) for n in below.walk())):
        return ""  # there is no more of it than of the rows that are kept below
    if not updates:
        raise _never_closes(below, keys, place, clause)
    times = (key for key in keys if below.column_of(key).type.startswith("TIMESTAMP"))
    windows = (key for key in keys if key.startswith("window_"))
    if unbounded or not (grows or any(times) or any(windows)):
        return ""
    if grows and not keys:
        raise BindError(f"{grows} keeps all values there ever are", place, hint=_WINDOWS + ALLOW)
    error = _never_closes(below, keys, place, clause)
    raise type(error)(error.message, place, detail=error.detail, hint=error.hint + ALLOW)


def _never_closes(below: Node, keys: tuple[str, ...], place: Position, clause: str) -> SqlError:
    if not keys:
        return UnsupportedError(
            "an aggregate over the whole stream never closes", place, hint=_WINDOWS
        )
    derived = derive(below)
    lost = "; ".join(f"{key}: {derived[key].lost}" for key in keys)
    if any(derived[key].lost == PROCESSING_TIME for key in keys):
        return UnsupportedError(
            "groups by the processing time that a query computes are not supported",
            place,
            detail=lost,
            hint=clock_hint(PROCESSING_TIME, ""),
        )
    time = _time_column(below)
    if time is None:
        hint = _WINDOWS
    elif not any(derived[key].lost for key in keys if key.startswith("window_")):
        hint = f"add window_end to {clause}"
    elif not time[0]:
        hint = f"take the windows over a column that has a watermark: '{time[1]}' has none"
    else:
        table, column = time
        hint = (
            f"'{column}' needs a watermark: add WATERMARK FOR {column} AS {column} - INTERVAL"
            f" '5' SECOND to CREATE TABLE {table}"
        )
    return BindError(
        f"no key of {clause} has a watermark, so no group would ever close",
        place,
        detail=lost,
        hint=hint,
    )


def _time_column(node: Node) -> tuple[str, str] | None:
    """Table and time column of the nearest window below; no table where it is not a table's."""
    windows = [part for part in node.walk() if isinstance(part, Window | Session)]
    if not windows:
        return None
    column = windows[-1].time_column
    for part in windows[-1].walk():
        if isinstance(part, Scan) and any(own.name == column for own in part.schema):
            return part.table.name, column
    return "", column
