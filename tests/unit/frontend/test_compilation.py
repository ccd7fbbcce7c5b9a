"""Statements that come call by call."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.errors import BindError, SqlError
from tidegate.frontend import Catalog, compile_call
from tidegate.frontend.compilation import File
from tidegate.plan.nodes import Scan

ORDERS = """CREATE TABLE orders (id BIGINT, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH ('connector' = 'datagen', 'rows' = '9')"""
SHOWN = "CREATE TABLE shown (id BIGINT) WITH ('connector' = 'print')"


def told(*calls: str) -> tuple[File, Catalog]:
    """What the last of the calls says."""
    known = Catalog()
    for number, call in enumerate(calls, 1):
        compiled, known = compile_call(call, f"call-{number}", known)
    return compiled, known


def files(catalog: Catalog) -> list[str]:
    """Where what is kept was declared."""
    return [each.written[0].span.source.file for each in catalog.entries]


def refused(*calls: str) -> BindError:
    with pytest.raises(BindError) as caught:
        told(*calls)
    return caught.value


def test_calls_build_on_each_other() -> None:
    assert told(ORDERS)[0].job.sinks == ()
    compiled, known = told(ORDERS, SHOWN, "INSERT INTO shown SELECT id FROM orders")
    assert [sink.table.name for sink in compiled.job.sinks] == ["shown"]
    assert len(known.entries) == 2
    again, _ = compile_call("INSERT INTO shown SELECT id FROM orders", "call-4", known)
    assert again.job.sinks == compiled.job.sinks


def test_only_the_call_s_own_statements_run() -> None:
    first = f"{ORDERS}; {SHOWN}; INSERT INTO shown SELECT id FROM orders; SHOW TABLES"
    compiled, _ = told(first, "CREATE SINK b FROM orders WITH (connector = 'blackhole')")
    assert [sink.table.name for sink in compiled.job.sinks] == ["b"]
    assert compiled.descriptions == ()


def test_an_error_is_in_the_call_that_has_it() -> None:
    error = refused(f"{ORDERS};\n{SHOWN}", "SHOW TABLES;\nINSERT INTO shown SELECT idd FROM orders")
    assert error.render().startswith(
        "call-2:2:26: unknown column 'idd'\n  INSERT INTO shown SELECT"
    )
    wrong = "SHOW TABLES; CREATE TABLE t (id BIGINT,\n WATERMARK FOR id AS idd) WITH ()"
    error = refused(ORDERS, wrong, "SELECT id FROM t")
    assert str(error.position) == "call-2:2:22"
    assert error.position is not None
    assert error.position.source_line == " WATERMARK FOR id AS idd) WITH ()"


def test_a_name_is_declared_once() -> None:
    assert "already declared in call-1:1" in refused(ORDERS, ORDERS).message
    assert "already declared in line 1" in refused(f"{ORDERS};{ORDERS}").message
    _, known = told(ORDERS, ORDERS.replace("TABLE", "TABLE IF NOT EXISTS"))
    assert len(known.entries) == 1


def test_or_replace_takes_the_place_of_what_was_there() -> None:
    view = "CREATE VIEW v AS SELECT id FROM orders"
    other = ORDERS.replace("CREATE", "CREATE OR\nREPLACE").replace("'9'", "'5'")
    compiled, known = told(ORDERS, view, other, "CREATE SINK s FROM v")
    scans = [n for sink in compiled.job.sinks for n in sink.walk() if isinstance(n, Scan)]
    assert [scan.table.option("number-of-rows") for scan in scans] == ["5"]
    assert files(known) == ["call-3", "call-2"]
    with pytest.raises(SqlError, match="call-3:2:39"):
        told(ORDERS, "SHOW VIEWS", "\nCREATE OR REPLACE TABLE orders (i INT,, j INT)")


def test_a_view_that_does_not_fit_what_replaces_its_table() -> None:
    error = refused(
        ORDERS,
        "CREATE VIEW v AS SELECT id FROM orders",
        "CREATE OR REPLACE TABLE orders (other BIGINT) WITH ('connector' = 'datagen')",
    )
    assert str(error.position) == "call-2:1:25"


def test_a_materialized_view_is_read_as_a_view() -> None:
    view = "CREATE MATERIALIZED VIEW m AS SELECT id FROM orders"
    compiled, known = told(ORDERS, view)
    assert [sink.table.connector for sink in compiled.job.sinks] == ["delta"]
    compiled, _ = compile_call("CREATE SINK s FROM m", "call-3", known)
    assert [sink.table.name for sink in compiled.job.sinks] == ["s"]
    anew, after = compile_call(view.replace("CREATE", "CREATE OR REPLACE"), "call-3", known)
    assert len(anew.job.sinks) == 1
    assert len(after.entries) == 2
    other = view.replace("id FROM", "id + 1 AS id FROM")
    assert "already declared in call-2:1" in refused(ORDERS, view, other).message


MATERIALIZED = "CREATE MATERIALIZED VIEW m AS SELECT id FROM orders"


def sinks(compiled: File) -> list[tuple[str, str]]:
    return [(sink.table.name, sink.table.connector) for sink in compiled.job.sinks]


@pytest.mark.slow
def test_a_materialized_view_runs_again_as_it_was_written() -> None:
    for again in (MATERIALIZED, MATERIALIZED.replace("VIEW m", "VIEW IF NOT EXISTS m")):
        for calls in ((ORDERS, MATERIALIZED, again), (ORDERS, again, MATERIALIZED)):
            compiled, known = told(*calls)
            assert sinks(compiled) == [("m", "delta")]
            assert compiled.job.sinks == told(ORDERS, MATERIALIZED)[0].job.sinks
            assert files(known) == ["call-1", "call-2"]
    error = refused(ORDERS, MATERIALIZED, f"{MATERIALIZED}; {MATERIALIZED}")
    assert "already declared in call-2:1" in error.message
    error = refused(ORDERS, "CREATE VIEW m AS SELECT id FROM orders", MATERIALIZED)
    assert "already declared in call-2:1" in error.message
    other = "CREATE MATERIALIZED VIEW IF NOT EXISTS m AS SELECT at FROM orders"
    assert sinks(told(ORDERS, MATERIALIZED, other)[0]) == []


@pytest.mark.slow
def test_a_materialized_view_that_another_reads_is_replaced_at_its_place() -> None:
    reader = "CREATE VIEW v AS SELECT n FROM m"
    view = "CREATE {} MATERIALIZED VIEW m AS SELECT id + {} AS n FROM orders"
    calls = (ORDERS, view.format("", 1), reader, view.format("OR REPLACE", 2))
    compiled, known = told(*calls)
    assert sinks(compiled) == [("m", "delta")]
    assert files(known) == ["call-1", "call-4", "call-3"]
    read, _ = compile_call("CREATE SINK s FROM v WITH (connector = 'blackhole')", "call-5", known)
    assert sinks(read) == [("s", "blackhole")]
    assert "+ 2" in str(read.job.sinks[0])
    assert "+ 1" not in str(read.job.sinks[0])
    wrong = "\nCREATE OR REPLACE MATERIALIZED VIEW m AS SELECT idd AS n FROM orders"
    assert str(refused(*calls, wrong).position) == "call-5:2:49"
    assert str(refused(*calls, wrong.replace("idd AS n", "id")).position) == "call-3:1:25"


@pytest.mark.slow
def test_what_replaces_may_read_what_has_been_declared_since() -> None:
    more, sink = ORDERS.replace("orders", "more"), "CREATE SINK s FROM m"
    for kind in ("VIEW", "MATERIALIZED VIEW"):
        view = f"CREATE {kind} m AS SELECT id FROM orders"
        anew = f"CREATE OR REPLACE {kind} m AS SELECT id FROM more"
        for calls in ((ORDERS, view, more, anew), (ORDERS, view, f"{more}; {anew}")):
            _, known = told(*calls)
            read, _ = compile_call(f"{sink} WITH (connector = 'blackhole')", "z", known)
            scans = [n for n in read.job.sinks[0].walk() if isinstance(n, Scan)]
            assert [scan.table.name for scan in scans] == ["more"]


def test_comments_decide_nothing() -> None:
    noted = (
        "CREATE /* MATERIALIZED */ MATERIALIZED -- MATERIALIZED\n VIEW m AS SELECT id FROM orders"
    )
    compiled, known = told(ORDERS, noted)
    assert sinks(compiled) == [("m", "delta")]
    assert sinks(compile_call("SHOW VIEWS", "call-3", known)[0]) == []
    for words in ("CREATE /* x */ OR REPLACE", "CREATE OR -- x\n REPLACE"):
        anew, after = compile_call(noted.replace("CREATE", words, 1), "call-3", known)
        assert sinks(anew) == [("m", "delta")]
        assert len(after.entries) == 2
    view = "CREATE /* OR REPLACE */ VIEW m AS SELECT id FROM orders"
    assert "already declared" in refused(ORDERS, MATERIALIZED, view).message


@pytest.mark.slow
def test_a_table_that_is_replaced_loses_what_altered_the_one_before() -> None:
    alter = "ALTER TABLE orders MODIFY WATERMARK FOR at AS at - INTERVAL '{}' SECOND"
    anew = ORDERS.replace("CREATE", "CREATE OR REPLACE").replace("'5'", "'7'")
    for calls in (
        (ORDERS, alter.format(9), anew),
        (ORDERS, f"{alter.format(9)}; {anew}"),
        (ORDERS, "ALTER TABLE orders DROP WATERMARK", anew.replace("orders", "ORDERS")),
        (ORDERS, alter.format(9), anew.replace("'7'", "'8'"), f"{anew}; {alter.format(7)}"),
    ):
        compiled, _ = told(*calls, "DESCRIBE orders")
        assert "INTERVAL '7' SECOND" in compiled.descriptions[0].text(), calls


def test_settings_stay_and_the_last_one_wins() -> None:
    calls = ["SET tidegate.vnodes = 3", "SET tidegate.vnodes = 5", ORDERS, "SELECT id FROM orders"]
    compiled, known = told(*calls)
    assert dict(compiled.job.settings) == {"tidegate.vnodes": "5"}
    assert (len(known.entries), len(known.options)) == (1, 1)
    compiled, _ = compile_call("SELECT id FROM orders", "c", known, {"tidegate.vnodes": "7"})
    assert dict(compiled.job.settings) == {"tidegate.vnodes": "7"}


@pytest.mark.slow
def test_alter_table_and_functions_stay() -> None:
    compiled, _ = told(
        ORDERS,
        "ALTER TABLE orders MODIFY WATERMARK FOR at AS at - INTERVAL '9' SECOND",
        "CREATE FUNCTION twice(x BIGINT) RETURNS BIGINT LANGUAGE python AS $$\n"
        "def twice(x: int) -> int:\n    return 2 * x\n$$",
        "DESCRIBE orders; SELECT twice(id) AS n FROM orders",
    )
    assert "INTERVAL '9' SECOND" in compiled.descriptions[0].text()
    assert [function.name for function in compiled.job.functions] == ["twice"]


def test_a_plan_is_executed_without_what_was_declared(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    compiled, known = told(
        ORDERS, SHOWN, f"COMPILE PLAN '{path}' FOR INSERT INTO shown SELECT id FROM orders"
    )
    for plan in compiled.plans:
        plan.write()
    executed, after = compile_call(f"EXECUTE PLAN '{path}'", "call-4", known)
    assert [sink.table.name for sink in executed.job.sinks] == ["shown"]
    assert after == known


def test_hints_and_legacy_texts_keep_their_places() -> None:
    hinted = "\nSELECT id FROM orders /*+ OPTIONS('rowz' = '3') */"
    assert str(refused(ORDERS, hinted).position).startswith("call-2:2:")


@pytest.mark.parametrize("again", ["count(*)", "sum(id)"])
def test_a_view_that_is_there_can_be_explained(again: str) -> None:
    view = "CREATE MATERIALIZED VIEW v AS SELECT id, {} AS n FROM orders GROUP BY id"
    above = "CREATE VIEW w AS SELECT n FROM v"
    compiled, known = told(ORDERS, view.format("count(*)"), above, f"EXPLAIN {view.format(again)}")
    (answer,) = compiled.descriptions
    assert f"Aggregate {again}" in answer.text()
    assert compiled.job.sinks == ()
    assert len(known.entries) == 3


def test_a_table_that_is_like_another_follows_it() -> None:
    base = "CREATE TABLE t (id BIGINT, at TIMESTAMP) WITH ('connector' = 'datagen', 'rows' = '9')"
    like = "CREATE TABLE u LIKE t; ALTER TABLE u ADD WATERMARK FOR at AS at"
    anew = base.replace("CREATE", "CREATE OR REPLACE").replace("id BIGINT", "id INT, more INT")
    compiled, _ = told(base, like, anew, "DESCRIBE u")
    text = compiled.descriptions[0].text()
    assert "more" in text
    assert "WATERMARK AS at" in text
    error = refused(
        base, like, anew.replace("at TIMESTAMP", "at BIGINT, x TIMESTAMP"), "SELECT y FROM u"
    )
    assert str(error.position) == "call-4:1:8"
    error = refused(base, like, anew.replace("at TIMESTAMP", "x TIMESTAMP"))
    assert str(error.position) == "call-2:1:56"


def test_what_is_replaced_is_not_read_by_its_own_call_before() -> None:
    view = "CREATE VIEW v AS SELECT id FROM orders"
    anew = ORDERS.replace("CREATE", "CREATE OR REPLACE")
    error = refused(ORDERS, f"{view};\nCREATE SINK s FROM v;\n{anew}")
    assert error.message == "table 'orders' is used by sink 's' in line 2"
    assert str(error.position) == "call-2:3:1"


def test_nothing_reads_itself() -> None:
    view = "CREATE VIEW {} AS SELECT id FROM {}"
    anew = view.replace("CREATE", "CREATE OR REPLACE")
    for calls in (
        (ORDERS, view.format("v", "orders"), anew.format("v", "v")),
        (ORDERS, view.format("v", "orders"), view.format("w", "v"), anew.format("v", "w")),
    ):
        assert refused(*calls).message.startswith("unknown table")


@pytest.mark.slow
def test_a_function_that_is_replaced_is_checked_where_it_is_called() -> None:
    made = "CREATE FUNCTION f(x {}) RETURNS {} LANGUAGE python AS $$\ndef f(x):\n    return x\n$$"
    first, call = (
        made.format("BIGINT", "BIGINT"),
        "CREATE VIEW v AS SELECT f(id) + 1 AS n FROM orders",
    )
    anew = made.replace("CREATE", "CREATE OR REPLACE")
    compiled, _ = told(ORDERS, first, call, anew.format("BIGINT", "INT"), "SELECT n FROM v")
    assert [function.returns for function in compiled.job.functions] == ["INTEGER"]
    assert (
        str(refused(ORDERS, first, call, anew.format("TIMESTAMP", "INT")).position) == "call-3:1:25"
    )
    assert "already exists" in refused(ORDERS, f"{first}; {anew.format('INT', 'INT')}").message


@pytest.mark.slow
def test_a_plan_has_what_earlier_calls_declared() -> None:
    made = "CREATE FUNCTION f(x BIGINT) RETURNS BIGINT LANGUAGE python AS $$\n{}$$"
    made = made.format("def f(x):\n    return x\n")
    insert = "INSERT INTO shown SELECT f(id) AS id FROM m"
    (plan,) = told(ORDERS, SHOWN, made, MATERIALIZED, f"COMPILE PLAN 'p' FOR {insert}")[0].plans
    *_, function, view, last = plan.document["statements"]
    assert "\ndef f(x):\n    return x\n" in function
    assert (view, last) == (MATERIALIZED.replace("MATERIALIZED ", ""), insert)
