from __future__ import annotations

import inspect

import pytest

from tidegate import errors
from tidegate.errors import Position, SqlError, TidegateError, did_you_mean

CLASSES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
TREE: list[type[TidegateError]] = [kind for kind in CLASSES if issubclass(kind, TidegateError)]


def test_exit_codes_are_those_of_the_command_line() -> None:
    codes = {kind.__name__: kind.exit_code for kind in TREE}
    assert codes == {
        "TidegateError": 1,
        "SqlError": 2,
        "SqlSyntaxError": 2,
        "BindError": 2,
        "UnsupportedError": 2,
        "OptionsError": 2,
        "RunError": 1,
        "SinkError": 1,
        "StoreError": 1,
        "InvariantError": 1,
        "RefusedError": 5,
        "SinkRefusedError": 5,
        "StoreRefusedError": 5,
        "LeaseHeldError": 3,
        "TrustError": 4,
    }


@pytest.mark.parametrize("kind", TREE)
def test_the_tree_stands_in_the_docstring(kind: type[TidegateError]) -> None:
    assert errors.__doc__ is not None
    (line,) = [x for x in errors.__doc__.splitlines() if f" {kind.__name__} " in f" {x} "]
    if kind.__base__ is TidegateError:
        assert f" {kind.exit_code} " in line


def test_an_error_says_what_was_found_and_what_to_do() -> None:
    assert str(TidegateError("wrong")) == "wrong"
    error = TidegateError("wrong", detail="found 1", hint="take 2")
    assert str(error) == error.render() == "wrong\nfound 1\nhint: take 2"


def test_an_error_in_sql_points_at_it() -> None:
    position = Position("job.sql", 3, 8, "SELECT pirce FROM orders", 5)
    error = SqlError("unknown column 'pirce'", position, detail="d", hint="did you mean 'price'?")
    assert error.render().split("\n") == [
        "job.sql:3:8: unknown column 'pirce'",
        "  SELECT pirce FROM orders",
        "         ^^^^^",
        "d",
        "hint: did you mean 'price'?",
    ]


@pytest.mark.parametrize(
    ("line", "column", "width", "caret"),
    [
        ("\tx", 2, 1, "   ^"),  # a tab is shown as one blank
        ("abc", 2, 99, "   ^^"),  # never beyond the line
        ("abc", 4, 1, "     ^"),  # at the end of the text
        ("abc", 1, 0, "  ^"),
    ],
)
def test_the_caret_stays_under_the_line(line: str, column: int, width: int, caret: str) -> None:
    rendered = SqlError("m", Position("f", 1, column, line, width)).render()
    assert rendered.split("\n")[2] == caret


def test_without_a_position_there_is_no_caret() -> None:
    assert SqlError("m", None, hint="h").render() == "m\nhint: h"


def test_did_you_mean() -> None:
    assert did_you_mean("prise", ["price", "id"]) == "did you mean 'price'?"
    assert did_you_mean("xyz", ["price", "id"]) == "known: id, price"
    assert did_you_mean("xyz", []) == ""


@pytest.mark.parametrize(
    ("word", "known", "near"),
    [
        ("ordres", ["orders", "order_time"], "orders"),
        ("FORM", ["FROM", "FOR"], "FROM"),
        ("id", ["ID", "if"], "ID"),
        ("monitor-interval", ["source.monitor-interval"], "source.monitor-interval"),
        ("customer", ["customer_id", "customers"], "customers"),
        ("customer", ["customer_id", "customer_name"], "customer_id"),
        ("csv.field-delimeter", ["csv.field-delimiter", "csv.quote-character"],
         "csv.field-delimiter"),
        ("window_time", ["window_end", "window_start"], ""),
        ("foo", ["floor", "for"], "for"),
        ("x", ["y", "xy"], ""),
        ("date_format", ["date_part", "date_trunc"], ""),
        ("datetime", ["date", "time"], ""),
    ],
)  # fmt: skip
def test_only_a_slip_is_near(word: str, known: list[str], near: str) -> None:
    hint = did_you_mean(word, known)
    assert hint == (f"did you mean '{near}'?" if near else f"known: {', '.join(sorted(known))}")


def test_long_lists_are_cut() -> None:
    hint = did_you_mean("nothing", [f"c{number:02}" for number in range(30)])
    assert hint.endswith("c18, c19 and 10 more")
