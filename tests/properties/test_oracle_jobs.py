"""The random jobs: reproducible, varied, never without something to find."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from oracle.decode import read_split
from oracle.jobs import FORMS, JobSpec, diff_job, expected, random_job, write
from oracle.vocabulary import TIME_COLUMNS

SEEDS = range(120)


@pytest.fixture(scope="module")
def jobs() -> list[JobSpec]:
    return [random_job(seed) for seed in SEEDS]


@pytest.mark.slow
def test_a_seed_is_a_job(jobs: list[JobSpec]) -> None:
    again = random_job(SEEDS[7])
    assert again.text == jobs[7].text
    assert again.splits == jobs[7].splits


@pytest.mark.slow
def test_every_form_kind_reason_and_size_comes_up(jobs: list[JobSpec]) -> None:
    assert {job.form for job in jobs} == set(FORMS)
    assert {job.time_type for job in jobs} == {column.type for column in TIME_COLUMNS.values()}
    assert {job.bounded for job in jobs} == {True, False}
    assert max(len(job.accounts) for job in jobs) == 2
    results = [expected(job) for job in jobs]
    reasons = Counter(row.reason for result in results for row in result.ledger)
    assert set(reasons) == {"malformed", "null_time", "future", "late", "behind_merged"}
    assert min(reasons.values()) > 50
    assert sum(result.counts.filtered for result in results) > 50
    assert any(counts.read == 0 for result in results for counts in result.splits.values())
    assert any(output.ordered for result in results for output in result.outputs.values())
    at_watermark = sum(  # boundary rows of plain delays: lateness 1 is one unit below
        row.lateness == 1 for result in results for row in result.ledger
    )
    assert at_watermark > 0
    assert any((row.event_time or 0) < 0 for result in results for row in result.ledger)


@pytest.mark.slow
def test_how_a_split_is_cut_into_files_does_not_matter(jobs: list[JobSpec]) -> None:
    for job in jobs[:20]:
        whole = {
            split: [b"\n".join(file.removeprefix(b"\xef\xbb\xbf") for file in files)]
            for split, files in job.splits.items()
        }
        assert expected(replace(job, splits=whole)).ledger == expected(job).ledger


@pytest.mark.slow
def test_what_is_written_is_what_was_judged(jobs: list[JobSpec], tmp_path: Path) -> None:
    for job in jobs[:10]:
        directory = tmp_path / job.name
        file = write(job, directory)
        assert "$DIRECTORY" not in file.read_text(encoding="utf-8")
        for split, files in job.splits.items():
            found = [
                path.read_bytes()
                for path in sorted((directory / "in" / "orders" / split).iterdir())
            ]
            judged = list(read_split(job.table, split, files))
            assert list(read_split(job.table, split, found)) == judged


def test_diff_job_accepts_the_right_run_and_names_what_is_wrong() -> None:
    wanted = expected(random_job(SEEDS[3]))
    outputs = {sink: output.rows for sink, output in wanted.outputs.items()}
    ledger = [asdict(row) for row in wanted.ledger]
    counts = asdict(wanted.counts)
    assert diff_job(wanted, outputs, ledger, counts) == ""
    for sink, rows in outputs.items():
        assert f"sink {sink}" in diff_job(wanted, {**outputs, sink: rows[1:]}, ledger, counts)
        fewer = {name: rows for name, rows in outputs.items() if name != sink}
        assert "sinks: " in diff_job(wanted, fewer, ledger, counts)
    assert "ledger" in diff_job(wanted, outputs, ledger[1:], counts)
    assert "counts" in diff_job(wanted, outputs, ledger, {**counts, "late": counts["late"] + 1})
