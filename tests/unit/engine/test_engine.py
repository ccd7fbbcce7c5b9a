from __future__ import annotations

import datetime as dt

import duckdb
import pyarrow as pa
import pytest

from kits.executor import schema
from tidegate.engine.engine import Engine, engine_of, shared_engine
from tidegate.plan.user_functions import UserFunction


@pytest.mark.slow
def test_tables_are_visible_under_their_names_and_only_for_the_query() -> None:
    engine = Engine()
    data = pa.table({"v": [3, 1, 2]})
    assert engine.query("SELECT v + 1 AS w FROM d", {"d": data}).to_pydict() == {"w": [4, 2, 3]}
    with pytest.raises(duckdb.Error):
        engine.query("SELECT * FROM d")


@pytest.mark.slow
def test_tables_leave_also_when_the_query_fails() -> None:
    engine = Engine()
    with pytest.raises(duckdb.Error):
        engine.query("SELECT nothing FROM d", {"d": pa.table({"v": [1]})})
    with pytest.raises(duckdb.Error):
        engine.query("SELECT v FROM d")


@pytest.mark.parametrize("shift", [0, 1])
def test_an_error_that_quotes_half_a_character_is_an_error_like_others(shift: int) -> None:
    row = '{"a":1,"a":2,"z":"' + "x" * shift + "é" * 40 + '"}'
    with pytest.raises(duckdb.Error):
        Engine().query(
            """SELECT json_transform_strict(line, '{"a":"INTEGER"}') FROM d""",
            {"d": pa.table({"line": [row]})},
        )


def test_the_epoch_time_is_what_it_was_set_to() -> None:
    engine = Engine()
    engine.set_epoch_time(1_500_000)
    (value,) = engine.query("SELECT getvariable('epoch_time') AS t").column("t").to_pylist()
    assert value == dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "COPY (SELECT 1) TO '/tmp/tidegate-must-not-exist'",
        "INSTALL httpfs",
        "SET threads = 2",
    ],
)
def test_users_expressions_see_no_files_network_or_settings(sql: str) -> None:
    with pytest.raises(duckdb.Error):
        Engine().query(sql)


def test_try_holds_where_expressions_share_a_part() -> None:
    # The optimizer that is off would take the shared CAST out of TRY, and the row fail the query.
    sql = "SELECT TRY(CAST(s AS INTEGER) + CAST(s AS INTEGER)) AS v FROM d"
    assert Engine().query(sql, {"d": pa.table({"s": ["2", "x"]})}).column("v").to_pylist() == [
        4,
        None,
    ]


@pytest.mark.slow
def test_the_session_time_zone() -> None:
    sql = "SELECT CAST(CAST(TIMESTAMPTZ '2022-10-20 10:00:00+00' AS TIMESTAMP) AS VARCHAR) AS t"
    for zone, hour in (("UTC", 10), ("Europe/Berlin", 12)):
        assert Engine(zone).query(sql).column("t").to_pylist() == [f"2022-10-20 {hour}:00:00"]


@pytest.mark.slow
def test_empty_tables_have_the_declared_types() -> None:
    got = Engine().empty(schema("t TIMESTAMP, d DECIMAL(10;2), s VARCHAR"))
    assert got.num_rows == 0
    assert got.schema.names == ["t", "d", "s"]
    assert [str(kind) for kind in got.schema.types] == [
        "timestamp[us]",
        "decimal128(10, 2)",
        "string",
    ]
    assert Engine().arrow_schema(()) == pa.schema([])


def test_jobs_share_an_engine_unless_they_have_functions() -> None:
    twice = UserFunction("twice", ("BIGINT",), "BIGINT", "def twice(x): return 2 * x", "twice")
    assert engine_of("UTC", ()) is shared_engine()
    assert engine_of("Europe/Berlin", ()) is shared_engine("Europe/Berlin") is not shared_engine()
    assert engine_of("UTC", (twice,)) is not shared_engine()
    with pytest.raises(duckdb.Error):
        shared_engine().query("SELECT twice(1)")


@pytest.mark.slow
@pytest.mark.parametrize("error", [duckdb.FatalException, duckdb.InternalException])
def test_an_engine_whose_database_is_invalid_has_a_new_one(
    error: type[duckdb.Error], monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB answers nothing after such an error; what was set and declared is there again."""
    twice = UserFunction("twice", ("BIGINT",), "BIGINT", "def twice(n): return 2 * n", "twice")
    engine = Engine("Europe/Berlin", (twice,))
    engine.set_epoch_time(1_000_000)
    engine.declare(UserFunction("thrice", ("BIGINT",), "BIGINT", "", "thrice"))
    monkeypatch.setattr(engine, "_connection", _Invalid(error))
    with pytest.raises(error):
        engine.query("SELECT 1")
    table = engine.query("SELECT twice(v) AS v FROM d", {"d": pa.table({"v": [1]})})
    assert table.column("v").to_pylist() == [2]
    assert engine.query("SELECT typeof(thrice(1)) AS t LIMIT 0").schema.names == ["t"]
    (row,) = engine.query(
        "SELECT epoch(getvariable('epoch_time')) AS s, current_setting('TimeZone') AS z"
    ).to_pylist()
    assert row == {"s": 1.0, "z": "Europe/Berlin"}
    with pytest.raises(duckdb.Error):
        engine.query("SET threads = 2")


class _Invalid:
    """A connection to a database that DuckDB has given up."""

    def __init__(self, error: type[duckdb.Error]) -> None:
        self._error = error

    def register(self, *_: object) -> None:
        pass

    def sql(self, _: str) -> None:
        raise self._error("database has been invalidated")
