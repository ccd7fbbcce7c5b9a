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
_DURATION: Final = re.compile(r"\s*(\d+)\s*([a-zµ]*)\s*", re.IGNORECASE)
_BYTES: Final = re.compile(r"\s*(\d+)\s*(b|bytes|k|kb|m|mb|g|gb|)\s*")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

FORMS: Final = "write a whole number and a unit, as in '500ms', '5 s', '1min', '2 h', '7 d'"


def parse_duration(text: str) -> int:
    """Microseconds of ``text``: ``1min``, ``5 s``, ``1 h``, ``500ms``; ``0`` needs no unit.

    A bare number is milliseconds, as in Flink. Raises ValueError that says what was expected.
    """
    match = _DURATION.fullmatch(text)
    unit = match[2].lower() or "ms" if match else ""
    if match is None or unit not in _US_OF:
        raise ValueError(f"'{text}' is not a duration; {FORMS}")
    duration_us = int(match[1]) * _US_OF[unit]
    if duration_us > 2**62:
        raise ValueError(f"'{text}' is too long a duration")
    return duration_us


def parse_bytes(text: str) -> int:
    """Bytes of ``text``: ``64mb``, ``1 gb``, ``1024``. Raises ValueError."""
    match = _BYTES.fullmatch(text.lower())
    if match is None:
        raise ValueError(f"'{text}' is no number of bytes; write it as in '64mb'")
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
