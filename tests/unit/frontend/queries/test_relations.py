from __future__ import annotations

from pathlib import Path

import pytest

from kits.frontend import TABLES, job, lines, plan
from tidegate.errors import BindError
from tidegate.frontend import compile

_SECONDS = "INTERVAL '5' SECOND"
_EVENTS = """\
WatermarkFilter events.event.log_ts (events): "event.log_ts" - INTERVAL '5' SECOND
Scan events, event.log_ts = struct_extract("event", 'log_ts')"""


@pytest.mark.parametrize(
    "source",
    [
        "TUMBLE(plain, t, INTERVAL '1' HOUR)",
        "TABLE(TUMBLE(TABLE plain, DESCRIPTOR(t), INTERVAL '1' HOUR))",
        "TUMBLE(TABLE plain, DESCRIPTOR(t), INTERVAL '60 minutes')",
        "TUMBLE(plain, plain.t, INTERVAL '3600' SECONDS) AS w",
        "TUMBLE((SELECT * FROM plain), t, '1 hour')",
        "TUMBLE(plain p, p.t, INTERVAL '1' HOUR, INTERVAL '0' SECOND)",
        "TABLE(TUMBLE(DATA => TABLE plain, TIMECOL => DESCRIPTOR(t), SIZE => INTERVAL '1' HOUR))",
        "TUMBLE(SIZE => '1 hour', OFFSET => '2 hours', TIMECOL => t, DATA => (TABLE plain)) AS w",
    ],
)
def test_forms_of_tumble(source: str) -> None:
    text = plan(f"SELECT window_start FROM {source}")
    assert text.endswith("Tumble t size 3600000000 offset 0\nScan plain")


def test_offsets_are_taken_into_one_window() -> None:
    text = plan("SELECT id FROM TUMBLE(plain, t, INTERVAL '1' MINUTE, INTERVAL '-10' SECOND)")
    assert "Tumble t size 60000000 offset 50000000" in text


@pytest.mark.parametrize(
    ("source", "strategy"),
    [
        (f"WATERMARK(plain, t, t - {_SECONDS})", "\"t\" - INTERVAL '5' SECOND"),
        ("WATERMARK(plain, t, t - '5' SECOND)", "\"t\" - INTERVAL '5' SECOND"),
        (f"WATERMARK(plain, t, {_SECONDS})", "\"t\" - (INTERVAL '5' SECOND)"),
        ("WATERMARK((SELECT * FROM plain), t, t)", '"t"'),
        (
            "WATERMARK(TABLE plain, DESCRIPTOR(t), id)",
            'make_timestamp((CAST("id" AS BIGINT)) * 1000)',
        ),
    ],
)
def test_forms_of_watermark(source: str, strategy: str) -> None:
    text = plan(f"SELECT * FROM {source}")
    assert f"WatermarkFilter plain.t (plain): {strategy}\nScan plain" in text
    assert plan(f"WITH w AS ( {source}, ) SELECT * FROM w") == text


def test_a_nested_time_column_is_a_plan_column_that_star_does_not_show() -> None:
    shown, rest = plan("SELECT * FROM events").split("\n", maxsplit=1)
    assert shown == (
        'Sink print print: event STRUCT(log_ts TIMESTAMP, message VARCHAR, "type" INTEGER)'
    )
    assert rest == f'Project event = "event"\n{_EVENTS}'
    assert plan("SELECT event.log_ts, event.type FROM events").endswith(
        f'Project log_ts = "event.log_ts", type = struct_extract("event", \'type\')\n{_EVENTS}'
    )


def test_a_nested_time_column_passes_through_subqueries() -> None:
    text = plan(
        "SELECT window_end FROM TUMBLE((SELECT *, 1 AS one FROM events), event.log_ts,"
        " INTERVAL '1' HOUR) GROUP BY window_end EMIT ON WINDOW CLOSE"
    )
    assert "Tumble event.log_ts size 3600000000 offset 0" in text


def test_a_time_column_that_is_an_expression_is_projected() -> None:
    text = plan("SELECT id FROM TUMBLE(WATERMARK(plain, to_timestamp(id), "
                f"{_SECONDS}), to_timestamp(id), INTERVAL '1' HOUR)")  # fmt: skip
    assert "Tumble to_timestamp(id) size" in text
    assert "WatermarkFilter plain.to_timestamp(id) (plain)" in text


def test_computed_columns_may_read_computed_columns() -> None:
    compiled = compile(
        "CREATE TABLE x (a AS b + 1, b INT, c AS a * 2) WITH (connector = 'datagen');"
        "SELECT * FROM x",
        "f.sql",
        {},
    )
    assert lines(compiled.sinks[0])[-1] == 'Scan x, a = "b" + 1, c = ("b" + 1) * 2'
    assert [column.name for column in compiled.sinks[0].schema] == ["a", "b", "c"]


def test_the_first_hint_counts_for_every_use() -> None:
    compiled = job(
        "SELECT id FROM plain; SELECT id FROM plain /*+ OPTIONS('path' = 'q') */;"
        " SELECT id FROM plain /*+ OPTIONS('path' = 'r') */"
    )
    tables = {node for sink in compiled.sinks for node in sink.walk() if not node.inputs}
    assert [dict(scan.table.options)["path"] for scan in tables] == [str(Path("q").absolute())]  # type: ignore[attr-defined]


def test_windows_over_windows_take_the_names() -> None:
    text = plan(
        "SELECT window_end, max(n) AS m FROM TUMBLE((SELECT window_end, count(*) AS n FROM"
        " TUMBLE(orders, order_time, INTERVAL '1' HOUR) GROUP BY window_end), window_end,"
        " INTERVAL '1' DAY) GROUP BY window_end EMIT ON WINDOW CLOSE"
    )
    assert 'Project window_end = "window_end", n = "n"' in text
    assert (
        "Tumble window_end#2 size 86400000000 offset 0\n"
        'Project window_end#2 = "window_end", n = "n"\n'
        "Aggregate by window_end closing window_end, n = count(*)"
    ) in text


def test_backquotes_and_case() -> None:
    assert "Scan plain" in plan("SELECT `id`, ID, Plain.T FROM `plain`")
    assert TABLES.count("\n") == 1


def test_windows_in_flinks_form_emit_on_close_unasked() -> None:
    flink = job(
        "SELECT window_start, count(*) AS n"
        " FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(order_time), INTERVAL '1' HOUR))"
        " GROUP BY window_start, window_end"
    )
    risingwave = job(
        "SELECT window_start, count(*) AS n FROM TUMBLE(orders, order_time, INTERVAL '1' HOUR)"
        " GROUP BY window_start, window_end EMIT ON WINDOW CLOSE"
    )
    assert flink.sinks[0].input == risingwave.sinks[0].input


def test_a_column_may_have_the_name_of_a_clock() -> None:
    compiled = compile(
        "CREATE TABLE x (current_time AS proctime(), a INT,"
        " WATERMARK FOR current_time AS current_time - INTERVAL '1' SECOND)"
        " WITH (connector = 'datagen'); SELECT current_time FROM x",
        "f.sql",
        {},
    )
    assert any("WatermarkFilter" in line for line in lines(compiled.sinks[0]))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT db.orders.id FROM db.orders",
        "SELECT c.db.orders.id FROM c.db.orders WHERE `c`.`db`.`orders`.price > 1",
        "SELECT d.orders.id FROM orders JOIN plain ON d.orders.id = c.d.plain.id",
    ],
)
def test_catalogs_in_front_of_a_table_are_left_aside(sql: str) -> None:
    (sink,) = job(sql).sinks
    assert [column.name for column in sink.schema] == ["id"]


def test_what_stands_in_front_of_no_table_is_unknown() -> None:
    with pytest.raises(BindError, match="unknown column 'x'"):
        job("SELECT x.id.y FROM orders")
