"""A cursor over the tokens of one statement, with the errors of the parsers above it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from sqlglot.tokenizer_core import Token, TokenType

from tidegate.errors import SqlSyntaxError, UnsupportedError
from tidegate.frontend.ast.queries import Name, Text
from tidegate.frontend.source import Source, Span

_LITERALS = frozenset({TokenType.STRING, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.HINT})
_NO_NAMES = frozenset({
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "PARTITION BY", "EMIT", "WITH",
    "AS", "ON", "INSERT", "CREATE", "UNION", "INTERSECT", "EXCEPT", "LIMIT", "OFFSET", "FETCH",
    "WINDOW", "JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL", "USING", "FORMAT",
    "INTO", "QUALIFY", "TABLESAMPLE", "AND", "OR", "NOT", "CASE", "WHEN", "THEN", "ELSE", "END",
    "LATERAL", "MATCH_RECOGNIZE", "ASOF", "SEMI", "ANTI", "PIVOT", "UNPIVOT", "FOR", "VALUES",
    "DISTINCT", "ALL", "NULL",
})  # fmt: skip
_T = TypeVar("_T")


class Cursor:
    """Reads tokens from left to right. Words match without regard to case, quoted ones don't."""

    def __init__(self, source: Source, tokens: list[Token], index: int = 0) -> None:
        self.source = source
        self.tokens = tokens
        self.index = index

    @property
    def at_end(self) -> bool:
        return self.index >= len(self.tokens)

    @property
    def span(self) -> Span:
        """The current token's place; at the end, the place after the last token."""
        if self.at_end:
            return self.end_span
        token = self.tokens[self.index]
        return Span(self.source, token.start, token.end + 1)

    @property
    def previous_span(self) -> Span:
        token = self.tokens[max(0, min(self.index, len(self.tokens)) - 1)]
        return Span(self.source, token.start, token.end + 1)

    @property
    def end_span(self) -> Span:
        last = self.tokens[-1].end + 1 if self.tokens else len(self.source.text)
        return Span(self.source, last, last + 1)

    def kind(self, ahead: int = 0) -> TokenType | None:
        index = self.index + ahead
        return self.tokens[index].token_type if index < len(self.tokens) else None

    def word(self, ahead: int = 0) -> str:
        """The upper-case word or sign at the cursor; empty for literals, names in quotes, end."""
        index = self.index + ahead
        if index >= len(self.tokens) or self.tokens[index].token_type in _LITERALS:
            return ""
        return " ".join(self.tokens[index].text.upper().split())

    def at(self, *words: str) -> bool:
        return all(self.word(ahead) == word for ahead, word in enumerate(words))

    def at_any(self, *words: str) -> bool:
        return self.word() in words

    def take(self) -> Token:
        if self.at_end:
            raise self.expected("more")
        self.index += 1
        return self.tokens[self.index - 1]

    def accept(self, *words: str) -> bool:
        if self.at(*words):
            self.index += len(words)
            return True
        return False

    def expect(self, *words: str, why: str = "") -> Span:
        """Takes ``words``; ``why`` says after the expected words what they are for."""
        start = self.span
        for word in words:
            if not self.accept(word):
                shown = " ".join(words) if words[0][0].isalpha() else f"'{words[0]}'"
                raise self.expected(shown + (f" {why}" if why else ""))
        return start.to(self.previous_span)

    def name(self, what: str) -> Name:
        """An identifier. Words that begin a clause are none unless quoted."""
        if not self.at_name():
            raise self.expected(what)
        quoted = self.kind() is TokenType.IDENTIFIER
        return Name(self.take().text, quoted, self.previous_span)

    def at_name(self) -> bool:
        word = self.word()
        return self.kind() is TokenType.IDENTIFIER or bool(
            word and word not in _NO_NAMES and (word[0].isalpha() or word[0] in "_$")
        )

    def path(self, what: str) -> tuple[Name, ...]:
        """``a``, ``a.b`` or ``a.b.c``."""
        names = [self.name(what)]
        while self.accept("."):
            names.append(self.name(f"a name after '{names[-1].text}.'"))
        return tuple(names)

    def table_name(self, what: str) -> Name:
        """The name of a table, whatever catalog and database stand in front of it.

        A file is one namespace, of what it declares itself, so only the last part counts.
        """
        return self.path(what)[-1]

    def columns(self, begin: str = "", end: str = "or ',' after a column") -> tuple[Name, ...]:
        """``(a, b, …)``; ``begin`` and ``end`` say what the parentheses are for."""
        self.expect("(", why=begin)
        names = self.listed(lambda at: at.name("a column"))
        self.expect(")", why=end)
        return names

    def listed(self, read: Callable[[Cursor], _T]) -> tuple[_T, ...]:
        """What ``read`` takes, and takes again behind each comma."""
        found = [read(self)]
        while self.accept(","):
            found.append(read(self))
        return tuple(found)

    def text(self, what: str) -> Text:
        """A text constant."""
        if self.kind() is not TokenType.STRING:
            raise self.expected(what)
        token = self.take()
        return Text(token.text, self.previous_span)

    def found(self) -> str:
        if self.at_end:
            return "the end of the statement"
        text = self.span.told
        return text if text.startswith(("'", '"', "`")) else f"'{text[:40]}'"

    def expected(self, what: str, hint: str = "") -> SqlSyntaxError:
        return SqlSyntaxError(f"expected {what}, found {self.found()}", self.span.place, hint=hint)

    def unsupported(self, message: str, hint: str) -> UnsupportedError:
        """The error of what stands here and is understood."""
        return UnsupportedError(message, self.span.place, hint=hint)

    def refuse(self, later: Mapping[str, tuple[str, str]]) -> None:
        """Raises `unsupported` for the words of ``later``, each with its message and hint."""
        if self.word() in later:
            raise self.unsupported(*later[self.word()])
