"""``PER (key, …) EXPIRE AFTER interval`` behind a watermark's strategy (seed 000)."""

from __future__ import annotations

import re
from typing import Final

from tidegate.errors import BindError
from tidegate.frontend.ast.queries import Per, Scalar
from tidegate.frontend.expressions.clocks import reads_clock
from tidegate.frontend.expressions.functions import SOURCE_WATERMARK, SYSTEM_WATERMARK, calls
from tidegate.frontend.expressions.scalar import Binder
from tidegate.frontend.expressions.times import bind_length
from tidegate.plan.nodes import Node, Project, Scan, Unary, WatermarkFilter
from tidegate.plan.strategies import PerKey
from tidegate.types import Column

_KEY_TYPE: Final = re.compile(
    r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\(.*\)|VARCHAR|BOOLEAN|DATE|TIMESTAMP.*"
)
"""Types of which equal values have one text, and others another."""


def refuse_measured(per: Per, strategy: Scalar) -> None:
    """Raises BindError if ``strategy`` is one of those that look at the whole split."""
    for name in (SOURCE_WATERMARK, SYSTEM_WATERMARK):
        if calls(strategy.node, name):
            raise BindError(
                f"{name.upper()}() looks at all rows of a split, so it is not PER key",
                per.span.place,
                hint="write a delay, such as t - INTERVAL '5' SECOND, or leave PER out",
            )


def bind_per(
    binder: Binder, per: Per, keys: tuple[Column, ...], time: Column, unit_us: int
) -> PerKey:
    """What ``per`` means for a watermark on ``time``; ``keys`` are the columns that it names."""
    for scalar, column in zip(per.keys, keys, strict=True):
        message, hint = _misfit(binder.scope.relation.node, column, time)
        if message:
            raise BindError(f"'{column.name}' {message}", scalar.span.place, hint=hint)
    span = bind_length(binder, per.expiry, time, unit_us, "expiry of keys")
    return PerKey(tuple(dict.fromkeys(column.name for column in keys)), span)


def _misfit(node: Node, key: Column, time: Column) -> tuple[str, str]:
    """Why ``key`` cannot be one of a watermark on ``time``, and what to write; empty if it can."""
    hint = "name what the rows come from, such as a device"
    if key.name == time.name:
        return "is the time column, and so no key of its watermark", hint
    if reads_clock(node, key.name):
        depends = "which rows are late would depend on when they are read"
        return f"follows the processing time, and cannot be a key: {depends}", hint
    if _is_constant(node, key.name):
        waits = "they would have one watermark, which waits for others"
        message = f"is the same in all rows, and cannot be a key: {waits}"
        return message, f"{hint}, or leave PER out"
    if _KEY_TYPE.fullmatch(key.type) is None:
        types = "keys are whole or decimal numbers, texts, BOOLEAN, dates and times"
        return f"is {key.type}, which cannot be the key of a watermark", types
    return "", ""


def _is_constant(node: Node, column: str) -> bool:
    """Whether ``column`` follows from no column that is read."""
    match node:
        case Scan():
            expr = dict(node.computed).get(column)
            return expr is not None and not expr.columns
        case Project():
            read = dict(node.columns)[column].columns
            return all(_is_constant(node.input, name) for name in read)
        case Unary() if any(known.name == column for known in node.input.schema):
            return _is_constant(node.input, column)
    return False


def check_per(per: Per, node: WatermarkFilter) -> None:
    """Raises BindError if ``node`` is of a table or column that PER does not go with."""
    if node.periodic_us:
        raise BindError(
            "PER goes with every row, and the table says"
            " 'scan.watermark.emit.strategy' = 'on-periodic'",
            per.span.place,
            hint="leave that option out",
        )
    if node.clock:
        raise BindError(
            f"'{node.column}' is the processing time, which is one for all keys",
            per.span.place,
            hint="leave PER out",
        )
