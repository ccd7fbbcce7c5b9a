"""The sqlglot dialect: one tokenizer for RisingWave's, Flink's and PostgreSQL's forms.

sqlglot gives tokens and scalar expressions; statements and queries are read by `statements` and
`queries` over the same tokens, so that every error is ours, with its place and what was expected.
Function calls stay as they were written (`exp.Anonymous`): they run in DuckDB under their own
names, and `functions` says which.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel, ParseError, TokenError
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from tidegate.errors import SqlSyntaxError
from tidegate.frontend.ast.queries import NamedWindow, Query, Scalar
from tidegate.frontend.ast.statements import ROWTIME
from tidegate.frontend.source import Source, Span
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.datatypes import parse_type

_INTERVAL_UNITS = frozenset(
    f"{unit}{plural}"
    for unit in ("MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR")
    for plural in ("", "S")
)
_ARTICLES = re.compile(r"\b(an?|the) ")
_WITH_UNITS = re.compile(r"\d\s*[A-Za-z]")
_CLOSED = re.compile(r"""--[^\n]*|'[^']*'|"[^"]*"|`[^`]*`|/\*.*?\*/|\$\$.*?\$\$""", re.DOTALL)
_OPENER = re.compile(r"""'|"|`|/\*|\$\$""")
_ROUNDED_UNITS = ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_FUNCTION_PARSERS = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "POSITION")


class MisparseError(ParseError):
    """sqlglot stopped at the characters of ``span``."""

    def __init__(self, message: str, span: Span | None) -> None:
        super().__init__(message)
        self.span = span


class TidegateParser(DuckDBParser):
    """Reads scalar expressions out of a statement's tokens."""

    FUNCTIONS = {}  # noqa: RUF012 - sqlglot's way to configure a parser
    FUNC_TOKENS = {*DuckDBParser.FUNC_TOKENS, TokenType.SESSION}  # noqa: RUF012
    FUNCTION_PARSERS = {  # noqa: RUF012
        name: DuckDBParser.FUNCTION_PARSERS[name] for name in _FUNCTION_PARSERS
    }
    FUNCTION_PARSERS |= {
        "FLOOR": lambda self: self._parse_rounding("floor"),
        "CEIL": lambda self: self._parse_rounding("ceil"),
    }
    NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
        "CASE": DuckDBParser.NO_PAREN_FUNCTION_PARSERS["CASE"]
    }

    query_at: ClassVar[Callable[[Cursor], Query]]
    """Reads a query inside an expression; `queries` says how."""

    def __init__(self, source: Source) -> None:
        super().__init__(error_level=ErrorLevel.IMMEDIATE, dialect=Tidegate)
        self._source = source

    def _parse_select(self, *_: object, **__: object) -> exp.Expr | None:
        """A query, as one node that has it whole; sqlglot would read another language."""
        if not self._curr or self._curr.text.upper() not in ("SELECT", "WITH"):
            return None
        cursor = Cursor(self._source, list(self._tokens), self._index)
        query = TidegateParser.query_at(cursor)
        self._advance(cursor.index - self._index)
        return InnerQuery(query=query)

    def scalar_at(self, tokens: list[Token], index: int) -> tuple[exp.Expr | None, int]:
        """The expression that starts at ``tokens[index]``, and the index after it."""
        self._begin(tokens, index)
        return self._parse_disjunction(), self._index

    def named_window_at(self, tokens: list[Token], index: int) -> tuple[exp.Expr | None, int]:
        """``w AS (…)`` of a WINDOW clause, and the index after it."""
        self._begin(tokens, index)
        return self._parse_window(self._parse_id_var(), alias=True), self._index

    def _begin(self, tokens: list[Token], index: int) -> None:
        self.reset()
        self.sql = self._source.text
        self._tokens = tokens
        self._tokens_size = len(tokens)
        self._index = index
        self._advance(0)

    def raise_error(self, message: str, token: Token | None = None) -> None:
        token = token or self._curr
        raise MisparseError(
            message, Span(self._source, token.start, token.end + 1) if token else None
        )

    def _parse_function_args(self, alias: bool = False) -> list[exp.Expr]:  # noqa: ARG002
        return super()._parse_function_args(alias=False)

    def _parse_per(self, this: exp.Expr | None) -> exp.Expr | None:
        """PER ends an expression: it is a watermark's, not sqlglot's (of semantic views)."""
        return this

    def _parse_interval(
        self, require_interval: bool = True, parse_function_unit: bool = True
    ) -> exp.Interval | None:
        """One interval, its text as it stands.

        sqlglot keeps only the part of a text that it knows (``'1 day 02:00:00'`` is a day), and
        adds what follows: ``INTERVAL '1' MINUTE + 5`` is no sum of intervals.
        """
        start = self._index
        if not self._match(TokenType.INTERVAL) and require_interval:
            return None
        if self._match(TokenType.STRING, advance=False):
            text = self._parse_primary()
            if text is not None and _WITH_UNITS.search(text.name):
                return exp.Interval(this=text)
        else:
            text = self._parse_term()
        if text is None or (isinstance(text, exp.Column) and not self._at_interval_unit()):
            self._retreat(start)  # a column whose name is interval
            return None
        return self._parse_interval_span(text, parse_function_unit=parse_function_unit)

    def _at_interval_unit(self) -> bool:
        return bool(self._curr) and self._curr.text.upper() in Tidegate.VALID_INTERVAL_UNITS

    def _parse_rounding(self, name: str) -> exp.Expr:
        """``FLOOR(x)``, and Flink's ``FLOOR(t TO MINUTE)``, which is date_trunc; CEIL likewise."""
        token = self._tokens[self._index - 2]
        arguments = self._parse_function_args()
        result = exp.Anonymous(this=name, expressions=arguments)
        if arguments and self._match_text_seq("TO"):
            unit = self._curr.text.upper() if self._curr else ""
            if unit not in _ROUNDED_UNITS:
                self.raise_error("no unit of time")
            self._advance()
            time = arguments[0]
            if name == "ceil":
                for sign, amount, of in ((exp.Add, "1", unit), (exp.Sub, "1", "MICROSECOND")):
                    interval = exp.Interval(this=exp.Literal.string(amount), unit=exp.Var(this=of))
                    time = sign(this=time, expression=interval)
            arguments = [exp.Literal.string(unit.lower()), time]
            result = exp.Anonymous(this="date_trunc", expressions=arguments)
        if not self._curr or self._curr.token_type is not TokenType.R_PAREN:
            self.raise_error("expected )")
        return result.update_positions(token)

    def _parse_types(
        self,
        check_func: bool = False,
        schema: bool = False,
        allow_identifiers: bool = True,
        with_collation: bool = False,
    ) -> exp.Expr | None:
        if check_func:  # a typed literal such as DATE '2024-01-31', or no type at all
            return super()._parse_types(check_func, schema, allow_identifiers, with_collation)
        cursor = Cursor(self._source, list(self._tokens), self._index)
        type_ = parse_type(cursor)
        self._advance(cursor.index - self._index)
        return exp.DataType(this=exp.DType.USERDEFINED, kind=type_)


class InnerQuery(exp.Subquery):
    """A query in an expression: ``query`` is a `Query`."""

    arg_types = {"query": True}  # noqa: RUF012


class Tidegate(DuckDB):
    """DuckDB's dialect, with backquoted identifiers, hints and no raw commands."""

    NULL_ORDERING = "nulls_are_large"
    """S12: first where OVER (… ORDER BY …) descends, as in the query's own ORDER BY."""

    class Tokenizer(DuckDB.Tokenizer):
        """Hints become tokens wherever they stand; nothing is swallowed as a command."""

        IDENTIFIERS = ['"', "`"]  # noqa: RUF012
        KEYWORDS = {
            key: TokenType.VAR if type_ in DuckDB.Tokenizer.COMMANDS else type_
            for key, type_ in DuckDB.Tokenizer.KEYWORDS.items()
            if " " not in key or key in ("GROUP BY", "ORDER BY", "PARTITION BY")
        } | {"/*+": TokenType.HINT}
        COMMANDS = set()  # noqa: RUF012
        TOKENS_PRECEDING_HINT = set(TokenType)  # noqa: RUF012


def tokenize(piece: Span, text: str = "") -> list[Token]:
    """The tokens of a piece of a source; or of ``text``, which is as long, in its place.

    Raises SqlSyntaxError where a quote or comment isn't closed.
    """
    text = text or piece.text
    try:
        tokens = Tidegate().tokenize(text)
    except (TokenError, ValueError, IndexError) as error:
        raise _unclosed(piece, text, error) from None
    for token in tokens if piece.start else ():
        token.start += piece.start
        token.end += piece.start
    return _with_intervals(_with_system_columns(tokens))


def cursor_over(piece: Span, text: str = "") -> Cursor:
    """A cursor over the tokens that `tokenize` gives."""
    return Cursor(piece.source, tokenize(piece, text))


def parse_scalar(cursor: Cursor, what: str = "an expression") -> Scalar:
    """The scalar expression at ``cursor``; ``what`` names it in the error."""
    start = cursor.span
    node = _parsed(cursor, what, TidegateParser(cursor.source).scalar_at)
    return Scalar(node, start.to(cursor.previous_span))


def parse_scalars(cursor: Cursor, what: str) -> tuple[Scalar, ...]:
    """Expressions with commas between them."""
    return cursor.listed(lambda at: parse_scalar(at, what))


def parse_named_window(cursor: Cursor) -> NamedWindow:
    """``name AS (PARTITION BY … ORDER BY … frame)`` at ``cursor``."""
    start, ahead = cursor.span, Cursor(cursor.source, cursor.tokens, cursor.index)
    name = ahead.name("the name of a window")
    ahead.expect("AS", "(", why=f"after WINDOW {name.text}")
    node = _parsed(cursor, "a window", TidegateParser(cursor.source).named_window_at)
    assert isinstance(node, exp.Window)
    return NamedWindow(name, node, start.to(cursor.previous_span))


def _parsed(
    cursor: Cursor, what: str, parse: Callable[[list[Token], int], tuple[exp.Expr | None, int]]
) -> exp.Expr:
    """What ``parse`` reads at ``cursor``, which it moves on."""
    start = cursor.span
    try:
        node, index = parse(cursor.tokens, cursor.index)
    except MisparseError as error:
        place = error.span or cursor.end_span
        raise _stopped(cursor, place, what) from None
    except RecursionError:
        raise SqlSyntaxError("this expression is nested too deeply", start.place) from None
    except SqlSyntaxError:
        raise
    except Exception:  # sqlglot meets texts that its authors did not
        raise _stopped(cursor, start, what) from None
    if node is None or index == cursor.index:
        raise cursor.expected(what)
    cursor.index = index
    return node


def _stopped(cursor: Cursor, place: Span, what: str) -> SqlSyntaxError:
    found = place.shown
    message = f"incomplete {_ARTICLES.sub('', what)}, " + (
        f"stopped at '{found}'" if found and place != cursor.end_span else "found the end"
    )
    return SqlSyntaxError(message, place.place)


def _with_system_columns(tokens: list[Token]) -> list[Token]:
    """``$rowtime`` without quotes as one name, which is a parameter elsewhere."""
    result: list[Token] = []
    for token in tokens:
        last = result[-1] if result else None
        if (
            last is not None
            and last.token_type is TokenType.PARAMETER
            and last.end + 1 == token.start
            and token.token_type is TokenType.VAR
            and f"${token.text}".lower() == ROWTIME
        ):
            text = f"${token.text}"
            result[-1] = Token(TokenType.VAR, text, last.line, last.col, last.start, token.end)
        else:
            result.append(token)
    return result


def _with_intervals(tokens: list[Token]) -> list[Token]:
    """``- '5' SECOND`` as ``- INTERVAL '5' SECOND``."""
    result: list[Token] = []
    for index, token in enumerate(tokens):
        if (
            token.token_type is TokenType.STRING
            and result
            and result[-1].token_type in (TokenType.DASH, TokenType.PLUS)
            and (len(result) < 2 or result[-2].token_type is not TokenType.INTERVAL)
            and index + 1 < len(tokens)
            and tokens[index + 1].text.upper() in _INTERVAL_UNITS
            and tokens[index + 1].token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
        ):
            interval = Token(
                TokenType.INTERVAL, "INTERVAL", token.line, token.col, token.start, token.start - 1
            )
            result.append(interval)
        result.append(token)
    return result


def _unclosed(piece: Span, text: str, error: Exception) -> SqlSyntaxError:
    """Finds the quote or comment that is never closed."""
    first = piece.start
    opener = _OPENER.search(_CLOSED.sub(lambda closed: " " * len(closed[0]), text))
    if opener is None:
        place = piece.cut(first, first + 1).place
        return SqlSyntaxError("this text cannot be read as SQL", place, detail=str(error))
    kind, closer = ("comment", "*/") if opener[0] == "/*" else ("quote", opener[0])
    place = piece.cut(first + opener.start(), first + opener.end()).place
    return SqlSyntaxError(f"unterminated {kind}", place, hint=f"close it with {closer}")
