from __future__ import annotations

import re

import pytest

from kits.frontend import job, lines
from tidegate.errors import BindError, UnsupportedError
from tidegate.plan.derivation import derive
from tidegate.plan.joins import Join
from tidegate.plan.nodes import Node, Sink

_SAME_TIME = "a.order_time = b.order_time"
_UP_TO_5 = "b.order_time BETWEEN a.order_time AND a.order_time + '5 s'"
_WINDOW = "TUMBLE(orders, order_time, INTERVAL '1' HOUR)"


def _sink(sql: str) -> Sink:
    (sink,) = job(sql).sinks
    return sink


def _join(sql: str) -> Join:
    """The uppermost join of ``sql``."""
    return next(node for node in reversed(list(_sink(sql).walk())) if isinstance(node, Join))


_GROWING = (
    "CREATE TABLE growing (id BIGINT) WITH (connector = 'filesystem', path = 'g', format = 'json',"
    " 'source.monitor-interval' = '1 s');"
)


def _of(on: str, select: str = "a.id", kind: str = "JOIN") -> Join:
    return _join(f"SELECT {select} FROM orders AS a {kind} orders AS b ON {on}")


def _made(side: Node) -> list[str]:
    """The columns that ``side`` has beyond those of orders, as SQL."""
    (line, *_) = lines(side)
    columns = line.removeprefix("Project ").split(", ")
    return [column.split(" = ")[-1] for column in columns[4:]]


def test_a_self_join_reads_the_table_twice_under_different_names() -> None:
    sink = _sink(f"SELECT a.id, b.id FROM orders AS a JOIN orders AS b ON {_SAME_TIME}")
    renamed = [f'{name}#2 = "{name}"' for name in ("id", "order_time", "price", "customer_id")]
    assert lines(sink) == [
        "Sink print print: id BIGINT, id#2 BIGINT",
        'Project id = "id", id#2 = "id#2"',
        "Join INNER order_time#2 - order_time in 0..0, order_time = order_time#2",
        "WatermarkFilter orders.order_time (orders): \"order_time\" - INTERVAL '5' SECOND",
        "Scan orders",
        f"Project {', '.join(renamed)}",
        "WatermarkFilter orders.order_time (orders): \"order_time\" - INTERVAL '5' SECOND",
        "Scan orders",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("on", "lower", "upper"),
    [
        (_UP_TO_5, 0, 5_000_000),
        ("a.order_time BETWEEN b.order_time - INTERVAL '5' SECOND AND b.order_time", 0, 5_000_000),
        ("b.order_time >= a.order_time AND a.order_time + '5 s' >= b.order_time", 0, 5_000_000),
        ("b.order_time - '5 s' <= a.order_time AND (a.order_time <= b.order_time)", 0, 5_000_000),
        ("b.order_time > a.order_time AND b.order_time < a.order_time + '5 s'", 1, 4_999_999),
        ("a.order_time > b.order_time - '5 s' AND a.order_time < b.order_time", 1, 4_999_999),
        ("b.order_time = a.order_time + INTERVAL '5' SECOND", 5_000_000, 5_000_000),
        ("a.order_time = b.order_time + INTERVAL '5' SECOND", -5_000_000, -5_000_000),
        (
            "b.order_time BETWEEN a.order_time + '2 s' - '5 s' AND (a.order_time) + ('4 s')",
            -3_000_000,
            4_000_000,
        ),
        (f"{_UP_TO_5} AND b.order_time >= a.order_time + '1 s'", 1_000_000, 5_000_000),
        (f"{_UP_TO_5} AND b.order_time <= a.order_time + '9 s'", 0, 5_000_000),
    ],
)
def test_spellings_of_bounds(on: str, lower: int, upper: int) -> None:
    join = _of(re.sub(r"'(\d) s'", r"INTERVAL '\1' SECOND", on))
    assert (join.times, join.lower, join.upper) == (("order_time", "order_time#2"), lower, upper)
    assert (join.keys, join.condition) == ((), None)


@pytest.mark.slow
def test_bounds_of_numbers_are_in_their_unit() -> None:
    sides = "WATERMARK(plain, id, id - 5) a JOIN WATERMARK(plain, id, id) b"
    join = _join(f"SELECT a.id FROM {sides} ON b.id > a.id - 2 * 3 AND b.id <= a.id + 7")
    assert (join.times, join.lower, join.upper) == (("id", "id#2"), -5, 7)


@pytest.mark.parametrize(
    ("on", "keys", "condition"),
    [
        ("a.id = b.customer_id", (("id", "customer_id#2"),), ""),
        ("b.customer_id = a.id", (("id", "customer_id#2"),), ""),
        (
            "a.id = b.id AND (b.price = a.price)",
            (("id", "id#2"), ("price", "price#2")),
            "",
        ),
        ("a.id < b.id", (), '"id" < "id#2"'),
        ("a.id = 5", (), '"id" = 5'),
        ("a.id = a.customer_id", (), '"id" = "customer_id"'),
        ("a.id = b.id OR a.price > 1", (), '"id" = "id#2" OR "price" > 1'),
        ("NOT a.id = b.id", (), 'NOT "id" = "id#2"'),
        ("a.id > 1 AND b.id < 2", (), '"id" > 1 AND "id#2" < 2'),
        ("a.id IS NOT DISTINCT FROM b.id", (), '"id" IS NOT DISTINCT FROM "id#2"'),
    ],
)
def test_equations_between_the_sides_are_keys_and_all_else_is_the_condition(
    on: str, keys: tuple[tuple[str, str], ...], condition: str
) -> None:
    join = _of(f"{_SAME_TIME} AND ({on})")
    assert join.keys == (("order_time", "order_time#2"), *keys)
    assert (join.condition.sql if join.condition else "") == condition


@pytest.mark.parametrize(
    ("on", "left", "right"),
    [
        ("a.id + 1 = b.id", ['"id" + 1'], []),
        ("b.id * 2 = a.id", [], ['"id#2" * 2']),
        ("abs(a.id) = abs(b.id)", ['abs("id")'], ['abs("id#2")']),
        ("a.id = b.price", ['CAST("id" AS DECIMAL(29,10))'], ['CAST("price#2" AS DECIMAL(29,10))']),
    ],
)
def test_computed_keys_are_columns_of_their_side_and_of_one_type(
    on: str, left: list[str], right: list[str]
) -> None:
    join = _of(f"{_SAME_TIME} AND {on}")
    assert [_made(side) for side in join.inputs] == [left, right]
    one, other = (
        side.column_of(key).type for side, key in zip(join.inputs, join.keys[1], strict=True)
    )
    assert one == other


@pytest.mark.slow
@pytest.mark.parametrize("on", ["a.customer_id = b.customer_name", "a.customer_id = b.t"])
def test_keys_of_types_that_do_not_mix(on: str) -> None:
    marked = "WATERMARK(plain, t, t) AS b"
    with pytest.raises(BindError, match="the join compares a BIGINT with a"):
        job(f"SELECT a.id FROM orders AS a JOIN {marked} ON a.order_time = b.t AND {on}")


@pytest.mark.slow
def test_windows_are_joined_at_their_ends() -> None:
    for parts in (("window_start", "window_end"), ("window_end", "window_start")):
        on = " AND ".join(f"a.{part} = b.{part}" for part in parts)
        join = _join(f"SELECT a.id FROM {_WINDOW} AS a JOIN {_WINDOW} AS b ON {on} AND a.id = b.id")
        assert join.times == ("window_end", "window_end#2")
        assert join.at_one_time
        assert sorted(join.keys) == [
            ("id", "id#2"),
            ("window_end", "window_end#2"),
            ("window_start", "window_start#2"),
        ]
    join = _join(
        f"SELECT a.id FROM {_WINDOW} AS a JOIN {_WINDOW} AS b ON a.window_start = b.window_start"
    )
    assert join.times == ("window_start", "window_start#2")


@pytest.mark.slow
def test_equal_times_go_before_bounds_and_the_narrowest_bounds_before_others() -> None:
    join = _of(f"{_SAME_TIME} AND b.order_time <= a.order_time + INTERVAL '5' SECOND")
    assert (join.lower, join.upper, join.condition) == (0, 0, None)
    sides = "WATERMARK(orders, id, id) AS a JOIN WATERMARK(orders, id, id) AS b"
    join = _join(
        f"SELECT a.id FROM {sides} ON b.id BETWEEN a.id AND a.id + 2"
        " AND b.order_time BETWEEN a.order_time AND a.order_time + INTERVAL '5' SECOND"
    )
    assert (join.times, join.lower, join.upper) == (("id", "id#2"), 0, 2)
    assert join.condition is not None
    assert join.condition.columns == {"order_time", "order_time#2"}


@pytest.mark.slow
def test_half_a_between_that_is_no_bound_stays_a_condition() -> None:
    join = _of(
        "b.order_time BETWEEN a.order_time AND a.order_time + b.id * INTERVAL '5' SECOND"
        " AND b.order_time < a.order_time + INTERVAL '1' HOUR"
    )
    assert (join.lower, join.upper) == (0, 3_600_000_000 - 1)
    assert join.condition is not None
    assert "id#2" in join.condition.columns


@pytest.mark.slow
def test_columns_of_using_are_keys_and_stand_once() -> None:
    sql = "SELECT * FROM orders AS a {} JOIN orders AS b USING (order_time, ID)"
    for kind in ("INNER", "LEFT"):
        sink = _sink(sql.format(kind))
        names = "id order_time price customer_id price#2 customer_id#2"
        assert [column.name for column in sink.schema] == names.split()
        assert 'Project id = "id", order_time = "order_time", price' in lines(sink)[1]
    join = _join(sql.format(""))
    assert join.keys == (("order_time", "order_time#2"), ("id", "id#2"))
    assert (join.times, join.at_one_time) == (("order_time", "order_time#2"), True)


@pytest.mark.slow
def test_using_in_a_right_join_shows_the_right_column() -> None:
    sink = _sink("SELECT id, order_time FROM orders a RIGHT JOIN orders b USING (id, order_time)")
    assert lines(sink)[1] == 'Project id = "id#2", order_time = "order_time#2"'
    sink = _sink("SELECT a.id, b.id FROM orders a RIGHT JOIN orders b USING (id, order_time)")
    assert lines(sink)[1] == 'Project id = "id", id#2 = "id#2"'


@pytest.mark.slow
def test_using_in_a_full_join_is_not_there_yet() -> None:
    with pytest.raises(UnsupportedError, match="USING in a FULL JOIN is not supported"):
        job("SELECT a.id FROM orders AS a FULL JOIN orders AS b USING (order_time)")


@pytest.mark.slow
def test_a_semi_join_has_the_left_columns_only() -> None:
    for kind in ("SEMI", "ANTI"):
        join = _of(f"{_SAME_TIME} AND b.id > 5", "*", f"LEFT {kind} JOIN")
        assert join.schema == join.left.schema
        with pytest.raises(BindError, match="unknown column 'b'"):
            _of(_SAME_TIME, "b.id", f"LEFT {kind} JOIN")


_ON_ID = "Join INNER order_time#2 - order_time in 0..0, order_time = order_time#2, id = id#2"


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        f"orders AS a, orders AS b WHERE {_SAME_TIME} AND a.id > 5 AND b.id = a.id",
        f"orders AS a CROSS JOIN orders AS b WHERE {_SAME_TIME} AND a.id > 5 AND b.id = a.id",
        f"orders AS a JOIN orders AS b ON b.id = a.id WHERE a.id > 5 AND {_SAME_TIME}",
    ],
)
def test_an_inner_join_takes_what_where_says_of_both_sides(source: str) -> None:
    shown = lines(_sink(f"SELECT a.id FROM {source}"))
    assert shown[2] == 'Filter "id" > 5'
    assert sorted(shown[3].split(", ")) == sorted(_ON_ID.split(", "))


@pytest.mark.slow
def test_an_outer_join_leaves_where_alone() -> None:
    source = f"orders AS a LEFT JOIN orders AS b ON {_SAME_TIME} WHERE a.id = b.id"
    shown = lines(_sink(f"SELECT a.id FROM {source}"))
    assert shown[2] == 'Filter "id" = "id#2"'
    assert shown[3] == "Join LEFT order_time#2 - order_time in 0..0, order_time = order_time#2"


@pytest.mark.slow
def test_three_tables_with_commas() -> None:
    where = "a.order_time = b.order_time AND c.order_time = b.order_time AND c.id = a.id"
    shown = lines(_sink(f"SELECT a.id FROM orders a, orders b, orders c WHERE {where}"))
    assert [line.split()[0] for line in shown].count("Join") == 2


def test_a_name_that_is_a_table_and_a_column_is_the_table() -> None:
    source = "orders AS order_time JOIN orders AS b"
    on = "order_time.order_time = b.order_time"
    shown = lines(_sink(f"SELECT order_time.id FROM {source} ON {on}"))
    assert any(line.startswith("Join INNER") for line in shown)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        "a.price > b.price",
        "a.id > 5",
        "NOT (a.id = b.id)",
        "b.price IS NULL",
        "(a.id = 1 OR b.id IS NULL)",
        "b.order_time + INTERVAL '5' SECOND > a.order_time + b.id * INTERVAL '5' SECOND",
    ],
)
def test_the_condition_is_shown_whole(part: str) -> None:
    condition = _of(f"{_SAME_TIME} AND {part}").condition
    assert condition is not None
    assert condition.text.strip("()") == part.strip("()")


def test_where_above_on_is_a_filter() -> None:
    sink = _sink(f"SELECT a.id FROM orders a LEFT JOIN orders b ON {_SAME_TIME} WHERE b.id > 5")
    assert lines(sink)[2] == 'Filter "id#2" > 5'


@pytest.mark.slow
def test_joins_of_joins() -> None:
    join = _join(
        f"SELECT a.id FROM orders a JOIN orders b ON {_SAME_TIME} JOIN events e"
        " ON e.event.log_ts BETWEEN a.order_time AND a.order_time + INTERVAL '1' MINUTE"
    )
    assert (join.times, join.upper) == (("order_time", "event.log_ts"), 60_000_000)
    assert isinstance(join.left, Join)
    join = _join(
        "SELECT a.id FROM orders a JOIN orders b USING (order_time)"
        " JOIN orders c USING (order_time)"
    )
    assert join.times == ("order_time", "order_time#3")


@pytest.mark.slow
def test_what_is_joined_has_watermarks() -> None:
    sink = _sink(
        "SELECT a.order_time AS x, e.event.log_ts AS y, a.id FROM orders a JOIN events e"
        " ON e.event.log_ts BETWEEN a.order_time AND a.order_time + INTERVAL '1' MINUTE"
    )
    assert {name: derived.describe() for name, derived in derive(sink).items()} == {
        "x": "min(order_time, event.log_ts - 60 s)",
        "y": "min(event.log_ts, order_time)",
        "id": "none: no watermark is declared on it",
    }


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ("a.id = b.id", "without a bound on the time"),
        (f"{_SAME_TIME} OR a.id = b.id", "without a bound on the time"),
        (f"NOT ({_SAME_TIME})", "without a bound on the time"),
        ("a.order_time <= b.order_time", "on one side only"),
        ("b.order_time = a.order_time AND b.order_time > a.order_time", "holds for no two times"),
        ("b.order_time > a.order_time AND b.order_time < a.order_time + '1 us'", "no two times"),
        ("a.id", "the condition of the join is BIGINT, expected BOOLEAN"),
        (f"id = 5 AND {_SAME_TIME}", "column 'id' is ambiguous"),
        (f"a.nope = 5 AND {_SAME_TIME}", "unknown column 'nope'"),
    ],
)
def test_what_is_refused(on: str, message: str) -> None:
    with pytest.raises((BindError, UnsupportedError), match=message):
        _of(on.replace("'1 us'", "INTERVAL '1' MICROSECOND"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("orders JOIN orders ON true", "two tables of the join are called 'orders'"),
        (
            "orders JOIN growing g ON orders.id = g.id",
            "the right side of the join has no watermark",
        ),
        ("growing g JOIN orders ON orders.id = g.id", "the left side of the join has no watermark"),
        ("orders JOIN plain USING (nope)", "orders has no column 'nope'"),
        (
            "orders a JOIN orders b USING (order_time) JOIN orders c USING (order_time, id)",
            "one side of the join has several columns 'id'",
        ),
    ],
)
def test_sides_that_are_refused(source: str, message: str) -> None:
    with pytest.raises((BindError, UnsupportedError), match=message):
        job(f"{_GROWING} SELECT 1 FROM {source}")
