"""Texts as values, by the rules of docs/connectors.md ("What makes a row malformed").

Values are plain: integers, `Decimal` with the scale of its type, floats, texts, booleans; a
timestamp is microseconds since the epoch, a date days, a time of day microseconds.
"""

from __future__ import annotations

import base64
import datetime as dt
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np

DAY: Final = 86_400_000_000
MICROS_MIN: Final = -9_223_372_022_400_000_000
"""A TIMESTAMP's first, of the year 290,309 BC: DuckDB has whole days there."""
MICROS_MAX: Final = 2**63 - 2
"""Its last: the next one is infinity."""
ZONES: Final = (
    *("UTC", "GMT", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Baghdad"),
    *("America/Argentina/Buenos_Aires", "Pacific/Auckland", "Etc/GMT+5", "EST", "Asia/Tokyo"),
)
"""Names of zones that values are written with; others are none."""

_DIGITS: Final = r"[0-9]+(?:_[0-9]+)*"
_INTEGER: Final = re.compile(rf"[+-]?{_DIGITS}")
_BASED: Final = re.compile(r"0(?:[xX][0-9a-fA-F]+(?:_[0-9a-fA-F]+)*|[bB][01]+(?:_[01]+)*)")
_NUMBER: Final = re.compile(
    rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
)
_SPECIAL: Final = {"nan": "nan", "inf": "inf", "infinity": "inf"}
_BITS: Final = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_DECIMAL: Final = re.compile(r"DECIMAL\((\d+), (\d+)\)")
_DATE: Final = re.compile(r"([+-]?)([0-9]{4,6})([-/])([0-9]{1,2})([-/])([0-9]{1,2})")
_CLOCK: Final = re.compile(r"([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?")
_OFFSET: Final = re.compile(r"([+-])([0-9]{2})(?::?([0-9]{2})(?::([0-9]{2}))?)?")
_BLANKS: Final = " \t\n\r\f"
_TRUE: Final = ("true", "t", "yes", "y", "1")
_FALSE: Final = ("false", "f", "no", "n", "0")


class Misfit(Exception):  # noqa: N818 - what a value is, not an error
    """It does not fit its type: the row is malformed."""


def of_text(text: str, type_: str) -> Any:
    """``text``, in a string of JSON or a field of CSV, as a plain value of ``type_``."""
    if type_ == "STRING":
        return text
    if type_ in _BITS:
        return _in_bits(_integer(text), type_)
    if type_ in ("DOUBLE", "REAL"):
        stripped = text.strip(_BLANKS + "\v")
        special = _SPECIAL.get(stripped.lstrip("+-").lower() if _signs(stripped) < 2 else "")
        if special:
            return float(special) if not stripped.startswith("-") else -float(special)
        return number_as_float(_plain(text), type_)
    if type_.startswith("DECIMAL"):
        return number_as_decimal(_plain(text), type_)
    match type_:
        case "BOOLEAN":
            return boolean(text)
        case "BYTES":
            return _base64(text)
        case "TIMESTAMP" | "TIMESTAMPTZ":
            return moment(text, zoned=type_ == "TIMESTAMPTZ")
        case "DATE":
            return _date(text)
        case "TIME":
            return _time_of_day(text)
    raise AssertionError(type_)


def _base64(text: str) -> bytes:
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError:
        raise Misfit(text[:20]) from None
    if base64.b64encode(data).decode() != text:
        raise Misfit(text[:20])
    return data


def boolean(text: str) -> bool:
    """A field of CSV; a string of JSON is none."""
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise Misfit(text)


def _signs(text: str) -> int:
    return len(text) - len(text.lstrip("+-"))


def _integer(text: str) -> int:
    stripped = text.strip(_BLANKS + "\v")
    if _BASED.fullmatch(stripped):
        return int(stripped.replace("_", ""), 0)
    if not _INTEGER.fullmatch(stripped):
        raise Misfit(text)
    return whole(stripped.replace("_", ""))


def whole(text: str) -> int:
    """Digits with a sign; of more than Python likes to read, one that fits nothing."""
    digits = text.lstrip("+-").lstrip("0")
    return int(f"{'-' * text.startswith('-')}{digits or '0'}") if len(digits) < 60 else 10**60


def _in_bits(value: int, type_: str) -> int:
    limit = 1 << (_BITS[type_] - 1)
    if not -limit <= value < limit:
        raise Misfit(value)
    return value


def integer(value: int, type_: str) -> int:
    """``value`` as an integer type."""
    return _in_bits(value, type_)


def _plain(text: str) -> str:
    """A number's text without blanks around and underscores inside."""
    stripped = text.strip(_BLANKS + "\v")
    if not _NUMBER.fullmatch(stripped):
        raise Misfit(text)
    return stripped.replace("_", "")


def number_as_float(text: str, type_: str) -> float:
    """A number's text as the nearest DOUBLE or REAL, which is finite."""
    value = float(text)
    if type_ == "REAL":
        value = nearest_real(value, text)
    if value in (float("inf"), float("-inf")):
        raise Misfit(text)
    return value


def nearest_real(value: float, text: str = "") -> float:
    """The float of 32 bits that is nearest to ``text``, whose DOUBLE is ``value``."""
    with np.errstate(over="ignore"):
        near = np.float32(value)
    if not text or not np.isfinite(near) or value == 0:
        return float(near)
    exact = Fraction(text)
    with np.errstate(over="ignore"):
        around = [near, *(np.nextafter(near, np.float32(end)) for end in ("inf", "-inf"))]
    finite = [each for each in around if np.isfinite(each)]
    return float(min(finite, key=lambda each: (abs(Fraction(float(each)) - exact), _is_odd(each))))


def _is_odd(value: np.float32) -> int:
    return int(value.view(np.uint32)) & 1


def number_as_decimal(text: str, type_: str) -> Decimal:
    """A number's text, rounded half away from zero to the scale of ``type_``."""
    mantissa, _, exponent = text.lower().partition("e")
    before, _, behind = mantissa.lstrip("+-").partition(".")
    digits = (before + behind).lstrip("0")
    precision, scale = decimal_type(type_)
    if exponent and len(before.lstrip("0")) > precision - scale:
        raise Misfit(text)
    if not digits:
        return as_decimal(0, 0, False, type_)
    power = whole(exponent or "0") - len(behind)
    if len(digits) + power > 60:
        raise Misfit(text)
    if len(digits) + power < -60:
        return as_decimal(0, 0, False, type_)
    return as_decimal(int(digits), power, text.startswith("-"), type_)


def as_decimal(digits: int, power: int, negative: bool, type_: str) -> Decimal:
    """``digits * 10 ** power`` as a DECIMAL."""
    precision, scale = decimal_type(type_)
    value = Fraction(digits) * Fraction(10) ** (power + scale)
    units = int(value + Fraction(1, 2))
    if units >= 10**precision:
        raise Misfit(f"{digits}e{power}")
    return Decimal((int(negative and units > 0), tuple(map(int, str(units))), -scale))


def decimal_type(type_: str) -> tuple[int, int]:
    """Precision and scale."""
    found = _DECIMAL.fullmatch(type_)
    assert found is not None, type_
    return int(found[1]), int(found[2])


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the calendar that we have, in any year; 0 is 1 BC."""
    if not 1 <= month <= 12:
        raise Misfit(month)
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not 1 <= day <= lengths[month - 1]:
        raise Misfit(day)
    cycles, like = divmod(year, 400)
    like += 400  # a year that Python knows, and where leap years are the same
    there = dt.date(like, month, day).toordinal() - dt.date(1970, 1, 1).toordinal()
    return there + (cycles - 1) * 146_097


def moment(text: str, *, zoned: bool) -> int:
    """A TIMESTAMP or TIMESTAMPTZ, in microseconds."""
    days, clock, zone = _parts(text)
    micros = days * DAY + clock
    if zoned:
        micros -= _offset(zone, days, clock)
    else:
        _offset(zone, days, clock)  # must be one, though it is left aside
    if not MICROS_MIN <= micros <= MICROS_MAX:
        raise Misfit(text)
    return micros


def _date(text: str) -> int:
    if found := _DATE.fullmatch(text):
        return _days(found, False)
    return moment(text, zoned=False) // DAY


def _time_of_day(text: str) -> int:
    if _CLOCK.fullmatch(text):
        return _clock(text, "")
    if ":" not in text:
        raise Misfit(text)
    if re.match(rf"[{_BLANKS}]*[+-]?[0-9]{{4,6}}[-/]", text):
        return moment(text, zoned=False) % DAY
    if re.search(r"[^A-Za-z/](AD|BC)\s*$", text, re.IGNORECASE):
        raise Misfit(text)
    return moment(f"2000-01-01 {text.lstrip(_BLANKS)}", zoned=False) % DAY


def _parts(text: str) -> tuple[int, int, str]:
    """Days, microseconds of the day, and what is behind them as a zone."""
    if len(text.encode()) > 200:
        raise Misfit(text[:20])
    rest = text.strip(_BLANKS)
    date = _DATE.match(rest)
    if not date:
        raise Misfit(text)
    rest, bc = rest[date.end() :], False
    if found := re.match(r" ?\(BC\)", rest):
        rest, bc = rest[found.end() :], True
    if found := re.search(r"(?:(?<=[^A-Za-z/])|^)(?i:(AD|BC))$", rest):
        rest, bc = rest[: found.start()], bc or found[1].upper() == "BC"
        rest = rest[:-1] if rest.endswith(tuple(_BLANKS)) else rest
    days = _days(date, bc)
    if not rest:
        return days, 0, ""
    found = re.match(rf"(?:[tT]|[{_BLANKS}]+)(?=[0-9])", rest)
    clock = _CLOCK.match(rest, found.end()) if found else None
    if not found or not clock:
        raise Misfit(text)
    rest = rest[clock.end() :]
    half = ""
    if behind := re.match(rf"[{_BLANKS}]?([AP]M)(?![A-Za-z0-9_])", rest, re.IGNORECASE):
        half, rest = behind[1].upper(), rest[behind.end() :]
    for _ in range(1 if half else 2):  # one before the half of the day that there is not, too
        rest = rest[1:] if rest[:1] and rest[0] in _BLANKS else rest
    return days, _clock(clock[0], half), rest


def _days(date: re.Match[str], bc: bool) -> int:
    sign, year, first, month, second, day = date.groups()
    if first != second:
        raise Misfit(date[0])
    number = int(year)
    if bc:
        if sign or not number:
            raise Misfit(date[0])
        number = 1 - number
    return days_of(-number if sign == "-" else number, int(month), int(day))


def _clock(text: str, half: str) -> int:
    found = _CLOCK.fullmatch(text)
    assert found is not None
    hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
    micros = int((found[4] or "")[:6].ljust(6, "0"))
    if half:
        if hour > 12:
            raise Misfit(text)
        hour = hour % 12 + 12 * (half == "PM")
    if minute > 59 or second > 59 or hour > 24 or (hour == 24 and (minute or second or micros)):
        raise Misfit(text)
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros


def _offset(zone: str, days: int, clock: int) -> int:
    """Microseconds east of Greenwich."""
    if zone in ("", "Z", "z"):
        return 0
    if found := _OFFSET.fullmatch(zone):
        hour, minute, second = (int(part or 0) for part in found.groups()[1:])
        if hour > 15 or minute > 59 or second > 59:
            raise Misfit(zone)
        east = ((hour * 60 + minute) * 60 + second) * 1_000_000
        return -east if found[1] == "-" else east
    known = {name.lower(): name for name in ZONES}.get(zone.lower())
    if known is None:
        raise Misfit(zone)
    local = dt.datetime(1970, 1, 1) + dt.timedelta(days=days, microseconds=clock)
    return _of_zone(local, ZoneInfo(known)) // dt.timedelta(microseconds=1)


def _of_zone(local: dt.datetime, zone: ZoneInfo) -> dt.timedelta:
    """An hour that comes twice is the second one; one that is left out is counted from before."""
    before, after = (local.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
    assert before is not None
    assert after is not None
    return min(before, after)
