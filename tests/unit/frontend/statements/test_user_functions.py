from __future__ import annotations

from pathlib import Path

import pytest

from kits.frontend import job
from tidegate.errors import BindError
from tidegate.frontend import compile
from tidegate.plan.nodes import WatermarkFilter
from tidegate.plan.user_functions import UserFunction

_TWICE = "CREATE FUNCTION twice(x BIGINT) RETURNS BIGINT LANGUAGE python AS $$\n{}$$; "
_SOURCE = "def twice(x):\n    return x * 2\n"
_FLAG = """
from datetime import datetime


def watermarkOnFlag(rowtime: datetime, is_end_of_sequence: "bool | None") -> datetime | None:
    return rowtime if is_end_of_sequence else None
"""


def _declared(sql: str) -> UserFunction:
    (function,) = job(f"{sql} SELECT id FROM orders").functions
    return function


@pytest.mark.slow
@pytest.mark.parametrize(
    "head",
    [
        "CREATE FUNCTION twice(x BIGINT) RETURNS BIGINT LANGUAGE python AS $$\n{}$$;",
        "CREATE OR REPLACE FUNCTION Twice(INT8) LANGUAGE PYTHON RETURNS BIGINT AS $x$\n{}$x$;",
        "CREATE FUNCTION IF NOT EXISTS twice(BIGINT) RETURNS BIGINT AS $$\n{}$$ LANGUAGE python;",
    ],
)
def test_with_its_source(head: str) -> None:
    function = _declared(head.format(_SOURCE))
    assert function == UserFunction("twice", ("BIGINT",), "BIGINT", f"\n{_SOURCE}", "twice")


@pytest.mark.parametrize("source", [" def f(x): return x ", "\n    def f(x):\n      return x\n"])
def test_the_source_may_be_indented(source: str) -> None:
    sql = f"CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE python AS $${source}$$;"
    assert _declared(sql).code.lstrip().startswith("def f")


def test_many_rows_at_a_time() -> None:
    sql = (
        "CREATE FUNCTION twice(x BIGINT) RETURNS BIGINT LANGUAGE python WITH (vectorized = true)"
        f" AS $$\n{_SOURCE}$$;"
    )
    assert _declared(sql).vectorized


@pytest.mark.slow
def test_it_is_called() -> None:
    (sink,) = job(f"{_TWICE.format(_SOURCE)} SELECT twice(id) + 1 AS x FROM orders").sinks
    assert [(column.name, column.type) for column in sink.schema] == [("x", "BIGINT")]


def test_the_last_definition_counts() -> None:
    source = "def twice(x, y):\n    return x\n" + _SOURCE
    assert _declared(_TWICE.format(source)).parameters == ("BIGINT",)


@pytest.mark.slow
def test_another_name_in_its_source() -> None:
    sql = (
        "CREATE FUNCTION double_it(x BIGINT) RETURNS BIGINT LANGUAGE python WITH (entry = 'twice')"
        f" AS $$\n{_SOURCE}$$;"
    )
    function = _declared(sql)
    assert (function.name, function.entry) == ("double_it", "twice")


def test_seed_003(tmp_path: Path) -> None:
    (tmp_path / "strategies.py").write_text(_FLAG)
    text = (
        "CREATE TEMPORARY FUNCTION watermarkOnFlag AS 'strategies.watermarkOnFlag' LANGUAGE PYTHON;"
        " CREATE TABLE kafka_source (user_id STRING, log_ts TIMESTAMP(3), flag BOOLEAN,"
        " WATERMARK FOR log_ts AS watermarkOnFlag(log_ts, flag))"
        " WITH (connector = 'filesystem', path = 'p', format = 'json'); SELECT * FROM kafka_source"
    )
    compiled = compile(text, str(tmp_path / "f.sql"), {})
    (function,) = compiled.functions
    assert function.parameters == ("TIMESTAMP", "BOOLEAN")
    assert (function.returns, function.entry) == ("TIMESTAMP", "watermarkOnFlag")
    (mark,) = (n for n in compiled.sinks[0].walk() if isinstance(n, WatermarkFilter))
    assert mark.strategy.type == "TIMESTAMP"


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (_TWICE.format("def other(x): pass\n"), "defines no function 'twice'"),
        (_TWICE.format("def twice(x:\n"), "no Python in its line 2"),
        (_TWICE.format("def twice(x, y): pass\n"), "takes 2 parameters, the statement names 1"),
        (_TWICE.format(_SOURCE) * 2, "'twice' already exists"),
        (_TWICE.format(_SOURCE).replace("twice", "lower"), "is a function of the language"),
        (_TWICE.format(_SOURCE).replace("twice", "proctime"), "is a function of the language"),
        (_TWICE.format(_SOURCE).replace("twice", "date"), "'date' is a word of SQL"),
        (_TWICE.format(_SOURCE).replace("twice", "struct"), "'struct' is a word of SQL"),
        ("CREATE FUNCTION f AS 'f' LANGUAGE PYTHON;", "names no function of a module"),
        ("CREATE FUNCTION f AS 'm.f' LANGUAGE PYTHON;", "cannot read the module 'm'"),
        (
            "CREATE FUNCTION f RETURNS INT LANGUAGE PYTHON AS $$\ndef f(x: list): pass$$;",
            "the type of parameter 'x' is not known",
        ),
        ("CREATE FUNCTION f(INT) LANGUAGE PYTHON AS $$\ndef f(x): pass$$;", "type of the result"),
        (
            _TWICE.format(_SOURCE) + "SELECT twice(price, 1) FROM orders;",
            "argument types do not match",
        ),
    ],
)
def test_what_is_wrong(sql: str, said: str) -> None:
    with pytest.raises(BindError, match=said):
        job(f"{sql} SELECT id FROM orders")


@pytest.mark.slow
def test_nothing_is_run_before_the_job_is(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    source = f"open({str(mark)!r}, 'w')\n{_SOURCE}"
    job(f"{_TWICE.format(source)} SELECT twice(id) FROM orders")
    assert not mark.exists()


@pytest.mark.slow
@pytest.mark.parametrize("call", ["db.twice(id)", "cat.db.TWICE(id)", "`db`.twice(orders.id)"])
def test_a_catalog_in_front_is_left_aside(call: str) -> None:
    made = _TWICE.format(_SOURCE)
    plain = job(f"{made}SELECT twice(id) AS x FROM orders WHERE twice(id) > 2")
    named = job(f"{made}SELECT {call} AS x FROM orders WHERE {call} > 2")
    assert named.sinks[0].schema == plain.sinks[0].schema
    assert {f.name for f in named.functions} == {"twice"}
