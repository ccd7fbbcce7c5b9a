"""``/*+ OPTIONS('k' = 'v') */`` after a table, and lists of options."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from tidegate.errors import SqlSyntaxError
from tidegate.frontend.ast.queries import Option, Text
from tidegate.frontend.source import Span
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.dialect import cursor_over


def take_hints(cursor: Cursor) -> tuple[Option, ...]:
    """The options of the hints at ``cursor``; the first hint is the one that counts."""
    first: tuple[Option, ...] | None = None
    while cursor.kind() is TokenType.HINT:
        cursor.take()
        options = _parse_hint(cursor.previous_span)
        first = options if first is None else first
    return first or ()


def take_ttls(cursor: Cursor) -> tuple[Option, ...]:
    """``/*+ STATE_TTL('table' = '1d') */`` behind SELECT, if it stands there."""
    found: list[Option] = []
    while cursor.kind() is TokenType.HINT:
        cursor.take()
        found += _parse_hint(cursor.previous_span, "STATE_TTL", "/*+ STATE_TTL('table' = '1d') */")
    return tuple(found)


def parse_options(cursor: Cursor) -> tuple[Option, ...]:
    """``(k = 'v', 'k' = 'v', …)``, a comma at the end allowed."""
    cursor.expect("(", why="with the options")
    options: list[Option] = []
    while not cursor.at(")"):
        option = parse_option(cursor)
        if any(option.key.value == other.key.value for other in options):
            raise SqlSyntaxError(
                f"option '{option.key.value}' is given twice",
                option.key.span.place,
                hint="keep one of them",
            )
        options.append(option)
        if not cursor.accept(","):
            break
    cursor.expect(")", why="or ',' after an option")
    return tuple(options)


def parse_option(cursor: Cursor) -> Option:
    """``key = value``: a name with dots or a text, then a text, a number or a word."""
    key = parse_key(cursor)
    if not cursor.accept("=") and not cursor.accept("=="):
        raise cursor.expected(f"'=' after the option {key.value}")
    return Option(key, parse_value(cursor, f"the value of {key.value} as a text"))


def parse_key(cursor: Cursor) -> Text:
    if cursor.kind() is TokenType.STRING:
        key = cursor.text("the name of an option")
        return Text(key.value.strip(), key.span)
    start = cursor.span
    words = [_key_part(cursor, "the name of an option")]
    while cursor.at(".") or cursor.at("-"):
        sign = cursor.take().text
        words.append(sign + _key_part(cursor, "the rest of the option's name"))
    return Text("".join(words), start.to(cursor.previous_span))


def _key_part(cursor: Cursor, what: str) -> str:
    word = cursor.word()
    if cursor.kind() is not TokenType.IDENTIFIER and not (word and word[0].isalpha()):
        raise cursor.expected(what)
    return cursor.take().text


def parse_value(cursor: Cursor, what: str) -> Text:
    if cursor.kind() is TokenType.STRING:
        return cursor.text(what)
    if cursor.kind() is TokenType.NUMBER or cursor.at_any("TRUE", "FALSE") or cursor.at_name():
        return Text(cursor.take().text, cursor.previous_span)
    raise cursor.expected(what)


def _parse_hint(
    span: Span, name: str = "OPTIONS", form: str = "/*+ OPTIONS('key' = 'value') */"
) -> tuple[Option, ...]:
    cursor = cursor_over(span.cut(span.start + len("/*+"), span.end - len("*/")))
    if not cursor.accept(name):
        raise SqlSyntaxError(
            f"unknown hint '{cursor.span.shown}'",
            (span if cursor.at_end else cursor.span).place,
            hint=f"write {form}",
        )
    options = parse_options(cursor)
    if not cursor.at_end:
        raise cursor.expected("the end of the hint")
    return options
