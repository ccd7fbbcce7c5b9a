"""Reads a statement, whichever it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, get_args

from sqlglot.tokenizer_core import TokenType

from tidegate.errors import SqlSyntaxError, did_you_mean
from tidegate.frontend.ast.queries import Item, Option, Query, TableRef, Text
from tidegate.frontend.ast.statements import (
    CreateFunction,
    CreateSink,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    DropKind,
    ExecutePlan,
    Explain,
    Insert,
    Select,
    SetOption,
    Show,
    Shown,
    Statement,
)
from tidegate.frontend.source import Span
from tidegate.frontend.syntax.create_function import parse_create_function
from tidegate.frontend.syntax.create_table import parse_create_table
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.encode import take_options
from tidegate.frontend.syntax.hints import parse_key, parse_value, take_hints
from tidegate.frontend.syntax.queries import at_query, parse_query, take_emit
from tidegate.frontend.syntax.watermark import parse_alter

_LATER: Final = {
    "UPDATE": ("UPDATE is not supported", "write INSERT INTO … SELECT"),
    "DELETE": ("DELETE is not supported", "filter with WHERE"),
}
_CLAUSES: Final = ("FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "EMIT ON WINDOW CLOSE")
_STARTS: Final = (
    *("CREATE", "INSERT INTO", "SELECT", "WITH", "SET", "ALTER TABLE", "DROP", "DESCRIBE", "SHOW"),
    *("EXPLAIN", "COMPILE PLAN", "EXECUTE PLAN", "EXECUTE STATEMENT SET", "BEGIN STATEMENT SET"),
    "USE",
)
"""What statements begin with; those of several words are read by their first, and in `files`."""
_SHOWN: Final[tuple[Shown, ...]] = get_args(Shown)
_DROPPED: Final[dict[str, DropKind]] = {kind: kind for kind in get_args(DropKind)} | {
    "SOURCE": "TABLE"
}


def parse_statement(cursor: Cursor) -> Statement:
    """The statement that ``cursor`` is over. Raises SqlSyntaxError or UnsupportedError."""
    try:
        statement = _dispatch(cursor)
    except RecursionError:
        raise SqlSyntaxError("this statement is nested too deeply", cursor.span.place) from None
    expect_end(cursor)
    return statement


def expect_end(cursor: Cursor) -> None:
    """Raises SqlSyntaxError where more is written."""
    if not cursor.at_end:
        near = did_you_mean(cursor.word(), _CLAUSES)
        hint = near if near.startswith("did") else "statements are separated by a semicolon"
        raise cursor.expected("the end of the statement", hint=hint)


def _dispatch(cursor: Cursor) -> Statement:
    start = cursor.span
    if cursor.accept("CREATE"):
        return _create(cursor, start)
    if cursor.accept("INSERT"):
        return _insert(cursor, start)
    if cursor.accept("SET"):
        return _set(cursor, start)
    if cursor.accept("ALTER"):
        return parse_alter(cursor, start)
    if cursor.accept("DROP"):
        return _drop(cursor, start)
    if cursor.accept("DESCRIBE") or cursor.accept("DESC"):
        return _describe(cursor, start)
    if cursor.accept("SHOW"):
        return _show(cursor, start)
    if cursor.accept("EXPLAIN"):
        return _explain(cursor, start)
    if cursor.accept("EXECUTE"):
        cursor.expect("PLAN", why="or STATEMENT SET after EXECUTE")
        path = cursor.text("the file of the plan, as a text")
        return ExecutePlan(path, start.to(cursor.previous_span))
    if at_query(cursor):
        query = parse_query(cursor)
        return Select(query, span=query.span)
    cursor.refuse(_LATER)
    word = cursor.word()
    near = did_you_mean(word, {start.partition(" ")[0] for start in _STARTS}) if word else ""
    raise cursor.expected(
        f"{', '.join(_STARTS[:-1])} or {_STARTS[-1]}", hint=near if near.startswith("did") else ""
    )


def _create(cursor: Cursor, start: Span) -> Statement:
    # A file declares every name once, so there it replaces nothing; a call may.
    replaces = cursor.accept("OR", "REPLACE")
    statement = _created(cursor, start)
    if replaces and isinstance(statement, CreateTable | CreateView | CreateFunction):
        return replace(statement, or_replace=True)
    return statement


def _created(cursor: Cursor, start: Span) -> Statement:
    """What follows CREATE."""
    temporary = cursor.accept("TEMPORARY") or cursor.accept("TEMP")
    if temporary:
        cursor.accept("SYSTEM")  # Flink's: of all catalogs
    if cursor.accept("MATERIALIZED"):
        cursor.expect("VIEW", why="after MATERIALIZED")
        return replace(_create_view(cursor, start), materialized=True)
    parsers: dict[str, Callable[[Cursor, Span], Statement]] = {
        "TABLE": parse_create_table,
        "SOURCE": parse_create_table,
        "VIEW": _create_view,
        "SINK": _create_sink,
        "FUNCTION": parse_create_function,
    }
    word = cursor.word()
    if word not in parsers:
        after = "CREATE TEMPORARY" if temporary else "CREATE"
        raise cursor.expected(
            f"TABLE, SOURCE, VIEW, SINK or FUNCTION after {after}",
            hint=did_you_mean(word, parsers) if word else "",
        )
    cursor.take()
    return parsers[word](cursor, start)


def _create_view(cursor: Cursor, start: Span) -> CreateView:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.table_name("the name of the view")
    columns = cursor.columns(end="after the columns of the view") if cursor.at("(") else ()
    cursor.expect("AS", why="and the query of the view")
    query = parse_query(cursor)
    span = start.to(cursor.previous_span)
    return CreateView(name, columns, query, if_not_exists, span)


def _create_sink(cursor: Cursor, start: Span) -> CreateSink:
    cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.table_name("the name of the sink") if cursor.at_name() else None
    into = None
    if cursor.accept("INTO"):
        into = cursor.table_name("the table that the sink writes into")
    emit = take_emit(cursor)
    options = take_options(cursor)
    if cursor.accept("FROM"):
        query = _all_of(cursor)
    else:
        cursor.expect("AS", why="and a query, or FROM and a table")
        query = parse_query(cursor)
    options = options or take_options(cursor)
    emit = take_emit(cursor) or emit or query.emit
    options = options or take_options(cursor)
    span = start.to(cursor.previous_span)
    if into is not None and options is not None:
        raise SqlSyntaxError(
            f"a sink into the table '{into.text}' has no options of its own",
            options.span.place,
            hint="give them to the table",
        )
    return CreateSink(name, into, replace(query, emit=emit), options, span)


def _all_of(cursor: Cursor) -> Query:
    """``CREATE SINK … FROM v`` is ``SELECT * FROM v``."""
    start = cursor.span
    table = TableRef(cursor.table_name("a table or view"), None, take_hints(cursor), start)
    everything = Item(None, None, None, start)
    return Query((), (everything,), table, None, (), None, None, (), None, start)


def _insert(cursor: Cursor, start: Span) -> Insert:
    if cursor.at("OVERWRITE"):
        raise cursor.unsupported("INSERT OVERWRITE is not supported", "write INSERT INTO")
    cursor.expect("INTO", why="after INSERT")
    table = cursor.table_name("the table to insert into")
    hints = take_hints(cursor)
    columns = cursor.columns() if cursor.at("(") and not at_query(cursor) else ()
    if cursor.at("VALUES"):
        raise cursor.unsupported(
            "INSERT INTO … VALUES is not supported",
            "put the rows into a file and read it with the filesystem connector",
        )
    if not at_query(cursor):
        raise cursor.expected("SELECT or WITH: the rows to insert")
    query = parse_query(cursor)
    return Insert(table, hints, columns, query, start.to(cursor.previous_span))


def _describe(cursor: Cursor, start: Span) -> Describe:
    cursor.accept("TABLE")
    extended = cursor.at("EXTENDED") and cursor.kind(1) is not None and cursor.accept("EXTENDED")
    cursor.accept("TABLE")
    name = cursor.table_name("the table or view to describe")
    return Describe(name, extended, start.to(cursor.previous_span))


def _explain(cursor: Cursor, start: Span) -> Statement:
    """``EXPLAIN [PLAN FOR] statement``."""
    cursor.accept("PLAN", "FOR")
    place = cursor.span
    inner = _dispatch(cursor)
    if isinstance(inner, CreateView) and not inner.materialized:
        inner = Select(inner.query, span=inner.query.span)
    if not isinstance(inner, Select | Insert | CreateSink | CreateView):
        raise SqlSyntaxError(
            "EXPLAIN is about a statement that reads",
            place.to(cursor.previous_span).place,
            hint="SELECT, INSERT INTO, CREATE SINK or CREATE MATERIALIZED VIEW",
        )
    return Explain(inner, start.to(cursor.previous_span))


def _show(cursor: Cursor, start: Span) -> Statement:
    if cursor.accept("COLUMNS"):
        if not cursor.accept("FROM") and not cursor.accept("IN"):
            raise cursor.expected("FROM and a table after SHOW COLUMNS")
        name = cursor.table_name("the table or view to describe")
        return Describe(name, False, start.to(cursor.previous_span))
    if cursor.accept("MATERIALIZED"):
        cursor.expect("VIEWS", why="after SHOW MATERIALIZED")
        return Show("VIEWS", start.to(cursor.previous_span))
    word = "TABLES" if cursor.at("SOURCES") else cursor.word()
    for what in _SHOWN:
        if what == word:
            cursor.take()
            return Show(what, start.to(cursor.previous_span))
    raise cursor.expected(
        "TABLES, VIEWS, WATERMARKS or COLUMNS FROM a table after SHOW",
        hint=did_you_mean(word, (*_SHOWN, "COLUMNS")) if word else "",
    )


def _set(cursor: Cursor, start: Span) -> SetOption:
    key = parse_key(cursor)
    if not cursor.accept("=") and not cursor.accept("TO") and not cursor.accept("=="):
        raise cursor.expected(f"'=' or TO after {key.value}")
    value_span = cursor.span
    value = parse_value(cursor, f"the value of {key.value}")
    rest = value.value
    while not cursor.at_end:  # SET tidegate.epoch.interval = 10 s
        if cursor.at_name() or cursor.kind() is TokenType.NUMBER:
            rest += " " + cursor.take().text
        else:
            break
    text = Text(rest, value_span.to(cursor.previous_span))
    return SetOption(Option(key, text), start.to(cursor.previous_span))


def _drop(cursor: Cursor, start: Span) -> Drop:
    """What follows DROP."""
    temporary = cursor.accept("TEMPORARY") or cursor.accept("TEMP")
    if temporary and cursor.accept("SYSTEM") and not cursor.at("FUNCTION"):
        raise cursor.expected("FUNCTION after TEMPORARY SYSTEM")
    if cursor.accept("MATERIALIZED") and not cursor.at("VIEW"):
        raise cursor.expected("VIEW after MATERIALIZED")
    word = cursor.word()
    if word not in _DROPPED:
        raise cursor.expected(
            "TABLE, SOURCE, VIEW, MATERIALIZED VIEW, SINK or FUNCTION after DROP",
            hint=did_you_mean(word, _DROPPED) if word else "",
        )
    cursor.take()
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.table_name(f"the name of the {word.lower()}")
    span = start.to(cursor.previous_span)
    if cursor.at("CASCADE"):
        raise cursor.unsupported(
            "DROP … CASCADE is not supported", "drop what uses it first, each by its name"
        )
    cursor.accept("RESTRICT")
    return Drop(_DROPPED[word], name, if_exists, span)
