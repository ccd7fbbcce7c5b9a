"""A connector of somebody else's package, found by its entry point (kits/outside)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulation.run import simulate
from tidegate.connectors import registry
from tidegate.connectors.option_types import OptionProblem
from tidegate.errors import BindError
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut

OUTSIDE = Path(__file__).parents[2] / "kits" / "outside"

JOB = """
CREATE TABLE notes (id BIGINT, at TIMESTAMP, word VARCHAR,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH (connector = 'journal', {source});
CREATE TABLE counts (word VARCHAR, until TIMESTAMP, n BIGINT{more})
  WITH (connector = 'diary', {sink}) FORMAT PLAIN ENCODE JSON;
INSERT INTO counts (word, until, n) SELECT word, window_end, COUNT(*)
  FROM TUMBLE(notes, at, INTERVAL '10 SECONDS') GROUP BY word, window_end EMIT ON WINDOW CLOSE;
"""


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(OUTSIDE))
    _forget()
    yield
    _forget()


def _forget() -> None:
    registry.meant.cache_clear()
    registry._brought.cache_clear()


def job(source: str = "dir = '/in'", sink: str = "directory = '/out'", more: str = "") -> Any:
    return compile_sql(JOB.format(source=source, sink=sink, more=more), "job.sql", {})


@pytest.mark.slow
def test_a_job_over_it_runs(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(
        "1|2026-01-01 00:00:01|tide\n2|2026-01-01 00:00:12|gate\n3|2026-01-01 00:00:02|late\n"
    )
    (tmp_path / "b.log").write_text("1|2026-01-01 00:00:03|tide\nno number|2026-01-01|x\n")
    plan = cut(job(source=f"dir = '{tmp_path}'"), vnodes=2, pushdown=True)
    for seed in range(3):
        run = simulate(plan, seed)
        rows = sorted((row["word"], row["n"]) for row in run.outputs["counts"])
        assert rows == [("gate", 1), ("tide", 2)]
        told = sorted((row["split"], row["offset"], row["reason"]) for row in run.ledger)
        assert told == [("a", 2, "late"), ("b", 1, "malformed")]


def test_it_is_found_by_its_words() -> None:
    journal = registry.named("Journal")
    assert registry.named("diary") is journal
    assert journal in list(registry.connectors())


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ({"source": "separator = ','"}, "a 'journal' source needs the option 'directory'", "add"),
        (
            {"source": "dir = '/in', seperator = ','"},
            "unknown option 'seperator' of a 'journal' source",
            "did you mean 'separator'?",
        ),
        (
            {"sink": "dir = '/out', separator = 'ab'"},
            "option 'separator' = 'ab' is wrong: must be one ASCII character and no line end",
            "",
        ),
        (
            {"source": "dir = '/in', 'scan.watermark.idle-timeout' = '5 s'"},
            "option 'scan.watermark.idle-timeout' is not supported by connector 'journal'",
            "leave it out",
        ),
        (
            {"more": ", d INT"},
            "a line of 'counts' has at most 3 values",
            "write fewer columns",
        ),
    ],
)
def test_its_options_are_checked(given: dict[str, str], message: str, hint: str) -> None:
    with pytest.raises(BindError) as caught:
        job(**given)
    assert caught.value.message == message
    assert caught.value.hint.startswith(hint)
    assert caught.value.position is not None


def test_it_says_what_a_job_must_not_do() -> None:
    with pytest.raises(BindError, match="would write into what table 'notes' reads: '/in'") as e:
        job(sink="dir = '/in'")
    assert e.value.hint == "give it a directory of its own"


def test_it_says_what_is_secret() -> None:
    with pytest.raises(BindError) as caught:
        job(source="dir = '/in', password = 'sesame'")
    assert "sesame" not in caught.value.render()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "unmade",
            "connector 'unmade' cannot be loaded: No module named 'tidegate_journal.nowhere'",
        ),
        (
            "misnamed",
            (
                "tidegate_journal:CONNECTOR of the package tidegate-journal is not a connector"
                " 'misnamed'"
            ),
        ),
    ],
)
def test_one_that_cannot_be_loaded(name: str, message: str) -> None:
    with pytest.raises(OptionProblem) as caught:
        registry.named(name)
    assert caught.value.message == message
    assert "unknown" not in caught.value.hint


def test_it_is_known_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionProblem, match="unknown connector 'jurnal'") as caught:
        registry.named("jurnal")
    assert caught.value.hint == "did you mean 'journal'?"
    monkeypatch.undo()
    _forget()
    with pytest.raises(OptionProblem, match="unknown connector 'journal'"):
        registry.named("journal")
