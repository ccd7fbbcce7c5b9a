"""Which key closes the groups of a query, and what to do where none does (S5)."""

from __future__ import annotations

from tidegate.errors import BindError, Position, UnsupportedError
from tidegate.plan.derivation import PROCESSING_TIME, closing_key, derive
from tidegate.plan.nodes import Node, Scan, Session, Window

_WINDOWS = "group by window_start, window_end of FROM TUMBLE(table, column, size)"


def closing_key_of(
    below: Node, keys: tuple[str, ...], place: Position, clause: str = "GROUP BY"
) -> str:
    """The key of ``keys`` that closes groups of ``below``. Raises SqlError at ``place``.

    ``clause`` is where the keys stand.
    """
    derived = derive(below)
    closing = closing_key(keys, derived)
    if closing is not None:
        return closing
    if not keys:
        raise UnsupportedError(
            "an aggregate over the whole stream never closes", place, hint=_WINDOWS
        )
    lost = "; ".join(f"{key}: {derived[key].lost}" for key in keys)
    if any(derived[key].lost == PROCESSING_TIME for key in keys):
        raise UnsupportedError(
            "groups by the processing time are not there yet",
            place,
            detail=lost,
            hint=_of_the_clock(below),
        )
    time = _time_column(below)
    if time is None:
        hint = _WINDOWS
    elif not any(derived[key].lost for key in keys if key.startswith("window_")):
        hint = f"add window_end to {clause}"
    else:
        table, column = time
        hint = (
            f"'{column}' needs a watermark: add WATERMARK FOR {column} AS {column} - INTERVAL"
            f" '5' SECOND to CREATE TABLE {table}"
        )
    raise BindError(
        f"no key of {clause} has a watermark, so no group would ever close",
        place,
        detail=lost,
        hint=hint,
    )


def _of_the_clock(below: Node) -> str:
    """What to do about groups by the processing time."""
    hint = "group by windows of an event time"
    for scan in (part for part in below.walk() if isinstance(part, Scan)):
        for name, expr in scan.computed:
            if expr.lost == PROCESSING_TIME:
                table = scan.table.name
                return (
                    f"{hint}; or add WATERMARK FOR {name} AS {name} to CREATE TABLE {table}:"
                    " then the epochs' recorded time closes windows"
                )
    return hint


def _time_column(node: Node) -> tuple[str, str] | None:
    """Table and time column of the nearest window below."""
    table, column = "", ""
    for part in node.walk():
        if isinstance(part, Scan):
            table = part.table.name
        if isinstance(part, Window | Session):
            column = part.time_column
    return (table, column) if table and column else None
