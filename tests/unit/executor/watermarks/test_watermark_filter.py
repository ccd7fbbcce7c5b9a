from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from kits.executor import ENGINE, Text, chunks, expr, leaf, micros
from tidegate.executor.watermarks.judge import judge
from tidegate.executor.watermarks.watermark_filter import WatermarkFilterExecutor
from tidegate.plan.nodes import Expr, WatermarkFilter
from tidegate.plan.strategies import Adaptive
from tidegate.state import MemoryStateTable
from tidegate.types import (
    END,
    Barrier,
    Chunk,
    Counts,
    FilterState,
    Message,
    Rejected,
    Watermark,
)

TEXT = Text("t BIGINT, __offset BIGINT, __record BLOB")
MINUS_5 = expr('"t" - 5', "BIGINT", "t")


def a_filter(
    strategy: Expr = MINUS_5,
    columns: str = "t BIGINT",
    state: MemoryStateTable | None = None,
    skew_us: int = 0,
    unit_us: int = 1000,
    keep_record: bool = False,
    adaptive: Adaptive | None = None,
) -> WatermarkFilterExecutor:
    below = leaf(columns)
    column = below.schema[0].name
    node = WatermarkFilter(
        below.schema, below, "f1", "acc", column, strategy, skew_us, unit_us, adaptive
    )
    table = state if state is not None else MemoryStateTable()
    return WatermarkFilterExecutor(node, "tab", "s0", ENGINE, table, keep_record=keep_record)


def test_rows_below_the_watermark_are_late_and_those_at_it_are_not() -> None:
    # The example of seed 000: a timeout of 5, and 3 and 7 are outdated when they come.
    got = TEXT.run(a_filter(), "chunk s0: 9 0 a; 3 1 b; 13 2 c; 8 3 d; 7 4 e", "barrier 1")
    assert got == [
        "chunk s0: 9 0; 13 2; 8 3",
        "rejected: late 1 3 4 1; late 4 7 8 1",
        "watermark t 8",
        "watermark t 8",
        "barrier 1",
    ]


def test_ledger_rows_say_all() -> None:
    executor = a_filter()
    (_, rejected, _) = executor.process(TEXT.parse("chunk s0: 9 0 a; 3 1 b"))
    assert isinstance(rejected, Rejected)
    assert rejected.data.to_pylist() == [
        {
            "account": "acc",
            "table": "tab",
            "split": "s0",
            "offset": 1,
            "event_time": 3,
            "watermark": 4,
            "lateness": 1,
            "time_type": "BIGINT",
            "operator": "watermark_filter",
            "reason": "late",
            "record": b"b",
        }
    ]


def test_accepted_chunk_is_not_copied() -> None:
    executor = a_filter()
    message = TEXT.parse("chunk s0: 9 0 a; 10 1 b")
    assert isinstance(message, Chunk)
    out, _ = executor.process(message)
    assert isinstance(out, Chunk)
    before = message.data.column("t").chunk(0).buffers()[1].address
    assert out.data.column("t").chunk(0).buffers()[1].address == before
    assert out.data.column_names == ["t", "__offset"]


def test_it_speaks_in_every_epoch_even_without_rows() -> None:
    executor = a_filter()
    assert TEXT.run(executor, "barrier 1") == ["watermark t none", "barrier 1"]
    assert TEXT.run(executor, "chunk s0: 9 0 a", "barrier 2") == [
        "chunk s0: 9 0",
        "watermark t 4",
        "watermark t 4",
        "barrier 2",
    ]
    assert TEXT.run(executor, "barrier 3") == ["watermark t 4", "barrier 3"]


def test_a_watermark_that_does_not_rise_is_not_emitted() -> None:
    executor = a_filter()
    TEXT.run(executor, "chunk s0: 9 0 a")
    assert TEXT.run(executor, "chunk s0: 9 1 a; 8 2 a") == ["chunk s0: 9 1; 8 2"]


def test_state_survives_a_restart_from_the_barrier() -> None:
    state = MemoryStateTable()
    TEXT.run(a_filter(state=state), "chunk s0: 9 0 a", "barrier 1")
    # Exactly the fields of 0.1, all in one object.
    written = json.loads(state.get("filter:s0") or b"")
    assert written == {
        **dict.fromkeys(["floor", "pending", "advanced_us", "seen_time_max", "first"]),
        **dict.fromkeys(["disorder", "keys", "tail"], ""),
        "watermark": 4,
        "event_time_max": 9,
        "seen": 0,
        "key_count": 0,
    }
    again = a_filter(state=state)
    assert again.snapshot() == FilterState(4, None, 9)
    assert TEXT.run(again, "chunk s0: 3 1 b") == ["rejected: late 1 3 4 1"]


def test_nothing_is_written_before_the_barrier() -> None:
    state = MemoryStateTable()
    TEXT.run(a_filter(state=state), "chunk s0: 9 0 a")
    assert state.get("filter:s0") is None


@pytest.mark.parametrize(
    ("status", "said"), [("idle", "4 idle"), ("finished", "end finished"), ("active", "4")]
)
def test_status_of_the_split(status: str, said: str) -> None:
    got = TEXT.run(a_filter(), "chunk s0: 9 0 a", f"status {status} s0", "barrier 1")
    assert got[2:] == [f"status {status} s0", f"watermark t {said}", "barrier 1"]


def test_null_time_moves_nothing_and_is_quarantined() -> None:
    executor = a_filter(expr('coalesce("t", 100)', "BIGINT", "t"))
    assert TEXT.run(executor, "chunk s0: . 0 a; 1 1 b; . 2 c") == [
        "chunk s0: 1 1",
        "rejected: null_time 0 . . .; null_time 2 . 1 .",
        "watermark t 1",
    ]
    assert executor.counts == Counts(quarantined=2)


def test_future_is_told_by_the_epochs_recorded_time() -> None:
    executor = a_filter(skew_us=2_000_000)  # the column is in milliseconds
    executor.begin_epoch(10_000_000)
    assert TEXT.run(executor, "chunk s0: 12000 0 a; 12001 1 b") == [
        "chunk s0: 12000 0",
        "rejected: future 1 12001 11995 -6",
        "watermark t 11995",
    ]
    executor.begin_epoch(11_000_000)
    assert TEXT.run(executor, "chunk s0: 12001 2 b")[0] == "chunk s0: 12001 2"


BROKERED = Text("t BIGINT, __offset BIGINT, __record BLOB, __broker_time BIGINT")


def test_future_is_told_by_the_brokers_time_where_there_is_one() -> None:
    executor = a_filter(skew_us=2_000_000)
    executor.begin_epoch(10_000_000)
    got = BROKERED.run(
        executor,
        "chunk s0: 12000 0 a .; 12001 1 b .; 3000 2 c 1000000; 2999 3 d 999999; 3001 4 e 1000000",
        f"chunk s0: 20000 5 f 18000000; 20001 6 g {END}",
    )
    assert got == [
        "chunk s0: 12000 0",
        (
            "rejected: future 1 12001 11995 -6; late 2 3000 11995 8995; late 3 2999 11995 8996;"
            " future 4 3001 11995 8994"
        ),
        "watermark t 11995",
        "chunk s0: 20000 5; 20001 6",
        "watermark t 19996",
    ]


def test_only_the_last_filter_ends_what_filters_alone_need() -> None:
    line = "chunk s0: 9 0 a 5; 10 1 b ."
    assert BROKERED.run(a_filter(), line)[0] == "chunk s0: 9 0; 10 1"
    assert BROKERED.run(a_filter(keep_record=True), line)[0] == line


@pytest.mark.parametrize(("skew", "unit"), [(0, 1000), (1, 0)])
def test_future_guard_off(skew: int, unit: int) -> None:
    executor = a_filter(skew_us=skew, unit_us=unit)
    executor.begin_epoch(0)
    assert TEXT.run(executor, "chunk s0: 12001 0 a")[0] == "chunk s0: 12001 0"


def test_counts_and_event_time_max_are_of_what_they_say() -> None:
    executor = a_filter(skew_us=1)
    executor.begin_epoch(100_000)
    TEXT.run(executor, "chunk s0: 90 0 a; 2 1 b; 500 2 c; . 3 d")
    assert executor.counts == Counts(late=1, quarantined=2)
    assert executor.snapshot().event_time_max == 90


def test_behind_merged_is_what_lies_below_the_floor() -> None:
    state = MemoryStateTable()
    state.put("filter:s0", json.dumps({"watermark": 10, "floor": 20}).encode())
    executor = a_filter(state=state)
    got = TEXT.run(executor, "chunk s0: 9 0 a; 10 1 b; 19 2 c; 20 3 d; 22 4 e; 14 5 f; 16 6 g")
    assert got == [
        "chunk s0: 20 3; 22 4",
        (
            "rejected: behind_merged 0 9 20 11; behind_merged 1 10 20 10; behind_merged 2 19 20 1;"
            " behind_merged 5 14 20 6; behind_merged 6 16 20 4"
        ),
    ]
    assert executor.snapshot().watermark == 17
    assert executor.counts == Counts(late=5)
    assert TEXT.run(executor, "chunk s0: 30 7 a")[-1] == "watermark t 25"


def test_a_watermark_that_was_taken_over_is_the_splits_own() -> None:
    executor = a_filter()
    executor.take_over(20)
    executor.take_over(15)
    executor.take_over(None)
    assert TEXT.run(executor, "barrier 1") == ["watermark t 20", "barrier 1"]
    assert TEXT.run(executor, "chunk s0: 19 0 a; 26 1 b") == [
        "chunk s0: 26 1",
        "rejected: behind_merged 0 19 20 1",
        "watermark t 21",
    ]
    assert executor.snapshot() == FilterState(21, 20, 26)


def test_a_late_rows_candidate_is_not_looked_at() -> None:
    # Candidates far above the time: only those of rows on time count.
    executor = a_filter(expr('CASE "t" WHEN 3 THEN 100 ELSE "t" END', "BIGINT", "t"))
    got = TEXT.run(executor, "chunk s0: 9 0 a; 3 1 b; 10 2 c")
    assert got == ["chunk s0: 9 0; 10 2", "rejected: late 1 3 9 6", "watermark t 10"]


def test_a_strategy_that_fails_on_a_row_has_no_candidate_there() -> None:
    executor = a_filter(expr('"t" + 9223372036854775800', "BIGINT", "t"))
    assert TEXT.run(executor, "chunk s0: 9 0 a") == ["chunk s0: 9 0"]
    assert TEXT.run(executor, "barrier 1") == ["watermark t none", "barrier 1"]


def test_data_never_reaches_the_end() -> None:
    executor = a_filter(expr('"t"', "BIGINT", "t"))
    assert TEXT.run(executor, f"chunk s0: {END} 0 a") == [
        f"chunk s0: {END} 0",
        f"watermark t {END - 1}",
    ]


def test_lateness_does_not_wrap_around() -> None:
    executor = a_filter(expr('"t"', "BIGINT", "t"))
    got = TEXT.run(executor, f"chunk s0: {END - 5} 0 a; {-END} 1 b")
    assert got[1] == f"rejected: late 1 {-END} {END - 5} {END}"


@pytest.mark.parametrize(
    ("column", "sql", "type_", "row", "watermark"),
    [
        ("TIMESTAMP", "\"t\" - INTERVAL '1 minute'", "TIMESTAMP", "10:40", "10:39"),
        ("TIMESTAMP", 'epoch_ms("t") - 60000', "BIGINT", "10:40", "10:39"),
        ("TIMESTAMP", 'CAST("t" AS DATE)', "DATE", "10:40", "00:00"),
        ("TIMESTAMP", 'CAST("t" AS TIMESTAMPTZ)', "TIMESTAMP WITH TIME ZONE", "10:40", "10:40"),
        ("TIMESTAMP WITH TIME ZONE", 'CAST("t" AS TIMESTAMP)', "TIMESTAMP", "10:40", "10:40"),
        ("BIGINT", '"t" - 0.5', "DECIMAL(20,1)", "10", "10"),
        ("BIGINT", '"t" - 1.5', "DOUBLE", "10", "9"),
        ("BIGINT", 'CAST("t" - 1 AS INTEGER)', "INTEGER", "10", "9"),
        ("BIGINT", 'make_timestamp("t" * 1000 + 1)', "TIMESTAMP", "10", "11"),
        ("BIGINT", 'make_timestamp("t" * -1000 - 1)', "TIMESTAMP", "10", "-10"),
        ("DECIMAL(10;2)", '"t" - 1', "DECIMAL(11,2)", "10.25", "925"),
        ("DECIMAL(10;2)", '"t" - 0.001', "DECIMAL(13,3)", "10.25", "1025"),
        ("DECIMAL(10;2)", 'CAST("t" AS DOUBLE)', "DOUBLE", "1.10", "110"),
    ],
)
def test_the_strategy_is_converted_to_the_columns_unit(
    column: str, sql: str, type_: str, row: str, watermark: str
) -> None:
    text = Text(f"t {column}, __offset BIGINT, __record BLOB")
    executor = a_filter(expr(sql, type_, "t"), f"t {column}")
    assert text.run(executor, f"chunk s0: {row} 0 a")[1:] == [f"watermark t {watermark}"]


def test_infinity_moves_nothing() -> None:
    text = Text("t TIMESTAMP, __offset BIGINT, __record BLOB")
    infinite = ENGINE.query("SELECT TIMESTAMP 'infinity' AS t, 0::BIGINT AS __offset")
    strategy = expr("\"t\" - INTERVAL '1 minute'", "TIMESTAMP", "t")
    executor = a_filter(strategy, "t TIMESTAMP", unit_us=1)
    assert len(chunks(executor.process(Chunk(infinite, "s0")))) == 1
    assert executor.watermark is None
    assert text.run(executor, "chunk s0: 10:40 1 a")[1:] == ["watermark t 10:39"]
    assert executor.watermark == micros("10:39")


def test_stacked_filters_each_keep_their_own_watermark() -> None:
    text = Text("a BIGINT, b BIGINT, __offset BIGINT, __record BLOB")
    below = leaf("a BIGINT, b BIGINT")
    on_a = WatermarkFilter(below.schema, below, "f1", "acc", "a", expr('"a"', "BIGINT", "a"), 0, 0)
    on_b = WatermarkFilter(below.schema, on_a, "f2", "acc", "b", expr('"b"', "BIGINT", "b"), 0, 0)
    first = WatermarkFilterExecutor(on_a, "t", "s0", ENGINE, MemoryStateTable(), keep_record=True)
    second = WatermarkFilterExecutor(on_b, "t", "s0", ENGINE, MemoryStateTable())

    def both(line: str) -> list[str]:
        results: list[Message] = []
        for message in first.process(text.parse(line)):
            results += second.process(message)
        return [text.show(result) for result in results]

    assert both("chunk s0: 5 9 0 x; 4 20 1 x; 6 8 2 y; 7 9 3 x") == [
        "chunk s0: 5 9 0; 7 9 3",
        "rejected: late 2 8 9 1",
        "watermark b 9",
        "rejected: late 1 4 5 1",
        "watermark a 7",
    ]
    assert both("barrier 1") == ["watermark a 7", "watermark b 9", "barrier 1"]


def test_stacked_filters_on_one_column_never_let_its_watermark_fall() -> None:
    below = leaf("t BIGINT")
    node = WatermarkFilter(below.schema, below, "f2", "acc", "t", MINUS_5, 0, 0)
    upper = WatermarkFilterExecutor(node, "t", "s0", ENGINE, MemoryStateTable())
    assert TEXT.run(upper, "chunk s0: 9 0 a") == ["chunk s0: 9 0", "watermark t 4"]
    assert TEXT.run(upper, "watermark t 8") == []
    assert TEXT.run(upper, "chunk s0: 10 1 a") == ["chunk s0: 10 1", "watermark t 8"]
    assert TEXT.run(upper, "barrier 1") == ["watermark t 8", "barrier 1"]


def test_judge_gives_the_watermark_before_each_row() -> None:
    none = -(2**63)
    before, late, after = judge(
        np.array([9, 3, 13]), np.array([4, -2, 8]), np.array([True, True, False]), None
    )
    assert before.tolist() == [none, 4, 4]
    assert late.tolist() == [False, True, False]
    assert after == 4
    empty = np.array([], dtype=np.int64)
    assert judge(empty, empty, np.array([], dtype=np.bool_), 7)[2] == 7


MEDIAN = Adaptive(0.5, 3, 2_000, 20_000, ((2, 5_000),))  # milliseconds: 2 to 20, 5 for the first 2


def test_source_watermark_follows_the_disorder() -> None:
    executor = a_filter(adaptive=MEDIAN)
    got = TEXT.run(executor, "chunk s0: 10 0 a; 20 1 b; 14 2 c; 30 3 d; 23 4 e; 24 5 f; 23 6 g")
    # Out of order by:   0, 0, 6, 0, 7, 6, 7
    # median of three:   0, 0, 0, 0, 6, 6, 7
    # watermark:         5, 15, 15 (14 is late: its 18 is not looked at), 28, …
    assert got == [
        "chunk s0: 10 0; 20 1; 30 3",
        "rejected: late 2 14 15 1; late 4 23 28 5; late 5 24 28 4; late 6 23 28 5",
        "watermark t 28",
    ]


def test_quarantined_rows_are_no_disorder_and_late_ones_are() -> None:
    executor = a_filter(adaptive=MEDIAN, skew_us=1_000_000)
    executor.begin_epoch(0)
    TEXT.run(executor, "chunk s0: 10 0 a; . 1 b; 5000 2 c; 20 3 d; 1 4 e")
    state = executor.snapshot()
    assert (state.watermark, state.event_time_max) == (15, 20)
    assert (state.measured.seen, state.measured.seen_time_max) == (3, 20)


def test_infinity_is_no_disorder() -> None:
    infinite = ENGINE.query(
        "SELECT unnest(['-infinity'::TIMESTAMP, 'infinity', '1970-01-01 00:00:01']) AS t"
    )
    executor = a_filter(columns="t TIMESTAMP", unit_us=1, adaptive=Adaptive(margins=()))
    assert len(chunks(executor.process(Chunk(infinite, "s0")))) == 1
    assert executor.watermark == 950_000
    assert executor.snapshot().measured.seen == 1


def test_empty_chunk_says_nothing() -> None:
    data = pa.table({"t": pa.array([], pa.int64()), "__offset": pa.array([], pa.int64())})
    assert list(a_filter().process(Chunk(data, "s0"))) == []


@pytest.mark.parametrize(
    ("strategy", "before_us"), [('"pt"', 0), ("\"pt\" - INTERVAL '5' SECOND", 5_000_000)]
)
def test_the_clock_moves_a_processing_time_without_rows(strategy: str, before_us: int) -> None:
    below = leaf("pt TIMESTAMP WITH TIME ZONE")
    how = expr(strategy, "TIMESTAMP WITH TIME ZONE", "pt")
    node = WatermarkFilter(below.schema, below, "f1", "acc", "pt", how, 0, 1, clock=True)
    executor = WatermarkFilterExecutor(node, "tab", "s0", ENGINE, MemoryStateTable())
    said = [next(executor.process(Barrier(n, n * 10_000_000))) for n in (1, 2)]
    assert said == [Watermark("pt", n * 10_000_000 - before_us) for n in (1, 2)]
