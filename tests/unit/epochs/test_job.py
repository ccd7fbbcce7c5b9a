from __future__ import annotations

from pathlib import Path

from kits.spark import job_in
from tidegate.epochs.job import decode_job, worker_engine


def test_a_job_travels_as_text_and_is_unpacked_once(tmp_path: Path) -> None:
    job = job_in(tmp_path, rows_max=7)
    text = job.encode()
    assert decode_job(text) == job
    assert decode_job(text) is decode_job(text)


def test_a_worker_has_one_engine(tmp_path: Path) -> None:
    assert worker_engine(job_in(tmp_path)) is worker_engine(job_in(tmp_path, rows_max=7))
