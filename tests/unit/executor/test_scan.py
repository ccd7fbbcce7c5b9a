from __future__ import annotations

from typing import Any

import pyarrow as pa

from kits.executor import ENGINE, Text, expr, schema
from tidegate.executor.scan import SplitScan
from tidegate.plan.nodes import Expr, Scan
from tidegate.plan.tables import Table
from tidegate.ports import SourceChunk
from tidegate.types import Chunk, Column, Counts, Rejected

TEXT = Text("id BIGINT, s VARCHAR, __offset BIGINT, __record BLOB")
TABLE = Table("orders", schema("id BIGINT, s VARCHAR"), "filesystem", "json")


def a_scan(*computed: tuple[str, Expr]) -> SplitScan:
    columns = (*TABLE.columns, *(Column(name, expr.type) for name, expr in computed))
    return SplitScan(Scan(columns, TABLE, computed, "orders#2"), "s0", ENGINE)


def source(rows: str, malformed: dict[int, bytes] | None = None) -> SourceChunk:
    bad = malformed or {}
    refused = pa.table(
        {
            "offset": pa.array(list(bad), pa.int64()),
            "record": pa.array(list(bad.values()), pa.binary()),
        }
    )
    return SourceChunk(TEXT.chunk(rows).data, refused, 0)


def shown(scan: SplitScan, chunk: SourceChunk) -> list[str]:
    return [TEXT.show(message) for message in scan.on_source(chunk)]


def test_rows_pass_with_their_split_and_are_counted() -> None:
    scan = a_scan()
    assert shown(scan, source("1 a 0 x; 2 b 1 y")) == ["chunk s0: 1 a 0 x; 2 b 1 y"]
    assert scan.counts == Counts(read=2)


def test_computed_columns_stand_before_the_hidden_ones() -> None:
    scan = a_scan(("d", expr('"id" * 2', "BIGINT", "id")), ("e", expr('"s"', "VARCHAR", "s")))
    assert [column.name for column in scan.node.schema] == ["id", "s", "d", "e"]
    assert shown(scan, source("1 a 0 x; 2 b 1 y")) == ["chunk s0: 1 a 2 a 0 x; 2 b 4 b 1 y"]


def test_the_brokers_time_passes_where_there_is_one() -> None:
    text = Text("id BIGINT, s VARCHAR, __broker_time BIGINT, __offset BIGINT, __record BLOB")
    chunk = SourceChunk(text.chunk("1 a 7 0 x; 2 b . 1 y").data, source("").malformed, 0)
    (passed,) = a_scan().on_source(chunk)
    assert isinstance(passed, Chunk)
    hidden = ["__offset", "__record", "__broker_time"]
    assert passed.data.column_names == ["id", "s", *hidden]
    assert passed.data.column("__broker_time").to_pylist() == [7, None]


def test_what_could_not_be_decoded_goes_to_the_ledger() -> None:
    scan = a_scan()
    (chunk, rejected) = scan.on_source(source("1 a 0 x", {1: b"{", 2: b"}"}))
    assert isinstance(chunk, Chunk)
    assert isinstance(rejected, Rejected)
    row: dict[str, Any] = rejected.data.to_pylist()[0]
    assert row == {
        "account": "orders#2",
        "table": "orders",
        "split": "s0",
        "offset": 1,
        "event_time": None,
        "watermark": None,
        "lateness": None,
        "time_type": None,
        "operator": "scan",
        "reason": "malformed",
        "record": b"{",
    }
    assert scan.counts == Counts(read=3, quarantined=2)


def test_a_row_whose_computed_column_fails_is_malformed_and_a_null_is_not() -> None:
    cast = ("n", expr('CAST("s" AS INTEGER)', "INTEGER", "s"))
    more = ("m", expr('CAST("s" AS INTEGER) + "id"', "BIGINT", "s", "id"))
    scan = a_scan(cast, more)
    assert shown(scan, source("1 7 0 x; 2 b 1 y; 3 . 2 z", {3: b"{"})) == [
        "chunk s0: 1 7 7 8 0 x; 3 . . . 2 z",
        "rejected: malformed 3 . . .; malformed 1 . . .",
    ]
    assert scan.counts == Counts(read=4, quarantined=2)


def test_nothing_for_nothing() -> None:
    assert shown(a_scan(), source("")) == []
    assert shown(a_scan(("n", expr("1", "INTEGER"))), source("")) == []


def test_only_bad_rows() -> None:
    assert shown(a_scan(), source("", {0: b"{"})) == ["rejected: malformed 0 . . ."]
    cast = ("n", expr('CAST("s" AS INTEGER)', "INTEGER", "s"))
    assert shown(a_scan(cast), source("1 a 0 x")) == ["rejected: malformed 0 . . ."]
