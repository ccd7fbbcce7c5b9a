"""Splits a file into statements, and reads statement sets and what is to be compiled."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby, takewhile
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from tidegate.errors import SqlError, SqlSyntaxError
from tidegate.frontend.ast.statements import CompilePlan, Insert, Statement, Unread
from tidegate.frontend.failures import Failures
from tidegate.frontend.source import Source, Span
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.dialect import tokenize
from tidegate.frontend.syntax.statements import expect_end, parse_statement

_BODIES: Final = ("(", "as", "like", "with", "from", "for")
"""What stands behind the name that a statement declares or changes."""
_CHANGE_NOTHING: Final = (
    "insert", "select", "with", "(", "set", "explain", "describe", "desc", "show",
)  # fmt: skip


def parse_file(source: Source) -> list[Statement]:
    """All statements of a file. Raises SqlSyntaxError or UnsupportedError, with those of others."""
    failures = Failures()
    statements = read_file(source, failures)
    failures.check(source.file)
    return statements


def read_file(source: Source, failures: Failures) -> list[Statement]:
    """The statements of a file that can be read; ``failures`` gets the errors of the others.

    A statement set of Flink's is the list of its inserts: all statements of a file are one job.
    """
    reader = _Reader(failures)
    with failures.noted():
        for tokens in _split(tokenize(source.whole)):
            cursor = Cursor(source, tokens)
            try:
                reader.take(cursor)
            except SqlError as error:
                failures.add(error)
                reader.plan = reader.plan if reader.set else None
                reader.statements.append(Unread(_changed(tokens), cursor.end_span))
        reader.end()
    return reader.statements


@dataclass(slots=True)
class _Reader:
    """Takes statement by statement. ``set`` is where the statement set begins that is open, and
    ``plan`` what is being compiled."""

    failures: Failures
    statements: list[Statement] = field(default_factory=list)
    set: Span | None = None
    plan: CompilePlan | None = None

    def take(self, cursor: Cursor) -> None:
        """What stands between two semicolons."""
        if cursor.at("BEGIN") or cursor.at("EXECUTE", "STATEMENT"):
            self.set = _begin_set(cursor, self.set)
        elif cursor.at("COMPILE"):
            self.plan = _compile_plan(cursor)
            is_set = cursor.at_any("STATEMENT", "BEGIN")
            self.set = _begin_set(cursor, self.set) if is_set else None
        elif cursor.at("END"):
            self._end_set(cursor)
        if cursor.at_end or _is_use(cursor):
            return
        plan, is_set = self.plan, self.set is not None
        if not is_set:
            self.plan = None
        if (is_set or plan is not None) and not cursor.at("INSERT"):
            self.set = self.plan = None  # nobody knows any more what belongs to it
            raise cursor.expected("INSERT INTO" + " or END in a statement set" * is_set)
        statement = parse_statement(cursor)
        if plan is None:
            self.statements.append(statement)
            return
        assert isinstance(statement, Insert)
        plan = replace(plan, inserts=(*plan.inserts, statement))
        if is_set:
            self.plan = plan
        else:
            self.statements.append(plan)

    def _end_set(self, cursor: Cursor) -> None:
        if self.set is None and not self.failures.errors:  # of which one may be its begin
            raise cursor.expected("a statement", hint="there is no BEGIN STATEMENT SET")
        self.statements += [self.plan] if self.plan is not None else []
        self.set = self.plan = None
        cursor.take()
        expect_end(cursor)

    def end(self) -> None:
        """Raises SqlSyntaxError for what is open at the end of the file."""
        if self.set is not None:
            place = self.set.place
            raise SqlSyntaxError("this statement set has no END", place, hint="add END; behind it")
        if self.plan is not None:
            raise SqlSyntaxError(
                "COMPILE PLAN has no statement",
                self.plan.span.place,
                hint="INSERT INTO … or STATEMENT SET BEGIN follows FOR",
            )


def _changed(tokens: list[Token]) -> frozenset[str]:
    """The names, among other words, that a statement that cannot be read may declare or change."""
    words = list(takewhile(lambda word: word not in _BODIES, (t.text.lower() for t in tokens)))
    return frozenset() if words[:1] and words[0] in _CHANGE_NOTHING else frozenset(words)


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


def _split(tokens: list[Token]) -> list[list[Token]]:
    """The tokens of each statement."""
    parts = groupby(tokens, lambda token: token.token_type is TokenType.SEMICOLON)
    return [list(statement) for is_end, statement in parts if not is_end]
