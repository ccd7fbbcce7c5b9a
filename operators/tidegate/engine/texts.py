"""How a text becomes a time or a number: one rule for fields of every format and casts (S15).

DuckDB's own casts take what stands behind a time for a zone, and drop it: ``01:00:00 PM`` is one
in the morning. Here a text is read as a whole, as PostgreSQL reads it, or it is no time:

- a date, ``2024-05-01`` or ``2024/5/1``, with four digits of a year or more, and a sign if need be
  (the year 0 is 1 BC);
- behind it ``T`` or blanks, and ``HH:MM``, ``HH:MM:SS`` or ``HH:MM:SS.f``; what a fraction has
  behind its sixth digit is cut off;
- ``AM`` or ``PM`` behind a time of twelve hours;
- ``Z``, an offset (``+02``, ``+0230``, ``+02:30``) of less than 16 hours or a `ZONE`, with or
  without a blank: where the type has no zone, it must be one and changes nothing, as in PostgreSQL;
- no text of more than 200 bytes is a time;
- ``BC`` or ``AD`` at the end, or ``(BC)`` behind the date, as DuckDB writes it.

A DATE takes the date of it, a TIME the time of day, which may stand without a date.

Numbers are what DuckDB's casts take, but for what these round or guess: a text with a point or an
exponent is no integer, and what is too large for a DOUBLE, or has two signs, is none. An `Engine`
knows the macros.
"""

from __future__ import annotations

from typing import Final

_DATE: Final = r"-?\d{4,7}[-/]\d{1,2}[-/]\d{1,2}"
_MINUTES: Final = r":\d{1,2}(?::\d{1,2}(?:\.\d*)?)?"
_EAST: Final = r"[+-](?:0\d|1[0-5])(?::?[0-5]\d(?::[0-5]\d)?)?"
_OFFSET: Final = rf"[zZ]|{_EAST}"
_ALONE: Final = (
    "UTC|UCT|GMT|GMT[+-]?0|Zulu|Universal|Greenwich|CET|EET|MET|WET|EST|MST|HST|EST5EDT|CST6CDT"
    "|MST7MDT|PST8PDT|Cuba|Egypt|Eire|GB|GB-Eire|Hongkong|Iceland|Iran|Israel|Jamaica|Japan"
    "|Kwajalein|Libya|Navajo|NZ|NZ-CHAT|Poland|Portugal|PRC|ROC|ROK|Singapore|Turkey|W-SU"
)
ZONE: Final = rf"(?i:{_ALONE})|[A-Za-z]+(?:/[A-Za-z0-9_+-]+)+"
"""A zone's name, if there is such a one: those of the IANA database. DuckDB takes others besides,
which mean differing things: BST for Dhaka, AST for Alaska, and GMT-3 is +3 to PostgreSQL."""
_HALF: Final = r"(?i:[AP]M)\b"
"""A word of its own: America begins with two letters like it."""
_PLAIN: Final = rf"{_DATE}([T ]\d{{1,2}}{_MINUTES}(Z|{_EAST})?)?"
"""What DuckDB's casts read as it is meant."""
_WHOLE: Final = (
    rf"^\s*(\+?)({_DATE})(?: ?\(BC\))?"
    rf"(?:(?:[tT]|\s+)(\d{{1,2}})({_MINUTES})\s?({_HALF})?\s?(?:({_OFFSET})|({ZONE}))??)?"
    r"\s?(?i:AD|BC)?\s*$"
)
"""Groups: plus, date, hour, rest of the time of day, AM or PM, offset, zone."""
_BYTES_MAX: Final = 200
"""Of a text that is a time. DuckDB compares a zone that there is not with all that there are: a
megabyte behind a time takes it a minute."""
_PLAIN_TIME: Final = rf"\d{{1,2}}{_MINUTES}"
_DAY: Final = rf"{_DATE}( \(BC\))?"
_DATED: Final = r"^\s*[+-]?\d{4,7}[-/]"
_ERA: Final = r"(?i)[^a-z/](AD|BC)\s*$"
READS: Final = {
    "TIMESTAMP": "__to_timestamp",
    "TIMESTAMP WITH TIME ZONE": "__to_timestamptz",
    "DATE": "__to_date",
    "TIME": "__to_time",
}
"""The types that a text becomes by a macro, and its name: NULL where the text is no such value."""
INTEGER: Final = "__to_integer"
"""A macro of a text: that, or one which is no number, where DuckDB would round it."""
DOUBLE: Final = "__to_double"
"""As `INTEGER`, of a text and what DuckDB's TRY_CAST makes of it, where that is a guess."""
MUST: Final = "__to_must"
"""A macro of a text and what it became: fails where that is NULL, and the text is not."""
_SPECIAL: Final = r"(?i)\s*[+-]?(nan|inf|infinity)\s*"

_CLOCK: Final = (
    "CASE WHEN p.half = '' THEN p.hour || p.minutes WHEN p.hour::INTEGER <= 12 THEN"
    " (p.hour::INTEGER % 12 + CASE WHEN upper(p.half) = 'PM' THEN 12 ELSE 0 END) || p.minutes END"
)


def _parts(pattern: str, *names: str) -> str:
    """The groups of ``pattern`` as a list of one struct: it is read once, however used."""
    listed = ", ".join(f"'{name}'" for name in names)
    return f"[regexp_extract(s, '{pattern}', [{listed}])]"


_MOMENT: Final = rf"""list_transform(
    {_parts(_WHOLE, "plus", "date", "hour", "minutes", "half", "offset", "zone")}, lambda p:
    CASE WHEN p.date <> '' THEN trim(
        CASE WHEN regexp_matches(s, '\(BC\)|(?i:BC)\s*$') THEN p.plus || p.date || ' (BC) '
        ELSE p.date || ' ' END
        || {_CLOCK} || upper(p.offset) || ' ' || p.zone
    ) END)[1]"""
"""The text as DuckDB's casts take it, NULL where it is no time."""


def is_integer(text: str) -> str:
    """DuckDB SQL: whether ``text``, which it casts to an integer, is one."""
    plain = " AND ".join(f"NOT contains({text}, '{sign}')" for sign in ".eE")
    return rf"({plain} OR regexp_matches({text}, '^\s*0[xXbB]'))"


def is_double(text: str, value: str) -> str:
    """DuckDB SQL: whether ``text``, which it casts to the DOUBLE ``value``, is that."""
    return (
        f"CASE WHEN isfinite({value}) THEN NOT contains({text}, '+-')"  # which is a minus to DuckDB
        f" ELSE regexp_full_match({text}, '{_SPECIAL}') END"
    )


MACROS: Final = f"""
-- TRY takes no error(), but a cast of what is no BOOLEAN.
CREATE MACRO {MUST}(s, v) AS
    coalesce(v, CASE WHEN CAST(s || ' does not fit' AS BOOLEAN) THEN v END);
CREATE MACRO __instead_of(was, becomes) AS becomes;
CREATE MACRO {INTEGER}(s) AS CASE WHEN {is_integer("s")} THEN s ELSE s || ' does not fit' END;
CREATE MACRO {DOUBLE}(s, v) AS
    CASE WHEN {is_double("s", "v")} THEN s ELSE s || ' does not fit' END;

CREATE MACRO __to_timestamptz(s) AS
    CASE WHEN strlen(s) > {_BYTES_MAX} THEN NULL
    WHEN regexp_full_match(s, '{_PLAIN}') THEN TRY_CAST(s AS TIMESTAMPTZ)
    ELSE TRY_CAST({_MOMENT} AS TIMESTAMPTZ) END;

-- A zone's name that there is not is refused by the cast to the type that has one.
CREATE MACRO __to_timestamp(s) AS
    CASE WHEN strlen(s) > {_BYTES_MAX} THEN NULL
    WHEN regexp_full_match(s, '{_PLAIN}') THEN TRY_CAST(s AS TIMESTAMP)
    ELSE list_transform([{_MOMENT}], lambda m:
        CASE WHEN TRY_CAST(m AS TIMESTAMPTZ) IS NOT NULL THEN TRY_CAST(m AS TIMESTAMP) END)[1] END;

CREATE MACRO __to_date(s) AS
    CASE WHEN regexp_full_match(s, '{_DAY}') THEN TRY_CAST(s AS DATE)
    ELSE CAST(__to_timestamp(s) AS DATE) END;

CREATE MACRO __to_time(s) AS
    CASE WHEN regexp_full_match(s, '{_PLAIN_TIME}') THEN TRY_CAST(s AS TIME)
    WHEN NOT contains(s, ':') THEN NULL
    WHEN regexp_matches(s, '{_DATED}') THEN CAST(__to_timestamp(s) AS TIME)
    WHEN regexp_matches(s, '{_ERA}') THEN NULL
    ELSE CAST(__to_timestamp('2000-01-01 ' || s) AS TIME) END;
"""
"""Statements for an engine that has no macros yet."""
