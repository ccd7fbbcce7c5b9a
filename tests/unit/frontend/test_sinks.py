from __future__ import annotations

from frontend_kit import job, lines, plan


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
