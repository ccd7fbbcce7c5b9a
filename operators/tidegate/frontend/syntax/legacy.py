"""Flink's older properties for a watermark, as options of a table (FLIP-66).

    'schema.watermark.0.rowtime' = 'f1.q2',
    'schema.watermark.0.strategy.expression' = '`f1`.`q2` - INTERVAL ''5'' SECOND',
    'schema.watermark.0.strategy.datatype' = 'TIMESTAMP(3)'

is ``WATERMARK FOR f1.q2 AS f1.q2 - INTERVAL '5' SECOND``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from tidegate.errors import SqlSyntaxError, did_you_mean
from tidegate.frontend.ast.queries import Option, Options, Text
from tidegate.frontend.ast.statements import WatermarkDef
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.datatypes import parse_type
from tidegate.frontend.syntax.dialect import cursor_over, parse_scalar
from tidegate.types import is_event_time_type

_KEY: Final = re.compile(r"schema\.watermark\.(\d+)\.(.+)", re.IGNORECASE)
_ROWTIME, _EXPRESSION, _TYPE = "rowtime", "strategy.expression", "strategy.datatype"
_PARTS: Final = (_ROWTIME, _EXPRESSION, _TYPE)


def without_legacy(options: Options) -> tuple[Options, list[WatermarkDef]]:
    """The options that are left, and the watermarks that the others declare."""
    found: dict[int, dict[str, Option]] = {}
    kept: list[Option] = []
    for option in options.items:
        match = _KEY.fullmatch(option.key.value)
        if match is None:
            kept.append(option)
            continue
        if match[2].lower() not in _PARTS:
            raise SqlSyntaxError(
                f"unknown option '{option.key.value}'",
                option.key.span.place,
                hint=did_you_mean(match[2].lower(), _PARTS),
            )
        found.setdefault(int(match[1]), {})[match[2].lower()] = option
    marks = [_watermark(number, found[number]) for number in sorted(found)]
    return (replace(options, items=tuple(kept)) if found else options), marks


def _watermark(number: int, parts: dict[str, Option]) -> WatermarkDef:
    first = next(iter(parts.values()))
    for part in (_ROWTIME, _EXPRESSION):
        if part not in parts:
            raise SqlSyntaxError(
                f"option '{first.key.value}' needs 'schema.watermark.{number}.{part}' besides",
                first.key.span.place,
                hint="or write WATERMARK FOR column AS expression among the columns",
            )
    span = first.key.span.to(list(parts.values())[-1].value.span)
    cursor = _inside(parts[_ROWTIME].value)
    path = cursor.path("the time column of the watermark")
    _expect_end(cursor)
    cursor = _inside(parts[_EXPRESSION].value)
    strategy = parse_scalar(cursor, "the watermark expression")
    _expect_end(cursor)
    if _TYPE in parts:
        _check_type(parts[_TYPE].value)
    return WatermarkDef(path, strategy, span)


def _check_type(text: Text) -> None:
    cursor = _inside(text)
    type_ = parse_type(cursor, "the type of the watermark")
    _expect_end(cursor)
    if not is_event_time_type(type_):
        raise SqlSyntaxError(
            f"a watermark cannot be {text.value}",
            text.span.place,
            hint="write TIMESTAMP(3), TIMESTAMP_LTZ(3) or BIGINT",
        )


def _inside(text: Text) -> Cursor:
    """A cursor over the SQL in a text constant, in which every token keeps its place in the file.

    A doubled quote becomes a quote and a blank, on its outer side.
    """
    inside = text.span.cut(text.span.start + 1, text.span.end - 1)
    opening = True
    pieces = []
    for piece in re.split("('')", inside.text):
        pieces.append({True: " '", False: "' "}[opening] if piece == "''" else piece)
        opening ^= piece == "''"
    cursor = cursor_over(inside, "".join(pieces))
    if cursor.at_end:
        raise SqlSyntaxError("this text is empty", text.span.place)
    return cursor


def _expect_end(cursor: Cursor) -> None:
    if not cursor.at_end:
        raise cursor.expected("the end of the text")
