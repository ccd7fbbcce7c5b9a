"""The same job, however it is cut into epochs and tasks, and however often its driver dies.

Every run must give the oracle's output (in order, where the sink has one) and the oracle's ledger,
so all are identical.
"""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from oracle.jobs import Expected, JobSpec, expected, write
from spark.orders import order_lines, orders_job, problems_of, reasons
from spark.processes import Commands, Warm
from tidegate.epochs.ledger_share import TRAVEL_BYTES_MAX


def with_huge(lines: bytes) -> bytes:
    """A malformed line before each hundred, so long that its reader stages it by itself."""
    huge = b"{" + b"x" * TRAVEL_BYTES_MAX + b"\n"
    kept = lines.splitlines(keepends=True)
    return b"".join(huge + b"".join(kept[at : at + 100]) for at in range(0, len(kept), 100))


SPLITS = {
    "a": [order_lines(11, 450), order_lines(12, 450, begin_us=1_714_550_580_000_000)],
    "b": [with_huge(order_lines(13, 850))],
    "c": [order_lines(14, 825, step_us=430_000)],
}
"""2,584 rows: two epochs of at most 2,500, four of at most 650, seven of at most 400."""

ROWS_MAX = {"400": 7, "650": 4, "2_500": 2, "unlimited": 1}
"""tidegate.epoch.rows.max, and how many epochs that makes at least."""

PAIRS = [("650", 4), ("2_500", 1), ("2_500", 4), ("unlimited", 1), ("unlimited", 2)]
"""Settings of the runs that nobody kills; `make sim` has all pairs of many more."""

KILLED = ("400", 2)
"""Those of the run that is killed."""

KILLS = ["after-staging:1", "after-entry:3", "after-publish:5"]
"""Each ends the driver in one epoch, which Spark has not committed then."""


@dataclass(frozen=True)
class Job:
    spec: JobSpec
    wanted: Expected


@pytest.fixture(scope="module")
def job() -> Job:
    spec = orders_job(SPLITS)
    wanted = expected(spec)
    assert set(reasons(wanted)) == {"future", "late", "malformed", "null_time"}
    assert min(len(output.rows) for output in wanted.outputs.values()) > 40
    return Job(spec, wanted)


@pytest.mark.parametrize(("rows_max", "parallelism"), PAIRS)
def test_any_epochs_and_any_parallelism(
    rows_max: str, parallelism: int, warm: Warm, job: Job, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    ran = warm.run(
        *("run", write(job.spec, tmp_path), "--checkpoint", checkpoint, "--json"),
        *("--set", f"tidegate.epoch.rows.max={rows_max}"),
        *("--set", f"tidegate.parallelism={parallelism}"),
        cwd=tmp_path,
    )
    assert ran.code == 0, ran.err
    assert problems_of(job.spec, job.wanted, tmp_path, checkpoint) == []
    assert len(ran.out.splitlines()) - 1 >= ROWS_MAX[rows_max]


def test_killed_three_times(drivers: Commands, job: Job, tmp_path: Path) -> None:
    file, checkpoint = write(job.spec, tmp_path), tmp_path / "checkpoint"
    args = ["run", file, "--checkpoint", checkpoint, "--json"]
    rows_max, parallelism = KILLED
    args += ["--set", f"tidegate.epoch.rows.max={rows_max}"]
    args += ["--set", f"tidegate.parallelism={parallelism}"]
    killed = []
    for place in KILLS:
        command = drivers.start(*args, TIDEGATE_FAILPOINTS=place)
        ended = command.wait()
        assert ended.code == -signal.SIGKILL, f"not killed {place}: {ended.err}"
        epoch = int(place.split(":")[1])
        committed = checkpoint / "spark" / "commits"
        assert not (committed / str(epoch - 1)).exists(), f"epoch {epoch} was committed"
        killed.append(epoch)
        command.wait_for_family(30)
    assert len(set(killed)) == len(KILLS)

    ended = drivers.run(*args)
    assert ended.code == 0, ended.err
    assert "taking over the checkpoint" in ended.err
    assert problems_of(job.spec, job.wanted, tmp_path, checkpoint) == []
    last = json.loads(ended.out.splitlines()[-1])
    assert last["event"] == "done"
    assert last["epoch"] >= ROWS_MAX[rows_max] > max(killed)
