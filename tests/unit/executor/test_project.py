from __future__ import annotations

import pytest

from kits.executor import ENGINE, Text, expr, leaf
from tidegate.executor.project import ProjectExecutor
from tidegate.plan.nodes import Expr, Project
from tidegate.types import Chunk, Column

COLUMNS = "t TIMESTAMP, v BIGINT, s VARCHAR"
TEXT = Text(f"{COLUMNS}, __offset BIGINT", "u TIMESTAMP, hour TIMESTAMP")
T = expr('"t"', "TIMESTAMP", "t", monotone_in="t")
V = expr('"v"', "BIGINT", "v", monotone_in="v")
HOUR = expr("date_trunc('hour', \"t\")", "TIMESTAMP", "t", monotone_in="t")
SECONDS = expr('CAST(epoch("t") AS BIGINT)', "BIGINT", "t", monotone_in="t")


def a_project(**columns: Expr) -> ProjectExecutor:
    schema = tuple(Column(name, expr.type) for name, expr in columns.items())
    return ProjectExecutor(Project(schema, leaf(COLUMNS), tuple(columns.items())), ENGINE)


def test_columns_in_order_and_hidden_ones_behind() -> None:
    executor = a_project(w=expr('"v" + 1', "BIGINT", "v"), u=T, k=expr("'k'", "VARCHAR"))
    assert TEXT.run(executor, "chunk s0: 10:40 1 a 7; 10:41 2 b 8") == [
        "chunk s0: 2 10:40 k 7; 3 10:41 k 8"
    ]


def test_plain_columns_are_not_copied() -> None:
    message = TEXT.chunk("10:40 1 a 7")
    (out,) = a_project(x=V).process(message)
    assert isinstance(out, Chunk)
    address = message.data.column("v").chunk(0).buffers()[1].address
    assert out.data.column("x").chunk(0).buffers()[1].address == address


def test_an_expression_that_fails_on_a_row_is_null_there() -> None:
    executor = a_project(n=expr('CAST("s" AS BIGINT)', "BIGINT", "s"), v=V)
    assert TEXT.run(executor, "chunk: 10:40 1 12 0; 10:40 2 x 1") == ["chunk: 12 1 0; . 2 1"]


def test_watermarks_follow_the_expressions() -> None:
    executor = a_project(u=T, hour=HOUR, secs=SECONDS, v=V, s=expr('"s"', "VARCHAR", "s"))
    assert TEXT.run(executor, "watermark t 10:40 idle") == [
        "watermark u 10:40 idle",
        "watermark hour 10:00 idle",
        "watermark secs 1666262400 idle",
    ]
    assert TEXT.run(executor, "watermark v 7") == ["watermark v 7"]
    assert TEXT.run(executor, "watermark t none", "watermark t end finished") == [
        "watermark u none",
        "watermark hour none",
        "watermark secs none",
        "watermark u end finished",
        "watermark hour end finished",
        "watermark secs end finished",
    ]


@pytest.mark.parametrize(
    "lost",
    [
        expr('-"v"', "BIGINT", "v"),  # not monotone
        expr('"v" / 2', "DOUBLE", "v", monotone_in="v"),  # no event-time type
    ],
)
def test_a_watermark_that_is_lost_says_nothing(lost: Expr) -> None:
    assert TEXT.run(a_project(x=lost), "watermark v 7") == []


def test_a_derivation_that_fails_repeats_the_last_value() -> None:
    far = expr("\"t\" + INTERVAL '1 hour'", "TIMESTAMP", "t", monotone_in="t")
    executor = a_project(u=far)
    assert TEXT.run(executor, "watermark t 10:40") == ["watermark u 11:40"]
    assert TEXT.run(executor, f"watermark t {2**63 - 5}") == ["watermark u 11:40"]


def test_the_engine_is_asked_once_per_value() -> None:
    executor = a_project(hour=HOUR)
    TEXT.run(executor, "watermark t 10:40")
    executor._engine = None  # type: ignore[assignment]
    assert TEXT.run(executor, "watermark t 10:40 idle") == ["watermark hour 10:00 idle"]


def test_barriers_and_statuses_pass() -> None:
    lines = ["status idle s0", "barrier 3"]
    assert TEXT.run(a_project(v=V), *lines) == lines
