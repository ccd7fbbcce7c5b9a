from __future__ import annotations

import pyarrow as pa
import pytest

from kits.executor import ENGINE
from tidegate.plan.ledger import NAMES, ledger_sql
from tidegate.types import LEDGER_SCHEMA

ROWS = pa.Table.from_pylist(
    [
        {"table": "a", "offset": 7, "event_time": 1_500_000, "time_type": "TIMESTAMP"},
        {"table": "b", "event_time": 15, "lateness": 3, "time_type": "BIGINT"},
        {"table": "c", "record": b"\xff{"},
        {"table": "d", "record": "ä".encode()},
    ],
    schema=LEDGER_SCHEMA,
)


def values(name: str, type_: str, rows: pa.Table = ROWS) -> list[object]:
    sql = f"SELECT {ledger_sql(name, type_)} AS v FROM rejected"
    found: list[object] = ENGINE.query(sql, {"rejected": rows}).column("v").to_pylist()
    return found


def test_every_column_can_be_text() -> None:
    for name in NAMES:
        assert len(values(name, "VARCHAR")) == 4


def test_a_moment_is_one_in_any_type_and_a_number_is_none() -> None:
    assert values("event_time", "BIGINT") == [1_500_000, 15, None, None]
    assert values("event_time", "VARCHAR") == ["1970-01-01 00:00:01.5", "15", None, None]
    (moment, *others) = values("event_time", "TIMESTAMP")
    assert str(moment) == "1970-01-01 00:00:01.500000"
    assert others == [None, None, None]
    (moment, *others) = values("event_time", "TIMESTAMP WITH TIME ZONE")
    assert str(moment) == "1970-01-01 00:00:01.500000+00:00"
    assert others == [None, None, None]


def test_a_moment_of_before_our_era_is_a_text_that_is_read_back() -> None:
    moments = [-62_198_755_199_500_000, -62_198_755_200_000_000, 253_402_300_800_000_001]
    given = [{"event_time": each, "time_type": "TIMESTAMP"} for each in moments]
    texts = values("event_time", "VARCHAR", pa.Table.from_pylist(given, LEDGER_SCHEMA))
    assert texts == [
        *("0002-01-01 (BC) 00:00:00.5", "0002-01-01 (BC) 00:00:00", "10000-01-01 00:00:00.000001"),
    ]


def test_a_record_is_bytes_or_text() -> None:
    assert values("record", "BLOB") == [None, None, b"\xff{", "ä".encode()]
    assert values("record", "VARCHAR") == [None, None, "\\xFF{", "ä"]


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(KeyError):
        ledger_sql("price", "BIGINT")
