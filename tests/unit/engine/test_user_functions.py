from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from tidegate.engine.engine import Engine
from tidegate.errors import RunError
from tidegate.plan.user_functions import UserFunction

_SOURCE = "def twice(x):\n    return None if x is None else x * 2"
_TWICE = UserFunction(
    "twice",
    ("BIGINT",),
    "BIGINT",
    "def twice(x):\n    return None if x is None else x * 2",
    "twice",
)
_ROWS = pa.table({"x": [1, None, 3]})


def _values(function: UserFunction, expression: str, rows: pa.Table = _ROWS) -> list[object]:
    engine = Engine("UTC", (function,))
    found: list[object] = engine.query(f"SELECT {expression} AS y FROM r", {"r": rows})[
        0
    ].to_pylist()
    return found


def test_for_each_row() -> None:
    assert _values(_TWICE, "twice(x)") == [2, None, 6]


def test_for_many_rows() -> None:
    code = "import pyarrow.compute as pc\ndef add(x, y):\n    return pc.add(x, y)"
    add = UserFunction("add_all", ("BIGINT", "BIGINT"), "BIGINT", code, "add", vectorized=True)
    assert _values(add, "add_all(x, 10)") == [11, None, 13]


def test_times() -> None:
    code = "def later(t, flag):\n    return t if flag else None"
    later = UserFunction("later", ("TIMESTAMP", "BOOLEAN"), "TIMESTAMP", code, "later")
    moment = dt.datetime(2024, 1, 1, 12)
    rows = pa.table({"t": pa.array([moment, moment], pa.timestamp("us")), "f": [True, False]})
    assert _values(later, "later(t, f)", rows) == [moment, None]


def test_what_it_raises_fails_its_row() -> None:
    code = "def odd(x):\n    if x == 3: raise ValueError(x)\n    return x"
    odd = UserFunction("odd", ("BIGINT",), "BIGINT", code, "odd")
    assert _values(odd, "TRY(odd(x))") == [1, None, None]


def test_dataclasses() -> None:
    code = (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n"
        "def f(x):\n    return P(x).x"
    )
    assert _values(UserFunction("f", ("BIGINT",), "BIGINT", code, "f"), "f(x)") == [1, None, 3]


@pytest.mark.parametrize(
    "code", ["import sys; sys.exit()", "import no_such_module", "1 / 0", "x = 1"]
)
def test_a_source_that_does_not_run(code: str) -> None:
    with pytest.raises(RunError, match="'twice' does not run"):
        Engine("UTC", (UserFunction("twice", ("BIGINT",), "BIGINT", code, "twice"),))


def test_a_function_of_other_parameters() -> None:
    with pytest.raises(RunError, match="'twice' does not fit"):
        Engine("UTC", (UserFunction("twice", ("BIGINT",) * 2, "BIGINT", _SOURCE, "twice"),))
