from __future__ import annotations

import pytest

from kits.frontend import job, plan
from tidegate.errors import BindError
from tidegate.plan.derivation import derive
from tidegate.plan.joins import Union

_MARKED = "SELECT id, order_time FROM orders"


def _said(sql: str) -> dict[str, str]:
    (sink,) = job(sql).sinks
    return {name: derived.describe() for name, derived in derive(sink).items()}


def test_parts_have_the_names_of_the_first() -> None:
    assert plan("SELECT id AS x, t FROM plain UNION ALL SELECT id, order_time FROM orders") == (
        "Sink print print: x BIGINT, t TIMESTAMP\n"
        "Union x BIGINT, t TIMESTAMP\n"
        'Project x = "id", t = "t"\n'
        "Scan plain\n"
        'Project x = "id", t = "order_time"\n'
        'Project id = "id", order_time = "order_time"\n'
        "WatermarkFilter orders.order_time (orders): \"order_time\" - INTERVAL '5' SECOND\n"
        "Scan orders"
    )


def test_three_parts_are_one_union() -> None:
    (sink,) = job(f"{_MARKED} UNION ALL {_MARKED} UNION ALL {_MARKED}").sinks
    (union,) = [node for node in sink.walk() if isinstance(node, Union)]
    assert len(union.branches) == 3


@pytest.mark.parametrize(
    ("parts", "type_"),
    [
        (("id", "id"), "BIGINT"),
        (("CAST(id AS INT)", "id"), "BIGINT"),
        (("id", "CAST(id AS INT)"), "BIGINT"),
        (("CAST(id AS INT)", "price"), "DECIMAL(28,10)"),
        (("CAST(id AS SMALLINT)", "CAST(id AS INT)", "CAST(id AS DOUBLE)"), "DOUBLE"),
        (("order_time", "CAST(order_time AS DATE)"), "TIMESTAMP"),
        (("CAST(NULL AS BIGINT)", "id"), "BIGINT"),
    ],
)
def test_types_are_unified(parts: tuple[str, ...], type_: str) -> None:
    text = plan(" UNION ALL ".join(f"SELECT {part} AS x FROM orders" for part in parts))
    assert f"Sink print print: x {type_}\nUnion x {type_}\n" in text


def test_only_what_has_another_type_is_converted() -> None:
    text = plan("SELECT CAST(id AS INT) AS x FROM orders UNION ALL SELECT id FROM plain")
    assert 'Project x = CAST("x" AS BIGINT)\n' in text
    assert 'Project x = "id"\n' in text


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("id", "id, price", "this part gives 2 columns, the first one 1"),
        ("id, price", "id", "this part gives 1 columns, the first one 2"),
        ("id", "order_time", "column 1 is a BIGINT in the first part, a TIMESTAMP"),
        ("price, order_time", "price, id", "column 2 is a TIMESTAMP in the first"),
        ("id", "'a' AS b", "column 1 is a BIGINT in the first part, a VARCHAR"),
    ],
)
def test_parts_that_do_not_fit(first: str, second: str, message: str) -> None:
    with pytest.raises(BindError, match=message):
        job(f"SELECT {first} FROM orders UNION ALL SELECT {second} FROM orders")


def test_the_error_stands_at_the_part_that_does_not_fit() -> None:
    with pytest.raises(BindError) as caught:
        job(
            "SELECT id FROM orders\nUNION ALL SELECT id FROM plain\n"
            "UNION ALL SELECT 1, 2 FROM plain"
        )
    assert caught.value.position is not None
    assert (caught.value.position.line, caught.value.position.column) == (4, 11)


def test_columns_of_one_name_stay_apart() -> None:
    text = plan("SELECT id, customer_id AS id FROM orders UNION ALL SELECT id, id FROM plain")
    assert text.startswith("Sink print print: id BIGINT, id#2 BIGINT\nUnion id BIGINT, id#2 BIGINT")


def test_a_watermark_is_the_lesser_of_all() -> None:
    events = "SELECT 1, log_ts FROM (SELECT event.log_ts FROM events)"
    assert _said(f"{_MARKED} UNION ALL {events}")["order_time"] == "min(order_time, event.log_ts)"
    assert _said(f"{_MARKED} UNION ALL {_MARKED}")["order_time"] == "order_time"


def test_a_part_without_a_watermark_takes_it_away() -> None:
    said = _said(f"{_MARKED} UNION ALL SELECT id, t FROM plain")["order_time"]
    assert said == "none: no watermark is declared on it"
    said = _said(f"{_MARKED} UNION ALL SELECT id, z FROM WATERMARK(plain, z, z)")["order_time"]
    assert said == "none: a cast to TIMESTAMP WITH TIME ZONE does not keep the order"


def test_a_numbers_watermark_outlives_a_cast_that_keeps_the_order() -> None:
    said = _said(
        "SELECT CAST(id AS DECIMAL(10,1)) AS x FROM WATERMARK(plain, id, id)"
        " UNION ALL SELECT CAST(id AS DECIMAL(12,2)) FROM WATERMARK(plain, id, id)"
    )
    assert said["x"].startswith("min(")


def test_a_union_can_be_grouped_and_sorted() -> None:
    windows = plan(
        f"SELECT window_end, count(*) AS n FROM TUMBLE(({_MARKED} UNION ALL {_MARKED}), order_time,"
        " INTERVAL '1' HOUR) GROUP BY window_end EMIT ON WINDOW CLOSE"
    )
    assert "Tumble order_time size 3600000000 offset 0\nUnion id BIGINT" in windows
    ordered = plan(f"{_MARKED} UNION ALL {_MARKED} ORDER BY order_time EMIT ON WINDOW CLOSE")
    assert "Sort order_time" in ordered
    assert ordered.index("Sort order_time") < ordered.index("Union id")


@pytest.mark.parametrize(
    ("parts", "type_"),
    [
        (("NULL", "t"), "TIMESTAMP"),
        (("id", "NULL"), "BIGINT"),
        (("NULL", "NULL", "id"), "BIGINT"),
        (("NULL", "NULL"), "VARCHAR"),
        (("NULL", "t", "NULL", "t"), "TIMESTAMP"),
    ],
)
def test_a_bare_null_has_the_type_of_the_others(parts: tuple[str, ...], type_: str) -> None:
    (sink,) = job(" UNION ALL ".join(f"SELECT {part} AS c FROM plain" for part in parts)).sinks
    assert [column.type for column in sink.schema] == [type_]
