from __future__ import annotations

import pyarrow as pa
import pytest

from kits.frontend import job
from tidegate.engine.engine import shared_engine
from tidegate.errors import SqlError
from tidegate.executor.evaluate import evaluate
from tidegate.plan.nodes import Expr

_LONG = "x" * 1_001
_VAST = "x" * 400_000


def _bound(text: str) -> Expr:
    (sink,) = job(f"SELECT {text} AS x, id FROM plain").sinks
    expr: Expr = dict(sink.input.columns)["x"]  # type: ignore[attr-defined]
    return expr


@pytest.mark.parametrize(
    ("text", "names", "ids", "expected"),
    [
        ("levenshtein(customer_name, 'abc')", ["abd", _VAST, None], [0, 0, 0], [1, None, None]),
        ("jaro_similarity(customer_name, customer_name)", ["a", _LONG], [0, 0], [1.0, None]),
        ("lpad(customer_name, CAST(id AS INT), '-')", ["a", "a"], [3, 100_001], ["--a", None]),
        ("repeat(customer_name, id)", ["ab", "ab", _LONG], [2, 2**62, 100], ["abab", None, None]),
        ("regexp_matches('xa', customer_name)", ["a", "(", _LONG], [0, 0, 0], [True, None, None]),
        ("'xa' ~ customer_name", ["a", "(", _LONG], [0, 0, 0], [True, None, None]),
        ("replace(customer_name, 'a', customer_name)", ["ba", "a" * 10_000], [0, 0], ["bba", None]),
        ("printf(customer_name, id)", ["%d", "%2000000000d", "%*d"], [7, 7, 7], ["7", None, None]),
        ("hour(z AT TIME ZONE customer_name)", ["Asia/Tokyo", _VAST], [0, 0], [9, None]),
        ("hour(timezone(customer_name, z))", ["Asia/Tokyo", _VAST], [0, 0], [9, None]),
        ("json_contains(customer_name, '1')", ["[1]", "[" * 20_000], [0, 0], [True, None]),
    ],
)  # fmt: skip
def test_a_row_past_the_bound_is_null(
    text: str, names: list[str | None], ids: list[int], expected: list[object]
) -> None:
    midnight = pa.array([0] * len(ids), pa.timestamp("us", "UTC"))
    data = pa.table({"customer_name": pa.array(names, pa.string()), "id": ids, "z": midnight})
    (values,) = evaluate(shared_engine(), data, [_bound(text)])
    assert values.to_pylist() == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lpad(customer_name, 2000000000, 'x')", "at most a length of 100,000 characters"),
        ("repeat('ab', 50001)", "at most a result of 100,000 bytes"),
        ("printf('%2000000000d', id)", "at most widths of 999"),
        (f"regexp_matches(customer_name, '{_LONG}')", "at most a pattern of 1,000 bytes"),
    ],
)
def test_constants_past_the_bound_are_errors(text: str, said: str) -> None:
    with pytest.raises(SqlError) as caught:
        _bound(text)
    assert said in caught.value.render()


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("lpad(customer_name, 5, '0')", "lpad(\"customer_name\", 5, '0')"),
        ("replace(customer_name, 'a', 'b')", "replace(\"customer_name\", 'a', 'b')"),
        ("regexp_matches(customer_name, 'a')", "regexp_matches(\"customer_name\", 'a')"),
        ("customer_name ~ 'a'", "REGEXP_MATCHES(\"customer_name\", 'a')"),
    ],
)
def test_what_constants_decide_costs_no_row_anything(text: str, sql: str) -> None:
    assert _bound(text).sql == sql
