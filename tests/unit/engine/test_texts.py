"""Texts that are times, and those that only look like them: as PostgreSQL reads them, or NULL."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

import numpy as np
import pyarrow as pa
import pytest

from tidegate.engine.engine import Engine
from tidegate.engine.texts import READS

ENGINE = Engine()
ONE = datetime(2024, 5, 1, 1)
BC_US = int(np.datetime64("-2023-05-01T02:00:00", "us").astype("int64"))
"""2024-05-01 02:00:00 BC in microseconds: 1 BC is the year 0 there."""


def read(type_: str, *texts: str | None, engine: Engine = ENGINE) -> list[object]:
    table = pa.table({"t": pa.array(texts, pa.string())})
    found = engine.query(f"SELECT {READS[type_]}(t) AS v FROM texts", {"texts": table})
    values: list[object] = found.column("v").to_pylist()
    return values


GOOD: dict[str, datetime] = {
    "2024-05-01 01:00:00": ONE,
    "2024-05-01T01:00": ONE,
    " 2024/5/1   1:0:0 ": ONE,
    "2024-05-01 01:00:00 AM": ONE,
    "2024-05-01 01:00:00 PM": ONE.replace(hour=13),
    "2024-05-01 1:00pm": ONE.replace(hour=13),
    "2024-05-01 12:30:00 AM": ONE.replace(hour=0, minute=30),
    "2024-05-01 12:30 PM": ONE.replace(hour=12, minute=30),
    "2024-05-01 01:00:00.1234567": ONE.replace(microsecond=123456),
    "2024-05-01 01:00:00 AD": ONE,
    "2024-05-01": ONE.replace(hour=0),
    "2024-05-01 24:00:00": ONE.replace(day=2, hour=0),
    "1970-01-01": datetime(1970, 1, 1),
    "9999-12-31 23:59:59.999999": datetime(9999, 12, 31, 23, 59, 59, 999999),
}
ZONED: dict[str, int] = {
    "2024-05-01 01:00:00Z": 1,
    "2024-05-01 01:00:00 Z": 1,
    "2024-05-01 01:00:00 UTC": 1,
    "2024-05-01 03:00:00+02": 1,
    "2024-05-01 03:00:00 +02": 1,
    "2024-05-01 03:00:00+0200": 1,
    "2024-05-01 03:00:00 PM +02:00": 13,
    "2024-05-01 03:00:00 Europe/Berlin": 1,
}
"""And the hour of UTC that it is."""
BAD = [
    *("", " ", "x", "now", "today", "epoch", "infinity", "-infinity", "NaN"),
    *("2024-05-01 03:00:00 foo", "2024-05-01 01:00:00 Europe/Berln", "2024-05-01 13:00 PM"),
    *("2024-05-01 01:00:00 999", "2024-05-01 01:00:00 +05+05", "2024-05-01 01:00:00 PM PM"),
    *("2024-05-01 01", "2024-05-01 PM", "2024-05-01 Z", "24-05-01", "20240501", "May 1 2024"),
    *("2024-02-30", "2024-13-01", "2024-05-01 25:00:00", "2024-05-01 23:61", "2024-05-01,01:00"),
    *("2024-05-01 01:00:", "2024-05-01 01:00:00;", "2024-05-01 01:00:00 BC BC", "1714521600000"),
    *("+2024-05-01 BC", "999999999-01-01", "２０２４-05-01", "2024-05-01\x00", "'2024-05-01'"),
]


@pytest.mark.parametrize("type_", READS)
def test_what_is_longer_than_a_time_is_none_at_once(type_: str) -> None:
    """A megabyte in the place of a zone took DuckDB a minute: it looked for the nearest name."""
    texts = [f"2024-05-01 01:00:00 {'ab' * 500_000}", f"2024-05-01{' ' * 500_000}x"]
    assert read(type_, *texts) == [None, None]


def test_moments() -> None:
    assert read("TIMESTAMP", *GOOD) == list(GOOD.values())
    stamped = [value.replace(tzinfo=UTC) for value in GOOD.values()]
    assert read("TIMESTAMP WITH TIME ZONE", *GOOD) == stamped
    assert read("DATE", *GOOD) == [value.date() for value in GOOD.values()]


def test_zones() -> None:
    hours = [ONE.replace(hour=hour, tzinfo=UTC) for hour in ZONED.values()]
    assert read("TIMESTAMP WITH TIME ZONE", *ZONED) == hours
    plain = [text.replace("PM", "")[:16] for text in ZONED]
    wanted = [datetime.fromisoformat(text) for text in plain]
    wanted[6] = wanted[6].replace(hour=15)
    assert read("TIMESTAMP", *ZONED) == wanted, "the zone changes nothing where the type has none"


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("2024-05-01 01:00:00 America/New_York", 5),
        ("2024-05-01 01:00 PM America/New_York", 17),
        ("2024-05-01 01:00:00 Asia/Baghdad", -2),
        ("2024-05-01T01:00:00z", 1),
        ("+2024-05-01 01:00:00+15:59", -15),
    ],
)
def test_zones_that_begin_as_other_words(text: str, hour: int) -> None:
    """America was AM and a zone called erica."""
    (found,) = read("TIMESTAMP WITH TIME ZONE", text)
    assert isinstance(found, datetime)
    assert (found - datetime(2024, 5, 1, tzinfo=UTC)) // timedelta(hours=1) == hour
    assert read("TIMESTAMP", text) == [ONE.replace(hour=13 if "PM" in text else 1)]


@pytest.mark.parametrize("offset", ["+16", "-99", "+02:60", "+02:30:60", "+1:00", "+"])
@pytest.mark.parametrize("type_", READS)
def test_offsets_that_there_are_not(type_: str, offset: str) -> None:
    assert read(type_, f"2024-05-01 01:00:00{offset}") == [None]


def test_a_text_without_a_zone_is_in_the_session_s() -> None:
    berlin = Engine("Europe/Berlin")
    for text in ("2024-05-01 03:00:00", "2024-05-01 03:00:00 AM", "2024-05-01 01:00 Z"):
        (found,) = read("TIMESTAMP WITH TIME ZONE", text, engine=berlin)
        assert found == ONE.replace(tzinfo=UTC), text


@pytest.mark.parametrize("text", ["2024-05-01 02:00:00 BC", "2024-05-01 (BC) 02:00:00"])
def test_before_christ(text: str) -> None:
    sql = f"SELECT epoch_us({READS['TIMESTAMP']}('{text}')) AS v"
    assert ENGINE.query(sql).column("v").to_pylist() == [BC_US]


@pytest.mark.parametrize("type_", READS)
def test_what_is_no_time(type_: str) -> None:
    assert read(type_, *BAD, None) == [None] * (len(BAD) + 1)


def test_times_of_day() -> None:
    texts = {
        "01:02": time(1, 2),
        "1:02:03.5": time(1, 2, 3, 500_000),
        "01:00 PM": time(13),
        "12:00:00am": time(0),
        "2024-05-01 07:08:09": time(7, 8, 9),
        "01:00:00+02": time(1),
        "01:00 Europe/Berlin": time(1),
        "2024-05-01 01:00:00 Asia/Baghdad": time(1),
        "2024-05-01\n01:00 PM": time(13),
    }
    assert read("TIME", *texts) == list(texts.values())
    assert read("TIME", "01:00 foo", "1", "01:00:00 PM 1", "13:00 PM") == [None] * 4
    odd = ("2024-02-30 10:00", "10:00 BC", "10:00+99", "10:00 Europe/Berln", "", "2024-05-01")
    assert read("TIME", *odd) == [None] * 6


def test_dates_of_any_year() -> None:
    texts = ["500000-01-01", "5881580-07-10", "5877642-06-25 (BC)"]
    sql = f"SELECT {READS['DATE']}(t)::VARCHAR AS v FROM (SELECT unnest({texts}) AS t)"
    assert ENGINE.query(sql).column("v").to_pylist() == texts
    assert read("DATE", "2024-05-01 23:00:00 -05") == [date(2024, 5, 1)]
