"""Bad input, bad outputs, bad checkpoints: one clear message, the right exit code, no traceback."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from oracle.jobs import expected, write
from spark.orders import order_lines, orders_job, problems_of
from spark.processes import Commands, Finished, Warm

SPLITS = {"a": [order_lines(41, 150)], "b": [order_lines(42, 150)]}


@pytest.fixture(scope="module")
def whole(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a job that was run to its end."""
    directory = tmp_path_factory.mktemp("whole")
    spec = orders_job(SPLITS)
    file = write(spec, directory)
    ran = warm.run("run", file, "--checkpoint", directory / "checkpoint", cwd=directory)
    assert ran.code == 0, ran.err
    assert problems_of(spec, expected(spec), directory, directory / "checkpoint") == []
    return directory


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    """A checkpoint of that job, to be ruined."""
    return shutil.copytree(whole / "checkpoint", tmp_path / "checkpoint")


def told(ran: Finished, code: int, *words: str) -> None:
    """It said what is wrong, and no more than that."""
    assert ran.code == code, ran.err
    for word in words:
        assert word in ran.err
    assert "Traceback" not in ran.err
    assert "internal error" not in ran.err
    assert "  File " not in ran.err
    assert 0 < len(ran.err.splitlines()) <= 6, ran.err


def test_a_path_that_is_missing(warm: Warm, tmp_path: Path) -> None:
    file = write(orders_job(SPLITS), tmp_path)
    shutil.rmtree(tmp_path / "in")
    told(warm.run("run", file, cwd=tmp_path), 2, f"{tmp_path}/in/orders", "nothing found", "hint:")


def test_an_output_that_cannot_be_written(warm: Warm, tmp_path: Path) -> None:
    file = write(orders_job(SPLITS), tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "dear").write_text("a file stands where the directory goes")
    told(warm.run("run", file, cwd=tmp_path), 1, f"{tmp_path}/out/dear", "cannot write", "hint:")


def test_a_checkpoint_that_cannot_be_written(warm: Warm, tmp_path: Path) -> None:
    file = write(orders_job(SPLITS), tmp_path)
    ran = warm.run("run", file, "--checkpoint", file, cwd=tmp_path)
    told(ran, 2, f"checkpoint {file}", "hint:")


def test_a_checkpoint_of_another_job(warm: Warm, copied: Path, tmp_path: Path) -> None:
    spec = orders_job(SPLITS)
    file = write(spec, tmp_path)
    file.write_text(file.read_text().replace("price >= 50", "price >= 51"))
    ran = warm.run("run", file, "--checkpoint", copied, cwd=tmp_path)
    told(ran, 2, "belongs to another job", "hint:")


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _newest(directory: Path) -> Path:
    return max(path for path in directory.iterdir() if path.stem.isdigit())


RUINS: dict[str, Callable[[Path], Path]] = {
    "offset": lambda checkpoint: _newest(checkpoint / "spark/offsets"),
    "entry": lambda checkpoint: _newest(checkpoint / "epochs"),
    "description": lambda checkpoint: checkpoint / "job.json",
}


@pytest.mark.parametrize("what", RUINS)
def test_a_corrupt_checkpoint(what: str, warm: Warm, whole: Path, copied: Path) -> None:
    path = RUINS[what](copied)
    _cut(path)
    ran = warm.run("run", whole / "job.sql", "--checkpoint", copied, cwd=whole)
    told(ran, 4, str(path), "corrupt", "hint:")


def test_a_torn_commit_is_made_anew(warm: Warm, whole: Path, copied: Path) -> None:
    path = _newest(copied / "spark/commits")
    _cut(path)
    ran = warm.run("run", whole / "job.sql", "--checkpoint", copied, cwd=whole)
    assert ran.code == 0, ran.err
    assert f"{path} was torn or changed" in ran.err
    assert "the job has finished" in ran.err


def test_a_checkpoint_whose_epoch_log_lost_its_end(warm: Warm, whole: Path, copied: Path) -> None:
    _newest(copied / "epochs").unlink()
    ran = warm.run("run", whole / "job.sql", "--checkpoint", copied, cwd=whole)
    told(ran, 4, "is not whole", "hint:")


def test_debug_shows_the_trace_and_keeps_the_exit_code(
    warm: Warm, whole: Path, copied: Path
) -> None:
    _cut(_newest(copied / "spark/offsets"))
    ran = warm.run("run", whole / "job.sql", "--checkpoint", copied, "--debug", cwd=whole)
    assert ran.code == 4
    assert "Traceback" in ran.err
    assert "TrustError" in ran.err


def test_a_source_that_breaks_while_it_is_read(warm: Warm, tmp_path: Path) -> None:
    """An error in a worker comes back as what it is."""
    file = write(orders_job(SPLITS), tmp_path)
    file.write_text(
        file.read_text().replace(
            "ENCODE JSON;\n\nCREATE SINK r", "ENCODE PARQUET;\n\nCREATE SINK r"
        )
    )
    for path in (tmp_path / "in/orders").rglob("*.json"):
        path.rename(path.with_suffix(".parquet"))
    ran = warm.run("run", file, cwd=tmp_path)
    assert ran.code in (1, 4), ran.err
    assert "000.parquet" in ran.err
    assert "Traceback" not in ran.err
    assert "internal error" not in ran.err


def test_spark_that_does_not_start(tidegate: Commands, tmp_path: Path) -> None:
    file = write(orders_job(SPLITS), tmp_path)
    told(
        tidegate.run("run", file, "--master", "local[nowhere]"), 1, "Spark did not start", "nowhere"
    )
