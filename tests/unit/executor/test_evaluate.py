from __future__ import annotations

from collections.abc import Mapping

import duckdb
import pyarrow as pa
import pytest

from kits.executor import ENGINE, expr
from tidegate.engine.engine import Engine
from tidegate.executor.evaluate import evaluate, plain_sql, try_sql

DATA = pa.table({"s": ["1", "x", None], "n": [1, 2, 3]})
_POISON = -77
CAST = expr('CAST("s" AS INTEGER)', "INTEGER", "s")


def test_a_plain_column_is_passed_by_reference() -> None:
    (column,) = evaluate(ENGINE, DATA, [expr('"n"', "BIGINT", "n")])
    assert column.chunk(0).buffers()[1].address == DATA.column("n").chunk(0).buffers()[1].address


def test_a_failing_row_is_null_and_the_others_are_not() -> None:
    twice = expr('"n" * 2', "BIGINT", "n")
    got = [column.to_pylist() for column in evaluate(ENGINE, DATA, [CAST, twice])]
    assert got == [[1, None, None], [2, 4, 6]]


def test_failures_of_shared_subexpressions_stay_in_their_row() -> None:
    # DuckDB's common subexpression elimination would take the CAST out of TRY (see Engine).
    again = expr('CAST("s" AS INTEGER) + CAST("s" AS INTEGER)', "INTEGER", "s")
    got = [column.to_pylist() for column in evaluate(ENGINE, DATA, [CAST, again])]
    assert got == [[1, None, None], [2, None, None]]


def test_an_expression_without_columns_has_a_value_per_row() -> None:
    (column,) = evaluate(ENGINE, DATA, [expr("42", "INTEGER")])
    assert column.to_pylist() == [42, 42, 42]


def test_an_error_in_the_expression_itself_is_raised() -> None:
    with pytest.raises(duckdb.Error):
        evaluate(ENGINE, DATA, [expr("no_such_function(1)", "INTEGER")])


def test_plain_raises_and_try_does_not() -> None:
    with pytest.raises(duckdb.Error):
        plain_sql(ENGINE, [CAST.sql], DATA)
    assert try_sql(ENGINE, [CAST.sql], DATA).column(0).to_pylist() == [1, None, None]


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_what_passes_through_try_is_null_too(rows: int) -> None:
    zones = ["UTC", "Europe/Berln", None, "Asia/Tokyo", "x", "UTC", "Europe/Berlin"][:rows]
    data = pa.table({"z": pa.array(zones, pa.string()), "n": range(rows)})
    local = "TIMESTAMPTZ '2024-05-01 00:00:00+00' AT TIME ZONE \"z\""
    hours = [f"CAST(hour({local}) AS BIGINT)", '"n" * 2']
    got = [column.to_pylist() for column in try_sql(ENGINE, hours, data).columns]
    known = {"UTC": 0, "Asia/Tokyo": 9, "Europe/Berlin": 2}
    assert got == [[zone and known.get(zone) for zone in zones], [n * 2 for n in range(rows)]]


@pytest.mark.parametrize("shift", [0, 1])
def test_errors_of_any_kind_are_of_their_row(shift: int) -> None:
    """A pattern that ends with its escape, and a message that is cut within a character."""
    data = pa.table({"p": ["a%", "a!", None], "z": ["UTC", "x" * shift + "é" * 90, None]})
    like = "'ab' LIKE \"p\" ESCAPE '!'"
    local = "TIMESTAMPTZ '2024-05-01 00:00:00+00' AT TIME ZONE \"z\" IS NULL"
    found = [column.to_pylist() for column in try_sql(ENGINE, [like, local], data).columns]
    assert found == [[True, None, None], [False, None, True]]


def test_all_rows_may_fail() -> None:
    sql = "TIMESTAMP '2024-05-01' AT TIME ZONE \"z\""
    (column,) = try_sql(ENGINE, [sql], pa.table({"z": ["x", "y"]})).columns
    assert column.to_pylist() == [None, None]
    assert pa.types.is_timestamp(column.type)


@pytest.mark.slow
@pytest.mark.parametrize("error", [duckdb.InternalException, duckdb.FatalException])
def test_a_row_that_invalidates_the_database_is_null(error: type[duckdb.Error]) -> None:
    engine = _Breaking(error)
    (column,) = try_sql(engine, ['"v" + 1'], pa.table({"v": [1, 2, _POISON, 4]})).columns
    assert column.to_pylist() == [2, 3, None, 5]


@pytest.mark.slow
def test_rows_that_do_not_fit_into_memory_are_taken_in_parts() -> None:
    engine = _Breaking(duckdb.OutOfMemoryException, rows_max=1)
    (column,) = try_sql(engine, ['"v" + 1'], pa.table({"v": [1, 2, 3, 4]})).columns
    assert column.to_pylist() == [2, 3, 4, 5]


@pytest.mark.slow
def test_memory_does_not_decide_what_a_row_is() -> None:
    engine = _Breaking(duckdb.OutOfMemoryException)
    with pytest.raises(duckdb.OutOfMemoryException):
        try_sql(engine, ['"v" + 1'], pa.table({"v": [1, _POISON]}))


class _Breaking(Engine):
    """Fails as DuckDB does, on more than ``rows_max`` rows or one with `_POISON`."""

    def __init__(self, error: type[duckdb.Error], rows_max: int = 1_000) -> None:
        super().__init__()
        self._error, self._rows_max = error, rows_max
        self._is_broken = False

    def _open(self, epoch_us: int) -> None:
        super()._open(epoch_us)
        self._is_broken = False

    def query(self, sql: str, tables: Mapping[str, pa.Table] | None = None) -> pa.Table:
        rows = (tables or {}).get("rows_")
        if self._is_broken:
            raise duckdb.FatalException("the database is invalid")
        if rows is None or (
            rows.num_rows <= self._rows_max and _POISON not in rows["v"].to_pylist()
        ):
            return super().query(sql, tables)
        connection, self._connection = self._connection, _Gone(self._error)  # type: ignore[assignment]
        try:
            return super().query(sql, tables)
        finally:
            if isinstance(self._connection, _Gone):
                self._connection = connection
                self._is_broken = self._error is not duckdb.OutOfMemoryException


class _Gone:
    """A connection whose database answers with nothing but ``error``."""

    def __init__(self, error: type[duckdb.Error]) -> None:
        self._error = error

    def register(self, *_: object) -> None:
        pass

    def unregister(self, *_: object) -> None:
        pass

    def sql(self, _: str) -> None:
        raise self._error("broken")


def test_what_is_no_moment_is_null() -> None:
    times = [-(2**63), -(2**63) + 1, 0, None, 2**63 - 1]
    columns = try_sql(
        ENGINE, ['make_timestamp("us")', 'make_timestamptz("us")'], pa.table({"us": times})
    )
    for column in columns.columns:
        assert column.is_null().to_pylist() == [True, True, False, True, True]
