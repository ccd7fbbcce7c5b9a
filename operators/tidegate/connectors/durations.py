"""Durations, points in time and sizes as options spell them (Flink's forms)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_UNITS_US: Final = {
    ("us", "micro", "micros", "microsecond", "microseconds", "µs"): 1,
    ("ms", "milli", "millis", "millisecond", "milliseconds"): 1_000,
    ("s", "sec", "secs", "second", "seconds"): 1_000_000,
    ("m", "min", "mins", "minute", "minutes"): 60_000_000,
    ("h", "hour", "hours"): 3_600_000_000,
    ("d", "day", "days"): 86_400_000_000,
}
_US_OF: Final = {name: us for names, us in _UNITS_US.items() for name in names}
_PART: Final = re.compile(r"\s*(\d+)\s*([a-zµ]*)\s*", re.IGNORECASE)
_ISO: Final = re.compile(
    r"\s*P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,6})\d*)?S)?)?\s*",
    re.IGNORECASE,
)
_BYTES: Final = re.compile(r"\s*(\d+)\s*(b|bytes|k|kb|m|mb|g|gb|)\s*")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

FORMS: Final = "write a whole number and a unit, as in '500ms', '5 s', '1min', '2 h', '7 d'"


def parse_duration(text: str) -> int:
    """Microseconds of ``text``: ``1min``, ``5 s``, ``1 h 30 min``, ``500ms``, ``PT1M30S``.

    A bare number is milliseconds, as in Flink. Raises ValueError that says what was expected.
    """
    iso = _ISO.fullmatch(text)
    duration_us = _iso_us(iso) if iso and any(iso.groups()) else _parts_us(text)
    if duration_us is None:
        raise ValueError(f"'{text}' is not a duration; {FORMS}")
    if duration_us > 2**62:
        raise ValueError(f"'{text}' is too long a duration")
    return duration_us


def _iso_us(match: re.Match[str]) -> int:
    days, hours, minutes, seconds, fraction = (part or "0" for part in match.groups())
    whole = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * 1_000_000 + int(fraction.ljust(6, "0"))


def _parts_us(text: str) -> int | None:
    """Of one number and its unit, or of several; only one alone needs none."""
    parts = list(_PART.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        return None
    units = [part[2].lower() or "ms" * (len(parts) == 1) for part in parts]
    if not all(unit in _US_OF for unit in units):
        return None
    return sum(int(part[1]) * _US_OF[unit] for part, unit in zip(parts, units, strict=True))


def parse_bytes(text: str) -> int:
    """Bytes of ``text``: ``64mb``, ``1 gb``, ``1024``. Raises ValueError."""
    match = _BYTES.fullmatch(text.lower())
    if match is None:
        raise ValueError(f"'{text}' is not a number of bytes; write it as in '64mb'")
    return int(match[1]) << {"k": 10, "m": 20, "g": 30}.get(match[2][:1], 0)


def parse_timestamp(text: str) -> int:
    """Microseconds since the Unix epoch of an ISO date or timestamp, read as UTC. ValueError."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(
            f"'{text}' is not a timestamp; write it as '2026-01-31 10:00:00'"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)
