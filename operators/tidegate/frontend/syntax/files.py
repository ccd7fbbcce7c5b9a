"""Splits a file into statements, and reads statement sets and what is to be compiled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot.tokenizer_core import Token, TokenType

from tidegate.errors import SqlSyntaxError
from tidegate.frontend.ast.statements import CompilePlan, Insert, Statement
from tidegate.frontend.source import Source, Span
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.dialect import tokenize
from tidegate.frontend.syntax.statements import expect_end, parse_statement


def parse_file(source: Source) -> list[Statement]:
    """All statements of a file. Raises SqlSyntaxError or UnsupportedError.

    A statement set of Flink's is the list of its inserts: all statements of a file are one job.
    """
    statements: list[Statement] = []
    set_: Span | None = None  # where the statement set that is open begins
    plan: CompilePlan | None = None  # what is being compiled
    for tokens in _split(tokenize(source.whole)):
        cursor = Cursor(source, tokens)
        if cursor.at("BEGIN") or cursor.at("EXECUTE", "STATEMENT"):
            set_ = _begin_set(cursor, set_)
        elif cursor.at("COMPILE"):
            plan = _compile_plan(cursor)
            set_ = _begin_set(cursor, set_) if cursor.at_any("STATEMENT", "BEGIN") else None
        elif cursor.at("END"):
            if set_ is None:
                raise cursor.expected("a statement", hint="there is no BEGIN STATEMENT SET")
            cursor.take()
            expect_end(cursor)
            set_ = None
            statements += [plan] if plan is not None else []
            plan = None
            continue
        if cursor.at_end or _is_use(cursor):
            continue
        if (set_ is not None or plan is not None) and not cursor.at("INSERT"):
            raise cursor.expected("INSERT INTO" + " or END in a statement set" * (set_ is not None))
        statement = parse_statement(cursor)
        if plan is None:
            statements.append(statement)
            continue
        assert isinstance(statement, Insert)
        plan = replace(plan, inserts=(*plan.inserts, statement))
        if set_ is None:
            statements.append(plan)
            plan = None
    if plan is not None and set_ is None:
        raise SqlSyntaxError(
            "COMPILE PLAN has no statement",
            plan.span.place,
            hint="INSERT INTO … or STATEMENT SET BEGIN follows FOR",
        )
    if set_ is not None:
        raise SqlSyntaxError("this statement set has no END", set_.place, hint="add END; behind it")
    return statements


def _begin_set(cursor: Cursor, open_: Span | None) -> Span:
    """``BEGIN STATEMENT SET``, or ``EXECUTE STATEMENT SET BEGIN``, which an insert may follow."""
    if open_ is not None:
        raise cursor.expected("INSERT INTO or END in a statement set")
    if cursor.accept("EXECUTE") or cursor.at("STATEMENT"):
        return cursor.expect("STATEMENT", "SET", "BEGIN", why="after EXECUTE")
    span = cursor.expect("BEGIN", "STATEMENT", "SET")
    expect_end(cursor)
    return span


def _compile_plan(cursor: Cursor) -> CompilePlan:
    """``COMPILE [AND EXECUTE] PLAN 'path' [IF NOT EXISTS] FOR``."""
    start = cursor.expect("COMPILE")
    executes = cursor.accept("AND", "EXECUTE")
    cursor.expect("PLAN", why="after COMPILE")
    path = cursor.text("the file of the plan, as a text")
    keeps = cursor.accept("IF", "NOT", "EXISTS")
    cursor.expect("FOR", why="and INSERT INTO, or STATEMENT SET BEGIN")
    return CompilePlan(path, (), keeps, executes, start.to(cursor.previous_span))


def _is_use(cursor: Cursor) -> bool:
    """``USE [CATALOG | DATABASE] name``: nothing to do, a file is one namespace."""
    if not cursor.accept("USE"):
        return False
    if cursor.at_any("CATALOG", "DATABASE", "SCHEMA", "MODULE", "MODULES"):
        cursor.take()
    cursor.path("a catalog or database after USE")
    expect_end(cursor)
    return True


def _split(tokens: list[Token]) -> Iterator[list[Token]]:
    statement: list[Token] = []
    for token in tokens:
        if token.token_type is not TokenType.SEMICOLON:
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement
