from __future__ import annotations

import pytest

from kits.frontend import BROKER, filters_of, kafka_job
from tidegate.frontend import compile
from tidegate.frontend.tables.watermarks import is_default
from tidegate.plan.nodes import WatermarkFilter
from tidegate.plan.strategies import Adaptive


def _filter(columns: str, options: str = "", **settings: str) -> WatermarkFilter:
    sql = f"CREATE TABLE k ({columns}) WITH ({BROKER}, topic = 'k', format = 'json'{options});"
    (found,) = filters_of(compile(sql + "SELECT * FROM k", "f.sql", settings))
    return found


@pytest.mark.parametrize("type_", ["TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", "BIGINT", "DECIMAL(18, 6)"])
def test_source_watermark_on_every_time(type_: str) -> None:
    unit = ", scan.watermark.unit = 's'" * type_.startswith("DECIMAL")
    found = _filter(f"t {type_}, WATERMARK FOR t AS SOURCE_WATERMARK()", unit)
    assert found.adaptive == Adaptive()
    assert (found.strategy.sql, found.strategy.text) == ('"t"', "SOURCE_WATERMARK()")
    assert not is_default(found)


def test_the_figures_are_options() -> None:
    found = _filter(
        "t TIMESTAMP, WATERMARK FOR t AS source_watermark()",
        ", scan.watermark.source.quantile = '0.5', scan.watermark.source.records = 100,"
        " scan.watermark.source.delay.min = '1 s', scan.watermark.source.delay.max = '1 h',"
        " scan.watermark.source.margins = '10:1min,20:5s'",
    )
    assert found.adaptive == Adaptive(
        0.5, 100, 1_000_000, 3_600_000_000, ((10, 60_000_000), (20, 5_000_000))
    )


def test_source_watermark_of_a_query() -> None:
    (found,) = filters_of(kafka_job("SELECT * FROM WATERMARK(clicks, ts, SOURCE_WATERMARK())"))
    assert found.column == "ts"
    assert found.adaptive == Adaptive()


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_the_systems_watermark_is_the_sources(zone: str) -> None:
    found = _filter(
        "id INT, rowtime AS SYSTEM_ROWTIME(), WATERMARK FOR rowtime AS SYSTEM_WATERMARK()",
        **{"table.local-time-zone": zone},
    )
    assert found.adaptive == Adaptive()
    assert found.strategy.text == "SYSTEM_WATERMARK()"
    assert found.column_of("rowtime").type == "TIMESTAMP"
    (scan,) = found.inputs
    (computed,) = scan.computed  # type: ignore[attr-defined]
    assert computed[1].sql == "timezone('UTC', \"metadata.timestamp\")"
    assert scan.table.metadata == (("metadata.timestamp", "timestamp"),)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "settings", "periodic_us"),
    [
        ("", {}, 0),
        (", scan.watermark.emit.strategy = 'on-event'", {}, 0),
        (", scan.watermark.emit.strategy = 'on-periodic'", {}, 200_000),
        (
            ", scan.watermark.emit.strategy = 'on-periodic'",
            {"pipeline.auto-watermark-interval": "1 s"},
            1_000_000,
        ),
        (
            ", scan.watermark.emit.strategy = 'on-periodic'",
            {"pipeline.auto-watermark-interval": "0"},
            0,
        ),
        ("", {"pipeline.auto-watermark-interval": "1 s"}, 0),
    ],
)
def test_when_it_is_emitted(options: str, settings: dict[str, str], periodic_us: int) -> None:
    found = _filter("t TIMESTAMP, WATERMARK FOR t AS t", options, **settings)
    assert found.periodic_us == periodic_us


def test_a_hint_says_when_it_is_emitted() -> None:
    (found,) = filters_of(
        kafka_job(
            "SELECT * FROM carts /*+ OPTIONS('scan.watermark.emit.strategy' = 'on-periodic') */"
        )
    )
    assert found.periodic_us == 200_000


def test_a_bigint_is_milliseconds_of_a_timestamp() -> None:
    found = _filter("t TIMESTAMP_LTZ(3), ms BIGINT, WATERMARK FOR t AS ms - 1000")
    assert found.strategy.sql == 'make_timestamptz((CAST("ms" - 1000 AS BIGINT)) * 1000)'


def test_the_processing_time_carries_its_own_watermark() -> None:
    sql = (
        "CREATE TABLE u (n STRING, pt AS PROCTIME(), WATERMARK FOR pt AS pt) WITH (connector ="
        " 'datagen'); SELECT window_end, count(*) FROM TABLE(TUMBLE(TABLE u, DESCRIPTOR(pt),"
        " INTERVAL '1' MINUTE)) GROUP BY window_start, window_end"
    )
    (found,) = filters_of(compile(sql, "f.sql", {}))
    assert (found.column, found.strategy.sql) == ("pt", '"pt"')
