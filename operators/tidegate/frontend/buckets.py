"""``DISTRIBUTED BY HASH(k) INTO n BUCKETS`` (seed 004): the key and the partitions of a topic.

Of a table that is read it changes nothing: its topic is as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from sqlglot.tokenizer_core import TokenType

from tidegate.errors import BindError, UnsupportedError, did_you_mean
from tidegate.frontend.cursor import Cursor
from tidegate.frontend.scope import matches
from tidegate.frontend.source import Source
from tidegate.frontend.syntax import Buckets, Name

_KEYS: Final = ("key.fields", "primary_key")
_COUNT: Final = "sink.buckets"


def take_buckets(cursor: Cursor) -> Buckets | None:
    """The clause, where it stands; without HASH it is one by hash, and either half may be alone."""
    start = cursor.span
    if not cursor.accept("DISTRIBUTED"):
        return None
    keys: list[Name] = []
    count = 0
    if cursor.accept("BY"):
        if cursor.at("RANGE"):
            raise UnsupportedError(
                "DISTRIBUTED BY RANGE is not there yet",
                cursor.source.position(cursor.span),
                hint="write DISTRIBUTED BY HASH(column) INTO n BUCKETS",
            )
        cursor.accept("HASH")
        cursor.expect("(", why="with the columns that choose the bucket")
        keys.append(cursor.name("a column"))
        while cursor.accept(","):
            keys.append(cursor.name("a column"))
        cursor.expect(")", why="or ',' after a column")
    if cursor.at("INTO") or not keys:
        cursor.expect("INTO", why="and the number of buckets")
        count = _count(cursor)
        cursor.expect("BUCKETS", why="after their number")
    return Buckets(tuple(keys), count, start.to(cursor.previous_span))


def _count(cursor: Cursor) -> int:
    text = cursor.take().text if cursor.kind() is TokenType.NUMBER else ""
    if not text.isdigit() or int(text) == 0:
        cursor.index -= bool(text)
        raise cursor.expected("the number of buckets, 1 or more")
    return int(text)


def check_buckets(source: Source, buckets: Buckets | None, columns: Iterable[str]) -> None:
    """Raises BindError where the clause names what is no column of the table."""
    known = list(columns)
    for key in buckets.keys if buckets else ():
        if not any(matches(key, column) for column in known):
            raise BindError(
                f"the table has no column '{key.text}'",
                source.position(key.span),
                hint=did_you_mean(key.text, known) or f"its columns are {', '.join(known)}",
            )


def bucket_options(
    source: Source, what: str, buckets: Buckets, connector: str, given: Mapping[str, str]
) -> dict[str, str]:
    """What the clause adds to the options of a sink. Raises BindError for what has no buckets."""
    if connector != "kafka":
        raise BindError(
            f"{what}: '{connector}' has no buckets",
            source.position(buckets.span),
            hint="leave DISTRIBUTED BY out: only kafka tables, whose topics have partitions,"
            " take it",
        )
    added = {}
    if buckets.keys and not given.keys() & set(_KEYS):
        added[_KEYS[0]] = ";".join(key.text for key in buckets.keys)
    if buckets.count and _COUNT not in given:
        added[_COUNT] = str(buckets.count)
    return added
