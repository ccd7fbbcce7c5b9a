from __future__ import annotations

from pathlib import Path

import pytest

from kits.frontend import job, lines, plan
from tidegate.errors import BindError

_JSON = "FORMAT PLAIN ENCODE JSON"


def refusal(sql: str) -> str:
    with pytest.raises(BindError) as caught:
        job(sql)
    return caught.value.render()


@pytest.mark.slow
def test_a_job_does_not_read_what_it_writes() -> None:
    sink = (
        f"CREATE SINK s AS SELECT id FROM plain WITH (connector = 'filesystem', path = 'p') {_JSON}"
    )
    path = f"{Path.cwd()}/p"
    column = sink.index("'p'") + 1
    assert refusal(sink).splitlines() == [
        f"f.sql:2:{column}: 's' would write into what table 'plain' reads: '{path}'",
        f"  {sink}",
        " " * (column + 1) + "^^^",
        "hint: give it a path that is neither the source's nor above or below it",
    ]
    for other in (".", "./p/deep/er", f"file://{path}"):
        text = refusal(sink.replace("'p'", f"'{other}'"))
        assert text.startswith(f"f.sql:2:{column}: 's' would write into what table 'plain' reads")
    assert job(sink.replace("'p'", "'pp'")).sinks


def test_a_table_that_is_read_and_written_is_refused_where_its_path_is() -> None:
    text = refusal("INSERT INTO plain (id) SELECT id FROM plain")
    assert text.startswith("f.sql:1:")
    assert "'plain' would write into what table 'plain' reads" in text
    hint = "/*+ OPTIONS('path' = 'o') */"
    text = refusal(f"INSERT INTO target (id) SELECT id FROM plain {hint}")
    assert "'target' would write into what table 'plain' reads" in text


@pytest.mark.slow
def test_a_glob_is_refused_when_it_matches_what_is_written() -> None:
    table = "CREATE TABLE g (id BIGINT) WITH (connector = 'filesystem', path = '{}') " + _JSON
    sink = (
        f"CREATE SINK s AS SELECT id FROM g WITH (connector = 'filesystem', path = 'd/x') {_JSON}"
    )
    for glob in ("d/*", "d/*/part-*", "**/*.json"):
        assert "would write into what table 'g' reads" in refusal(f"{table.format(glob)}; {sink}")
    assert job(f"{table.format('d/*/*.csv')}; {sink}").sinks
    assert job(f"{table.format('d/[yz]')}; {sink}").sinks


def test_insert_casts_by_position_in_the_querys_own_projection() -> None:
    assert plan("INSERT INTO target SELECT price AS p, order_time, id FROM orders").startswith(
        "Sink target filesystem: id BIGINT, t TIMESTAMP, price DECIMAL(28,10)\n"
        'Project id = CAST("price" AS BIGINT), t = "order_time",'
        ' price = CAST("id" AS DECIMAL(28,10))\nWatermarkFilter'
    )


def test_insert_into_some_columns_leaves_null_in_the_others() -> None:
    assert plan("INSERT INTO target (price, id) SELECT 1, NULL FROM plain").endswith(
        "Project id = CAST(CAST(NULL AS VARCHAR) AS BIGINT), t = CAST(NULL AS TIMESTAMP),"
        " price = CAST(1 AS DECIMAL(28,10))\nScan plain"
    )


def test_a_sort_stays_the_last_but_for_the_cast() -> None:
    text = plan(
        "INSERT INTO target SELECT id, order_time, price FROM orders ORDER BY order_time"
        " EMIT ON WINDOW CLOSE"
    )
    assert text.split("\n")[1:3] == [
        'Project id = "id", t = "order_time", price = "price"',
        "Sort order_time ties __split, __offset",
    ]


def test_forms_of_create_sink() -> None:
    compiled = job(
        "CREATE SINK AS SELECT id FROM plain;"
        "CREATE SINK a FROM plain WITH (connector = 'blackhole');"
        "CREATE SINK b WITH (connector = 'print') AS SELECT id FROM plain EMIT ON WINDOW CLOSE;"
        "CREATE SINK c AS SELECT id FROM plain EMIT ON WINDOW CLOSE"
        " WITH (connector = 'filesystem', path = 'x') FORMAT PLAIN ENCODE JSON;"
        "CREATE SINK d INTO target AS SELECT id, t, 1 FROM plain;"
        "SELECT id FROM plain"
    )
    tables = [(sink.table.name, sink.table.connector) for sink in compiled.sinks]
    assert tables == [
        ("sink", "print"),
        ("a", "blackhole"),
        ("b", "print"),
        ("c", "filesystem"),
        ("target", "filesystem"),
        ("print", "print"),
    ]
    assert compiled.sinks[3].table.format == "json"


def test_one_source_is_one_subtree() -> None:
    first, second = job("SELECT id FROM orders; SELECT price FROM orders").sinks
    assert list(first.walk())[:2] == list(second.walk())[:2]
    assert lines(first)[-1] == "Scan orders"


def test_two_statements_may_write_into_one_table() -> None:
    sinks = job(
        "INSERT INTO target (id) SELECT id FROM plain; CREATE SINK INTO target AS SELECT id, t,"
        " NULL FROM plain"
    ).sinks
    assert [sink.table.name for sink in sinks] == ["target", "target#2"]
    assert len({sink.table.options for sink in sinks}) == 1
