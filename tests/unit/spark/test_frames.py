from __future__ import annotations

import pyarrow as pa
import pytest

from tidegate.dataframes import filter_of
from tidegate.errors import RunError
from tidegate.executor.watermarks.marks import marking
from tidegate.spark import frames
from tidegate.spark.exchange.ipc import packed, unpacked
from tidegate.spark.frames import Marking, judged, parts_of

NODE = marking(filter_of([("t", "BIGINT")], "t", "t", "us", "0"))
HOW = Marking(NODE, ("split",), ("day", "number"), ("w", "why"))


def part(*rows: tuple[int, int, int]) -> bytes:
    """Rows of (day, number, t) in an epoch of time 7."""
    days, numbers, times = (list(column) for column in zip(*rows, strict=True))
    epoch = pa.array([7] * len(rows), pa.timestamp("us", "UTC"))
    data = {"day": days, "number": numbers, "t": times, frames._TIME: epoch}
    return packed(pa.table(data), "lz4")


def test_rows_are_taken_apart_by_split_in_their_order() -> None:
    topics = ["a", "b", "a", None, "a"]
    data = pa.table({"topic": topics, "part": [0, 0, 1, 0, 0], "n": [0, 1, 2, 3, 4]})
    found = {name: rows.column("n").to_pylist() for name, rows in parts_of(data, ("topic", "part"))}
    assert found == {'["a", 0]': [0, 4], '["a", 1]': [2], '["b", 0]': [1], "[null, 0]": [3]}
    assert [rows.num_rows for _, rows in parts_of(data, ("n",))] == [1] * 5
    assert list(parts_of(data.slice(0, 0), ("topic",))) == []


def test_an_epoch_is_judged_in_the_order_of_its_columns() -> None:
    state, bodies = judged(HOW, "a", [part((1, 2, 30), (2, 1, 20)), part((1, 1, 10))], None)
    (found,) = [unpacked(body) for body in bodies]
    assert found.column("t").to_pylist() == [10, 30, 20]
    assert found.column("why").to_pylist() == [None, None, "late"]
    assert found.column_names == ["day", "number", "t", "w", "why"]
    _, bodies = judged(HOW, "a", [part((3, 1, 29))], state)
    (found,) = [unpacked(body) for body in bodies]
    assert found.column("why").to_pylist() == ["late"]
    _, bodies = judged(HOW, "a", [part((3, 1, 29))], None)
    (found,) = [unpacked(body) for body in bodies]
    assert found.column("why").to_pylist() == [None]


def test_a_row_without_an_order_is_no_verdict() -> None:
    data = unpacked(part((1, 1, 10), (2, 2, 20)))
    data = data.set_column(1, "number", pa.array([1, None], pa.int64()))
    with pytest.raises(RunError, match="split a has a row whose 'number' is NULL") as caught:
        judged(HOW, "a", [packed(data, "lz4")], None)
    assert "isNotNull" in caught.value.hint


@pytest.mark.parametrize(("zone", "hours"), [("UTC", 0), ("Europe/Zurich", -1)])
def test_a_strategy_is_in_its_time_zone(zone: str, hours: int) -> None:
    columns = [("t", "TIMESTAMP WITH TIME ZONE")]
    node = marking(filter_of(columns, "t", "date_trunc('day', t)", None, "0", zone))
    day, hour = 19_000 * 24, 3_600_000_000
    times = [(day + 12) * hour, (day + 13) * hour]
    data = {
        "n": [0, 1],
        "t": pa.array(times, pa.timestamp("us", "UTC")),
        frames._TIME: pa.array(times, pa.timestamp("us", "UTC")),
    }
    how = Marking(node, ("n",), ("n",), ("w", "why"), zone)
    _, bodies = judged(how, "a", [packed(pa.table(data), "lz4")], None)
    (found,) = [unpacked(body) for body in bodies]
    assert found.column("w").cast(pa.int64()).to_pylist() == [None, (day + hours) * hour]


def test_what_is_large_goes_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    data = unpacked(part(*((1, number, number) for number in range(1_000))))
    assert len(list(frames._sliced(data))) == 1
    monkeypatch.setattr(frames, "_BODY_BYTES_MAX", 4096)
    bodies = list(frames._sliced(data))
    assert len(bodies) > 5
    assert pa.concat_tables(map(unpacked, bodies)).equals(data)
