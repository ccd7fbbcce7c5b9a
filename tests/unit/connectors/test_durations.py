"""Durations and timestamps as Flink's users write them."""

from __future__ import annotations

import pytest

from tidegate.connectors.durations import parse_duration, parse_timestamp


@pytest.mark.parametrize(
    ("text", "duration_us"),
    [
        ("1min", 60_000_000),
        ("5 s", 5_000_000),
        ("1 h", 3_600_000_000),
        ("500ms", 500_000),
        ("0", 0),
        ("250", 250_000),
        ("7 days", 7 * 86_400_000_000),
        (" 2 MINUTES ", 120_000_000),
        ("3us", 3),
        ("1h 30min", 5_400_000_000),
        ("1min30s", 90_000_000),
        ("PT1M30S", 90_000_000),
        ("p1dt2h", 93_600_000_000),
        ("PT0.25S", 250_000),
    ],
)
def test_durations(text: str, duration_us: int) -> None:
    assert parse_duration(text) == duration_us


@pytest.mark.parametrize(
    "text", ["", "s", "-5 s", "1.5 s", "5 parsecs", "5 s 3", "PT", "P", "PT1.5M", "9" * 30]
)
def test_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


def test_timestamps() -> None:
    assert parse_timestamp("1970-01-01 00:00:01") == 1_000_000
    assert parse_timestamp("1970-01-01T01:00:00+01:00") == 0
    with pytest.raises(ValueError, match="'soon' is not a timestamp"):
        parse_timestamp("soon")
