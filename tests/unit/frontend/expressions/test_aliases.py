from __future__ import annotations

import pytest

from kits.frontend import plan
from tidegate.errors import BindError

_NEXT = "lead(price, 1) OVER w AS next"
_W = "WINDOW w AS (PARTITION BY customer_id ORDER BY order_time)"


def _filters(sql: str) -> list[str]:
    """The conditions and the over-window between them, from above."""
    words = ("Filter", "Over")
    return [
        line.removeprefix("Filter ").split(" ", 1)[0] if line[:4] == "Over" else line[7:]
        for line in plan(sql).split("\n")
        if line.startswith(words)
    ]


@pytest.mark.slow
def test_an_alias_in_where_stands_for_its_expression() -> None:
    assert _filters("SELECT id * 2 AS twice FROM orders WHERE twice > 5") == ['("id" * 2) > 5']
    assert _filters('SELECT id AS "X" FROM orders WHERE "X" > 5') == ['("id") > 5']


@pytest.mark.parametrize("where", ["id > 5", "ID > 5", "orders.id > 5"])
def test_a_column_of_that_name_comes_first(where: str) -> None:
    assert _filters(f"SELECT price AS id FROM orders WHERE {where}") == ['"id" > 5']


def test_a_qualified_name_is_no_alias() -> None:
    with pytest.raises(BindError, match="unknown column 'twice'"):
        plan("SELECT id * 2 AS twice FROM orders WHERE orders.twice > 5")


def test_conditions_on_what_over_computes_stand_above_and_all_others_below() -> None:
    sql = f"SELECT id, {_NEXT} FROM orders WHERE {{}} {_W}"
    assert _filters(sql.format("id > 0 AND next > price AND (id = 9 OR next IS NULL)")) == [
        '"id" = 9 OR ("next") IS NULL',
        '("next") > "price"',
        "Over",
        '"id" > 0',
    ]
    assert _filters(sql.format("id > 0 AND price > 1")) == ["Over", '"id" > 0 AND "price" > 1']


def test_an_alias_of_what_over_computes_inside_an_expression() -> None:
    """As seed 000 has it."""
    assert _filters(
        f"SELECT {_NEXT}, lead(order_time, 1) OVER w AS next_time FROM orders WHERE"
        f" abs(next - price) > 10000 AND next_time - order_time < INTERVAL '30' SECOND {_W}"
    ) == [
        '("next_time") - "order_time" < INTERVAL \'30\' SECOND',
        'abs(("next") - "price") > 10000',
        "Over",
    ]


def test_an_alias_in_qualify_stands_above() -> None:
    sql = f"SELECT id AS x, {_NEXT} FROM orders WHERE x > 1 {_W} QUALIFY next > 5 AND x < 9"
    assert _filters(sql) == ['("next") > 5 AND ("id") < 9', "Over", '("id") > 1']


def test_an_alias_is_not_known_in_the_select_list() -> None:
    with pytest.raises(BindError, match="unknown column 'x'"):
        plan("SELECT id AS x, x + 1 AS y FROM orders")
