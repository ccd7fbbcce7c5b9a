"""The list is compared with DuckDB's, and what it allows is tried with arguments nobody means."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path
from typing import Final

import duckdb
import pytest

from kits.frontend import job
from kits.functions_page import PAGE, page
from kits.hostile import FORMS, calls, outcomes
from kits.many import seeds
from tidegate.engine.engine import Engine
from tidegate.frontend.expressions.allowlist import FUNCTIONS, GROUPS, REFUSED, refusal
from tidegate.frontend.expressions.functions import OPERATORS, PROC_TIME
from tidegate.frontend.expressions.guards import GUARDS
from tidegate.frontend.expressions.rewrites import REWRITES

_SAMPLE: Final = 12
"""Functions of each part of `make test`; ``MANY=1`` tries all."""


def _of_duckdb(condition: str = "true") -> frozenset[str]:
    rows = duckdb.execute(
        "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE function_type IN"
        f" ('scalar', 'macro') AND lower(function_name) SIMILAR TO '[a-z_].*' AND {condition}"
    ).fetchall()
    return frozenset(name for (name,) in rows)


def test_each_function_of_duckdb_is_allowed_or_refused_with_a_reason() -> None:
    """What this names is new in a release of DuckDB: it goes into one of the two tables."""
    known = FUNCTIONS | REWRITES.keys() | PROC_TIME
    assert sorted(name for name in _of_duckdb() - known if refusal(name) is None) == []
    assert sorted(FUNCTIONS - _of_duckdb() - OPERATORS) == []


def test_no_function_stands_in_two_places() -> None:
    names = [name for group in GROUPS.values() for name in group]
    assert sorted(names) == sorted(FUNCTIONS)
    reasons = {
        name: [reason for reason, pattern in REFUSED.items() if pattern.fullmatch(name)]
        for name in _of_duckdb() | FUNCTIONS
    }
    assert {name: found for name, found in reasons.items() if len(found) > 1} == {}
    assert [name for name in FUNCTIONS if reasons[name]] == []
    assert GUARDS.keys() <= FUNCTIONS


def test_what_changes_from_call_to_call_is_refused() -> None:
    assert _of_duckdb("stability <> 'CONSISTENT'") & FUNCTIONS == frozenset()


@pytest.mark.slow
def test_none_reads_files(tmp_path: Path) -> None:
    """Nor does DuckDB when asked, whatever the list says: a second lock."""
    secret = tmp_path / "secret.json"
    secret.write_text('"sesame"')
    engine = Engine()
    for name in sorted(FUNCTIONS | {"read_text", "read_json", "glob"}):
        for text in (
            f"'{secret}'",
            f"'{secret}', '{secret}'",
            f"['{secret}']",
            f"'file://{secret}'",
        ):
            for sql in (f'SELECT "{name}"({text})', f'SELECT * FROM "{name}"({text})'):
                with suppress(duckdb.Error):
                    assert "sesame" not in str(engine.query(sql).to_pylist()), sql
    for sql in (f"SELECT * FROM '{secret}'", f"COPY (SELECT 1) TO '{secret}'", "INSTALL httpfs"):
        with pytest.raises(duckdb.Error):
            engine.query(sql)


@pytest.mark.parametrize(
    "text",
    [
        *("customer_name LIKE 'a%' ESCAPE '!'", "customer_name ~* 'a'", "id ** 2", "id % 2 = 1"),
        *("~id & 1 | 2 << 3", "[id, 1][1]", "[1, 2, 3][1:2]", "{'a': id}", "z AT TIME ZONE 'UTC'"),
        *("position('a' IN customer_name)", "extract(day FROM t)", "trim(customer_name)"),
        *("customer_name -> '$.a'", "customer_name ->> '$.a'", "[1] && [id]"),
        *("CASE id WHEN 1 THEN 2 ELSE 3 END", "id IS DISTINCT FROM 1", "id NOT IN (1, 2)"),
        *("substring(customer_name FROM 1 FOR 2)", "customer_name ^@ 'x'", "TRY_CAST('a' AS INT)"),
    ],
)
def test_operators_and_casts(text: str) -> None:
    job(f"SELECT {text} AS x FROM plain")


def test_the_page_is_what_the_module_says() -> None:
    assert PAGE.read_text() == page(), "make tables"


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(4))
def test_no_allowed_function_ends_hangs_or_fills_a_process(seed: int) -> None:
    """Arguments that are deep, long, extreme or no values at all give a value or NULL."""
    names = sorted(FUNCTIONS | FORMS.keys())
    random.Random(seed).shuffle(names)
    share = names if len(seeds(4)) > 1 else [*names[:_SAMPLE], *sorted(GUARDS)[seed::3]]
    wrong = [
        (call, answer)
        for call, answer in outcomes(calls(share, seed, 1))
        if answer != "ok" and not answer.startswith("refused")
    ]
    assert not wrong, f"seed {seed}"
