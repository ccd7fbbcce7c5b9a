"""Patterns of dates as text: Java's (Flink) and PostgreSQL's (RisingWave), as DuckDB's.

A letter that is in neither table is an error: passed on as it is, it would stand in the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_JAVA: Final = {
    "yyyy": "%Y", "uuuu": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%-m",
    "dd": "%d", "d": "%-d", "DDD": "%j", "EEEE": "%A", "EEE": "%a", "a": "%p",
    "HH": "%H", "H": "%-H", "hh": "%I", "h": "%-I", "mm": "%M", "m": "%-M", "ss": "%S", "s": "%-S",
    "SSS": "%g", "SSSSSS": "%f",
}  # fmt: skip
_POSTGRES: Final = {
    "YYYY": "%Y", "YY": "%y", "MM": "%m", "DD": "%d", "DDD": "%j", "HH24": "%H", "HH12": "%I",
    "HH": "%I", "MI": "%M", "SS": "%S", "MS": "%g", "US": "%f", "AM": "%p", "PM": "%p",
    "IYYY": "%G", "IW": "%V",
}  # fmt: skip
_POSTGRES_EXACT: Final = {"Mon": "%b", "Dy": "%a"}
_JAVA_PART: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.", re.DOTALL)
_POSTGRES_PART: Final = re.compile(
    '"([^"]*)"|Mon|Dy|(?i:S{4,5}|'
    + "|".join(sorted(_POSTGRES, key=len, reverse=True))
    + ")|[A-Za-z]+|.",
    re.DOTALL,
)
_POSTGRES_SIGNS: Final = re.compile(r"(?i:hh24|hh12|mi)|DD|YYYY")


class FormatError(ValueError):
    """The pattern has a part that has no counterpart."""


def java(pattern: str) -> str:
    """A pattern of Java's DateTimeFormatter. Raises FormatError."""
    return _translated(pattern, _JAVA_PART, _JAVA, {})


def postgres(pattern: str) -> str:
    """A pattern of PostgreSQL's to_char. Raises FormatError."""
    return _translated(pattern, _POSTGRES_PART, _POSTGRES, _POSTGRES_EXACT)


def any_of_them(pattern: str) -> str:
    """A pattern of either, told by its parts; with ``%`` it is DuckDB's already."""
    if "%" in pattern:
        return pattern
    return postgres(pattern) if _POSTGRES_SIGNS.search(pattern) else java(pattern)


def _translated(
    pattern: str, part: re.Pattern[str], table: Mapping[str, str], exact: Mapping[str, str]
) -> str:
    result = []
    for match in part.finditer(pattern):
        text = match[0]
        if match[1] is not None:
            result.append((match[1].replace("''", "'") or "'").replace("%", "%%"))
        elif text in exact:
            result.append(exact[text])
        elif table is _POSTGRES and text.upper() in table:
            result.append(table[text.upper()])
        elif text in table:
            result.append(table[text])
        elif text.isalpha():
            raise FormatError(f"'{text}' in the pattern '{pattern}' is not supported")
        else:
            result.append("%%" if text == "%" else text)
    return "".join(result)
