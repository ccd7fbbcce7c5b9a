"""How a text becomes a time: one rule for the fields of every format and for casts (S15).

DuckDB's own casts take what stands behind a time for a zone, and drop it: ``01:00:00 PM`` is one
in the morning. Here a text is read as a whole, as PostgreSQL reads it, or it is no time:

- a date, ``2024-05-01`` or ``2024/5/1``, with four digits of a year or more, and a sign if need be
  (the year 0 is 1 BC);
- behind it ``T`` or blanks, and ``HH:MM``, ``HH:MM:SS`` or ``HH:MM:SS.f``; what a fraction has
  behind its sixth digit is cut off;
- ``AM`` or ``PM`` behind a time of twelve hours;
- ``Z``, an offset (``+02``, ``+0230``, ``+02:30``) of less than 16 hours or a zone's name, with or
  without a blank: where the type has no zone, it must be one and changes nothing, as in PostgreSQL;
- no text of more than 200 bytes is a time;
- ``BC`` or ``AD`` at the end, or ``(BC)`` behind the date, as DuckDB writes it.

A DATE takes the date of it, a TIME the time of day, which may stand without a date. An `Engine`
knows the macros.
"""

from __future__ import annotations

from typing import Final

_DATE: Final = r"-?\d{4,6}[-/]\d{1,2}[-/]\d{1,2}"
_MINUTES: Final = r":\d{1,2}(?::\d{1,2}(?:\.\d*)?)?"
_EAST: Final = r"[+-](?:0\d|1[0-5])(?::?[0-5]\d(?::[0-5]\d)?)?"
_OFFSET: Final = rf"[zZ]|{_EAST}"
_NAME: Final = r"[A-Za-z][A-Za-z0-9_]*(?:[/+-][A-Za-z0-9_]+)*"
_HALF: Final = r"(?i:[AP]M)\b"
"""A word of its own: America begins with two letters like it."""
_PLAIN: Final = rf"{_DATE}([T ]\d{{1,2}}{_MINUTES}(Z|{_EAST})?)?"
"""What DuckDB's casts read as it is meant."""
_WHOLE: Final = (
    rf"^\s*\+?({_DATE})(?: ?\(BC\))?"
    rf"(?:(?:[tT]|\s+)(\d{{1,2}})({_MINUTES})\s?({_HALF})?\s?(?:({_OFFSET})|({_NAME}))??)?"
    r"\s?(?i:AD|BC)?\s*$"
)
"""Groups: date, hour, rest of the time of day, AM or PM, offset, zone."""
_BYTES_MAX: Final = 200
"""Of a text that is a time. DuckDB compares a zone that there is not with all that there are: a
megabyte behind a time takes it a minute."""
_PLAIN_TIME: Final = rf"\d{{1,2}}{_MINUTES}"
_DATED: Final = r"^\s*[+-]?\d{4,6}[-/]"
_ERA: Final = r"(?i)[^a-z/](AD|BC)\s*$"
READS: Final = {
    "TIMESTAMP": "__to_timestamp",
    "TIMESTAMP WITH TIME ZONE": "__to_timestamptz",
    "DATE": "__to_date",
    "TIME": "__to_time",
}
"""The types that a text becomes by a macro, and its name: NULL where the text is no such value."""

_CLOCK: Final = (
    "CASE WHEN p.half = '' THEN p.hour || p.minutes WHEN p.hour::INTEGER <= 12 THEN"
    " (p.hour::INTEGER % 12 + CASE WHEN upper(p.half) = 'PM' THEN 12 ELSE 0 END) || p.minutes END"
)


def _parts(pattern: str, *names: str) -> str:
    """The groups of ``pattern`` as a list of one struct: it is read once, however used."""
    listed = ", ".join(f"'{name}'" for name in names)
    return f"[regexp_extract(s, '{pattern}', [{listed}])]"


_MOMENT: Final = rf"""list_transform(
    {_parts(_WHOLE, "date", "hour", "minutes", "half", "offset", "zone")}, lambda p:
    CASE WHEN p.date <> '' THEN trim(
        p.date || CASE WHEN regexp_matches(s, '\(BC\)|(?i:BC)\s*$') THEN ' (BC) ' ELSE ' ' END
        || {_CLOCK} || upper(p.offset) || ' ' || p.zone
    ) END)[1]"""
"""The text as DuckDB's casts take it, NULL where it is no time."""

MACROS: Final = f"""
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
    CASE WHEN regexp_full_match(s, '{_DATE}') THEN TRY_CAST(s AS DATE)
    ELSE CAST(__to_timestamp(s) AS DATE) END;

CREATE MACRO __to_time(s) AS
    CASE WHEN regexp_full_match(s, '{_PLAIN_TIME}') THEN TRY_CAST(s AS TIME)
    WHEN NOT contains(s, ':') THEN NULL
    WHEN regexp_matches(s, '{_DATED}') THEN CAST(__to_timestamp(s) AS TIME)
    WHEN regexp_matches(s, '{_ERA}') THEN NULL
    ELSE CAST(__to_timestamp('2000-01-01 ' || s) AS TIME) END;
"""
"""Statements for an engine that has no macros yet."""
