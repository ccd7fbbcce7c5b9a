from __future__ import annotations

import pytest

from kits.frontend import BROKER, filters_of, kafka_job
from tidegate.frontend import compile

_SELECTS = (
    "SELECT * FROM clicks",
    "SELECT $rowtime, url FROM clicks WHERE id > 1",
    "CREATE VIEW v AS SELECT *, $rowtime AS t FROM clicks; SELECT t FROM v",
)
_WAITING = (
    "SELECT date_trunc('hour', $rowtime), count(*) FROM clicks GROUP BY 1 EMIT ON WINDOW CLOSE",
    "SELECT * FROM clicks ORDER BY $rowtime EMIT ON WINDOW CLOSE",
    "SELECT id, CURRENT_WATERMARK($rowtime) FROM clicks",
)


@pytest.mark.parametrize("sql", _SELECTS)
def test_a_query_that_waits_for_nothing_loses_no_row(sql: str) -> None:
    assert filters_of(kafka_job(sql)) == []


@pytest.mark.parametrize("sql", _WAITING)
def test_a_query_that_waits_has_it(sql: str) -> None:
    (found,) = filters_of(kafka_job(sql))
    assert found.strategy.text == "SOURCE_WATERMARK() by default"


def test_each_query_of_a_file_for_itself() -> None:
    copy, sort = kafka_job(f"{_SELECTS[0]}; {_WAITING[1]}").sinks
    assert [type(node).__name__ for node in copy.walk()] == ["Scan", "Project", "Sink"]
    assert "WatermarkFilter" in [type(node).__name__ for node in sort.walk()]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM carts",
        "SELECT * FROM WATERMARK(clicks, $rowtime, SOURCE_WATERMARK())",
        (
            "ALTER TABLE clicks MODIFY WATERMARK FOR $rowtime AS SOURCE_WATERMARK();"
            " SELECT * FROM clicks"
        ),
    ],
)
def test_what_somebody_declared_stays(sql: str) -> None:
    assert len(filters_of(kafka_job(sql))) == 1


def test_an_aligned_table_has_it_always() -> None:
    table = (
        f"CREATE TABLE k (id INT) WITH ({BROKER}, topic = 'k', format = 'json',"
        " scan.watermark.alignment.group = 'g', scan.watermark.alignment.max-drift = '1min');"
    )
    (found,) = filters_of(compile(table + "SELECT * FROM k", "f.sql", {}))
    assert found.column == "$rowtime"


def test_it_can_be_turned_off() -> None:
    table = f"CREATE TABLE k (id INT) WITH ({BROKER}, topic = 'k', format = 'json', {{}} = 'none');"
    sql = table.format("scan.watermark.default") + "SELECT id, $rowtime FROM k"
    assert filters_of(compile(sql, "f.sql", {})) == []
