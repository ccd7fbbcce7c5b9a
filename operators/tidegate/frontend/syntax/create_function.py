"""Reads CREATE FUNCTION, in RisingWave's form and in Flink's."""

from __future__ import annotations

from typing import Final

from sqlglot.tokenizer_core import TokenType

from tidegate.errors import SqlSyntaxError
from tidegate.frontend.ast.queries import Text
from tidegate.frontend.ast.statements import CreateFunction
from tidegate.frontend.source import Span
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.datatypes import parse_type
from tidegate.frontend.syntax.hints import parse_options

_BATCH: Final = ("vectorized", "batch")
_ENTRY: Final = "entry"
DOLLARS: Final = "write AS $$ … $$ with the function's source"
"""What to do where there is no source."""


def parse_create_function(cursor: Cursor, start: Span) -> CreateFunction:
    """What follows CREATE FUNCTION; RETURNS, LANGUAGE, AS and WITH in any order."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.table_name("the name of the function")
    parameters = _parameters(cursor) if cursor.at("(") else None
    returns, has_language = "", False
    code: Text | None = None
    module: Text | None = None
    vectorized, entry = False, ""
    while not cursor.at_end:
        if cursor.accept("RETURNS"):
            returns = parse_type(cursor, "the type that the function returns")
        elif cursor.accept("LANGUAGE"):
            if not cursor.accept("PYTHON"):
                language = cursor.word() or cursor.found()
                message = f"functions are written in Python, not in {language}"
                raise cursor.unsupported(message, "write LANGUAGE PYTHON")
            has_language = True
        elif cursor.accept("AS"):
            if cursor.kind() is TokenType.HEREDOC_STRING:
                token = cursor.take()
                code = Text(token.text, cursor.previous_span)
            else:
                module = cursor.text("$$ and the source, or 'module.function'")
        elif cursor.accept("WITH"):
            vectorized, entry = _options(cursor)
        else:
            raise cursor.expected("RETURNS, LANGUAGE, AS or WITH")
    span = start.to(cursor.previous_span)
    place = span.place
    if code is None and module is None:
        raise SqlSyntaxError(f"function '{name.text}' has no source", place, hint=DOLLARS)
    if not has_language:
        raise SqlSyntaxError(
            f"function '{name.text}' does not say its language",
            place,
            hint="add LANGUAGE PYTHON; there is no other",
        )
    return CreateFunction(
        name, parameters, returns, code, module, vectorized, if_not_exists, span, entry
    )


def _parameters(cursor: Cursor) -> tuple[str, ...]:
    """``(a INT, b STRING)`` or ``(INT, STRING)``."""
    cursor.expect("(")
    types: list[str] = []
    while not cursor.at(")"):
        ahead = cursor.word(1)
        if cursor.at_name() and ahead not in (",", ")", "(", "<", "[", "WITH", "WITHOUT"):
            cursor.name("a parameter")
        types.append(parse_type(cursor, "the type of a parameter"))
        if not cursor.accept(","):
            break
    cursor.expect(")", why="or ',' after a parameter")
    return tuple(types)


def _options(cursor: Cursor) -> tuple[bool, str]:
    """Whether the function takes arrays, and what it is called in its source."""
    vectorized, entry = False, ""
    for option in parse_options(cursor):
        if option.key.value.lower() in _BATCH:
            vectorized = option.value.value.lower() == "true"
        elif option.key.value.lower() == _ENTRY:
            entry = option.value.value
        else:
            raise SqlSyntaxError(
                f"unknown option '{option.key.value}'",
                option.key.span.place,
                hint="there are vectorized = true: the function takes and gives pyarrow arrays;"
                " and entry = 'name': what it is called in its source",
            )
    return vectorized, entry
