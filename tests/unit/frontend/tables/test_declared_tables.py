from __future__ import annotations

import pytest

from kits.frontend import BROKER, filters_of, kafka_job, tables_of
from tidegate.frontend import compile

_WINDOWS = "GROUP BY window_start EMIT ON WINDOW CLOSE"


def test_the_default_watermark_is_on_rowtime() -> None:
    (found,) = filters_of(
        kafka_job(
            f"SELECT window_start FROM TUMBLE(clicks, $rowtime, INTERVAL '1' MINUTE) {_WINDOWS}"
        )
    )
    assert (found.id, found.unit_us) == ("clicks.$rowtime", 1)
    assert found.adaptive is not None


def test_a_declared_watermark_takes_its_place() -> None:
    (found,) = filters_of(kafka_job("SELECT * FROM carts ORDER BY ts EMIT ON WINDOW CLOSE"))
    assert found.column == "ts"


@pytest.mark.slow
def test_a_watermark_of_the_query_takes_its_place_too() -> None:
    for source in ("clicks", "(SELECT * FROM clicks WHERE $rowtime IS NOT NULL)", "v", "w"):
        compiled = kafka_job(
            "CREATE VIEW v AS SELECT * FROM clicks; WITH w AS (SELECT * FROM clicks)"
            f" SELECT window_start FROM TUMBLE(WATERMARK({source}, ts, ts - '1' MINUTE), ts,"
            f" INTERVAL '1' MINUTE) {_WINDOWS}"
        )
        assert [found.column for found in filters_of(compiled)] == ["ts"]


def test_queries_of_one_table_may_have_different_watermarks_and_read_it_once() -> None:
    compiled = kafka_job(
        "SELECT window_start FROM TUMBLE(WATERMARK(clicks, ts, ts), ts, INTERVAL '1' MINUTE)"
        f" {_WINDOWS}; SELECT * FROM clicks ORDER BY $rowtime EMIT ON WINDOW CLOSE"
    )
    assert [found.id for found in filters_of(compiled)] == ["clicks.ts", "clicks#2.$rowtime"]
    assert list(tables_of(compiled)) == ["clicks"]


@pytest.mark.slow
def test_idle_timeouts_of_the_job_and_of_tables() -> None:
    sql = (
        f"CREATE TABLE own (id INT) WITH ({BROKER}, topic = 'o', format = 'json',"
        " scan.watermark.idle-timeout = '1min'); CREATE TABLE files (id INT) WITH (connector ="
        " 'filesystem', path = 'p', format = 'json'); SELECT * FROM own; SELECT * FROM clicks;"
        " SELECT * FROM files; CREATE TABLE watched (id INT) WITH (connector = 'filesystem', path ="
        " 'w', format = 'json', source.monitor_interval = '1s'); SELECT * FROM watched;"
        " SELECT * FROM carts /*+ OPTIONS('scan.watermark.idle-timeout' ="
        " '2 s') */"
    )
    option = "scan.watermark.idle-timeout"
    with_setting = tables_of(kafka_job(sql, **{"table.exec.source.idle-timeout": "30 s"}))
    assert {name: table.option(option) for name, table in with_setting.items()} == {
        "own": "1min",
        "clicks": "30 s",
        "files": "",
        "watched": "30 s",
        "carts": "2 s",
    }
    for off in ({}, {"table.exec.source.idle-timeout": "0 ms"}):
        assert tables_of(kafka_job(sql, **off))["clicks"].option(option) == ""


def test_references_to_secrets_stay_references() -> None:
    compiled = compile(
        f"CREATE TABLE s (id INT) WITH ({BROKER}, topic = '${{env:TOPIC}}', format = 'json',"
        " properties.sasl.password = '${file:/run/secret}'); SELECT * FROM s",
        "f.sql",
        {},
    )
    table = tables_of(compiled)["s"]
    assert table.option("topic") == "${env:TOPIC}"
    assert table.option("properties.sasl.password") == "${file:/run/secret}"


def test_formats_of_kafka() -> None:
    found = {}
    for name, format_ in (
        ("a", "WITH ({}, topic = 'x') FORMAT PLAIN ENCODE AVRO (schema.registry = 'http://r')"),
        ("b", "WITH ({}, topic = 'x') FORMAT PLAIN ENCODE BYTES"),
        ("c", "WITH ({}, topic = 'x', value.format = 'csv')"),
        ("d", "WITH ({}, topic = 'x', value.format = 'csv') FORMAT PLAIN ENCODE JSON"),
        ("e", "WITH ({}, topic = 'x', format = 'avro')"),
    ):
        sql = f"CREATE TABLE k (v BYTES) {format_.format(BROKER)}; SELECT * FROM k"
        found[name] = tables_of(compile(sql, "f.sql", {}))["k"]
    assert {name: table.format for name, table in found.items()} == {
        "a": "avro-confluent",
        "b": "raw",
        "c": "csv",
        "d": "csv",
        "e": "avro",
    }
    assert found["a"].option("avro-confluent.url") == "http://r"
