from __future__ import annotations

import pytest

from tidegate.errors import BindError, OptionsError
from tidegate.frontend import compile as compile_sql
from tidegate.frontend import declared_sink

SQL = """
CREATE TABLE orders (id BIGINT, t BIGINT, WATERMARK FOR t AS t - 5)
WITH (connector = 'filesystem', path = 'in', format = 'json');
CREATE TABLE late_orders ({columns})
WITH (connector = 'filesystem', path = 'late', format = 'json');
{setting}
SELECT id FROM orders;
"""


def job_of(columns: str, setting: str = "SET 'tidegate.ledger.table' = 'Late_Orders';") -> str:
    return SQL.format(columns=columns, setting=setting)


def test_a_table_of_the_file_gets_the_ledger() -> None:
    text = job_of("reason VARCHAR, event_time BIGINT, record VARCHAR")
    ledger = compile_sql(text, "job.sql").ledger
    assert ledger is not None
    assert ledger.table.name == "late_orders"
    assert [name for name, _ in ledger.columns] == ["reason", "event_time", "record"]
    assert compile_sql(job_of("reason VARCHAR", ""), "job.sql").ledger is None


def test_columns_that_ledger_rows_do_not_have() -> None:
    with pytest.raises(BindError, match=r"job.sql:4:14: .*ledger rows, which have no 'reasn'"):
        compile_sql(job_of("reasn VARCHAR"), "job.sql")


def test_a_table_that_is_not_there() -> None:
    with pytest.raises(BindError, match=r"job.sql:6:31: there is no table 'none'"):
        compile_sql(job_of("reason VARCHAR", "SET 'tidegate.ledger.table' = 'none';"), "job.sql")
    with pytest.raises(OptionsError, match=r"there is no table 'none' in job\.sql"):
        compile_sql(job_of("reason VARCHAR", ""), "job.sql", {"tidegate.ledger.table": "none"})


def test_a_declared_table_can_be_written_without_its_job() -> None:
    table = declared_sink(job_of("reason VARCHAR"), "job.sql", "LATE_orders")
    assert (table.name, table.connector) == ("late_orders", "filesystem")
    with pytest.raises(OptionsError, match="there is no table 'late'"):
        declared_sink(job_of("reason VARCHAR"), "job.sql", "late")
