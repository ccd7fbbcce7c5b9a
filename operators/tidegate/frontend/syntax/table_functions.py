"""Reads table functions: windows, in RisingWave's form and both of Flink's, and WATERMARK(…)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from tidegate.errors import SqlSyntaxError
from tidegate.frontend.ast.queries import (
    Name,
    Relation,
    Scalar,
    WatermarkRef,
    WindowKind,
    WindowRef,
)
from tidegate.frontend.source import Span
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.dialect import parse_scalar, parse_scalars
from tidegate.frontend.syntax.watermark import take_per

_WINDOWS: Final[dict[str, tuple[WindowKind, str]]] = {
    "TUMBLE": ("TUMBLE", ""),
    "HOP": ("HOP", "SLIDE"),
    "CUMULATE": ("CUMULATE", "STEP"),
    "SESSION": ("SESSION", ""),
}
"""Window functions, and the name of what stands before the size."""
_EXAMPLES: Final = {
    "DATA": "TABLE t",
    "TIMECOL": "DESCRIPTOR(t)",
    "SLIDE": "INTERVAL '5' MINUTE",
    "STEP": "INTERVAL '5' MINUTE",
    "SIZE": "INTERVAL '10' MINUTE",
    "GAP": "INTERVAL '10' MINUTE",
}
Inputs: TypeAlias = Callable[[Cursor], Relation]
"""Reads what may stand where a table may stand."""


def parse_function(cursor: Cursor, start: Span, inputs: Inputs) -> Relation:
    """``TUMBLE(…)`` and the like; ``inputs`` reads what stands inside."""
    word = cursor.word()
    if word not in _WINDOWS and word != "WATERMARK":
        raise SqlSyntaxError(
            f"unknown table function '{cursor.span.shown}'",
            cursor.span.place,
            hint="there are TUMBLE(table, column, size), HOP(table, column, slide, size),"
            " CUMULATE(table, column, step, size), SESSION(table, column, key, gap)"
            " and WATERMARK(table, column, expression)",
        )
    cursor.take()
    cursor.expect("(")
    if word in _WINDOWS and cursor.word(1) == "=>":
        return _named_window(cursor, start, inputs, *_WINDOWS[word])
    source = inputs(cursor)
    keys = _partition(cursor) if word == "SESSION" else ()
    cursor.expect(",", why=f"and the time column of {word}")
    final = cursor.at("DESCRIPTOR")
    column = _time_column(cursor)
    if word == "WATERMARK":
        strategy = _further(cursor, "the watermark expression")
        per = take_per(cursor)
        cursor.expect(")", why="at the end of WATERMARK(…)")
        alias = parse_alias(cursor)
        return WatermarkRef(source, column, strategy, alias, start.to(cursor.previous_span), per)
    kind, step_name = _WINDOWS[word]
    if kind == "SESSION":
        return _session(cursor, start, source, keys, column, final)
    step = _further(cursor, f"the {step_name.lower()} of the windows") if step_name else None
    size = _further(cursor, "the size of the windows")
    offset = None
    if cursor.accept(","):
        offset = parse_scalar(cursor, "the offset of the windows")
    cursor.expect(")", why=f"at the end of {word}(…)")
    alias = parse_alias(cursor)
    span = start.to(cursor.previous_span)
    return WindowRef(kind, source, column, step, size, offset, final, alias, span)


def _session(
    cursor: Cursor,
    start: Span,
    source: Relation,
    keys: tuple[Scalar, ...],
    column: Scalar,
    final: bool,
) -> WindowRef:
    """The rest of ``SESSION(input, column, [key, …] gap)``: the gap stands last."""
    cursor.expect(",", why="and the gap between sessions")
    arguments = parse_scalars(cursor, "the gap between sessions")
    cursor.expect(")", why="at the end of SESSION(…)")
    alias = parse_alias(cursor)
    return WindowRef(
        "SESSION", source, column, None, arguments[-1], None, final, alias,
        start.to(cursor.previous_span), (*keys, *arguments[:-1]),
    )  # fmt: skip


def _partition(cursor: Cursor) -> tuple[Scalar, ...]:
    """Flink's ``PARTITION BY key, …`` or ``PARTITION BY (key, …)`` behind a table, if it is there.

    Without parentheses there is one key: a comma ends the argument.
    """
    if not cursor.accept("PARTITION BY"):
        return ()
    if not cursor.accept("("):
        return (parse_scalar(cursor, "a column to partition by"),)
    keys = parse_scalars(cursor, "a column to partition by")
    cursor.expect(")", why="at the end of PARTITION BY (…)")
    return keys


def _further(cursor: Cursor, what: str) -> Scalar:
    """The next argument."""
    cursor.expect(",", why=f"and {what}")
    return parse_scalar(cursor, what)


def _named_window(
    cursor: Cursor, start: Span, inputs: Inputs, kind: WindowKind, step: str
) -> WindowRef:
    """Flink's ``TUMBLE(DATA => TABLE t, TIMECOL => DESCRIPTOR(c), SIZE => …)``, in any order."""
    source: Relation | None = None
    scalars: dict[str, Scalar] = {}
    size = "GAP" if kind == "SESSION" else "SIZE"
    optional = [] if kind == "SESSION" else ["OFFSET"]
    wanted = [name for name in ("DATA", "TIMECOL", step, size) if name]
    keys: tuple[Scalar, ...] = ()
    while True:
        name = cursor.word()
        if name not in (*wanted, *optional) or cursor.word(1) != "=>":
            *others, last = (*wanted, *optional)
            raise cursor.expected(" =>, ".join(others) + f" => or {last} =>")
        if name in scalars or (name == "DATA" and source is not None):
            raise SqlSyntaxError(
                f"{name} is given twice", cursor.span.place, hint="keep one of them"
            )
        cursor.expect(name, "=>")
        if name == "DATA":
            source = inputs(cursor)
            keys = _partition(cursor) if kind == "SESSION" else ()
        elif name == "TIMECOL":
            scalars[name] = _time_column(cursor)
        else:
            scalars[name] = parse_scalar(cursor, f"the {name.lower()} of the windows")
        if not cursor.accept(","):
            break
    cursor.expect(")", why=f"at the end of {kind}(…)")
    call = start.to(cursor.previous_span)
    missing = [name for name in wanted[1:] if name not in scalars]
    if source is None or missing:
        name = "DATA" if source is None else missing[0]
        raise SqlSyntaxError(
            f"{kind} has no {name}", call.place, hint=f"add {name} => {_EXAMPLES[name]}"
        )
    alias = parse_alias(cursor)
    return WindowRef(
        kind, source, scalars["TIMECOL"], scalars.get(step), scalars[size],
        scalars.get("OFFSET"), True, alias, start.to(cursor.previous_span), keys,
    )  # fmt: skip


def _time_column(cursor: Cursor) -> Scalar:
    if cursor.accept("DESCRIPTOR"):
        cursor.expect("(", why="after DESCRIPTOR")
        column = parse_scalar(cursor, "the time column")
        cursor.expect(")", why="at the end of DESCRIPTOR(…)")
        return column
    return parse_scalar(cursor, "the time column")


def parse_alias(cursor: Cursor) -> Name | None:
    """``AS name``, or a name, where there is one."""
    if cursor.accept("AS"):
        return cursor.name("an alias")
    if cursor.at("ALLOW", "UNBOUNDED"):
        return None
    return cursor.name("an alias") if cursor.at_name() else None
