"""A job that was rescaled gives what one that was not gives: windows stay open in between.

Three numbers of tasks, up, down, and one that does not divide the vnodes; killed wherever a rescale
can die; and every kind of state there is, with the watermark filters in readers and in a stage.
"""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest

from oracle.jobs import JobSpec, expected, write
from spark.orders import BEGIN_US, SECOND_US, order_lines, orders_job, problems_of, read_parts
from spark.processes import Commands, Warm, wait_until
from spark.test_views import table_of
from tidegate.epochs.checkpoint import Checkpoint

MINUTE_US = 60 * SECOND_US
MONITORED = "'source.monitor-interval' = '1 s'"
SHORT = ("--set", "tidegate.epoch.rows.max=400")
"""Three epochs between two rescales: state is a snapshot and changes behind it."""


def growing(parts: int) -> JobSpec:
    """The unbounded job when each of its splits has ``parts`` files, two minutes each."""
    splits = {
        split: [
            order_lines(seed * 10 + part, 300, BEGIN_US + part * 2 * MINUTE_US)
            for part in range(parts)
        ]
        for seed, split in ((5, "a"), (6, "b"), (7, "c"))
    }
    return orders_job(splits, MONITORED, bounded=False)


def grow(directory: Path, parts: int) -> JobSpec:
    """Brings the input of the job in ``directory`` to ``parts`` files."""
    spec = growing(parts)
    for split, files in spec.splits.items():
        for number, content in enumerate(files):
            path = directory / "in/orders" / split / f"{number:03d}.json"
            if not path.exists():
                path.with_suffix(".part").write_bytes(content)
                path.with_suffix(".part").rename(path)
    return spec


def rows_kept(checkpoint: Path) -> dict[str, int]:
    """The rows in state when the job stopped, by operator."""
    last = Checkpoint(str(checkpoint))
    entry = last.entry(last.last_epoch())
    assert entry is not None
    operators = [each for fragment in entry.work.state.values() for each in fragment.items()]
    return {name: state.rows for name, state in operators if state.rows}


def test_up_and_down(warm: Warm, tmp_path: Path) -> None:
    file, checkpoint = write(growing(1), tmp_path), tmp_path / "checkpoint"
    args = ["run", file, "--available-now", "--checkpoint", checkpoint, *SHORT]
    ran = warm.run(*args, cwd=tmp_path)
    assert ran.code == 0, ran.err
    before = 2
    for parts, tasks in ((2, 4), (3, 3)):
        epoch = Checkpoint(str(checkpoint)).last_epoch()
        assert rows_kept(checkpoint).keys() == {"FinalAggregate", "SortRuns"}
        rescaled = warm.run("rescale", checkpoint, "--parallelism", tasks, cwd=tmp_path)
        assert rescaled.code == 0, rescaled.err
        assert f"from {before} to {tasks} partitions in epoch {epoch + 1}\n" in rescaled.err
        assert f"done: from {before} to {tasks} parallel tasks" in rescaled.err
        spec = grow(tmp_path, parts)
        ran = warm.run(*args, cwd=tmp_path)
        assert ran.code == 0, ran.err
        assert f"{tasks} parallel tasks" in ran.err
        assert problems_of(spec, expected(spec), tmp_path, checkpoint) == []
        before = tasks
    again = warm.run("rescale", checkpoint, "--parallelism", 3, cwd=tmp_path)
    assert (again.code, again.err) == (0, "the job has 3 parallel tasks already: nothing to do\n")


DIES = ("rescale-recorded", "rescale-planned", "rescale-entered")
"""Before Spark is there."""


def test_killed_wherever_it_can_die(
    warm: Warm, tidegate: Commands, drivers: Commands, tmp_path: Path
) -> None:
    file, checkpoint = write(growing(1), tmp_path), tmp_path / "checkpoint"
    args = ["run", file, "--available-now", "--checkpoint", checkpoint, *SHORT]
    ran = warm.run(*args, cwd=tmp_path)
    assert ran.code == 0, ran.err
    epoch = Checkpoint(str(checkpoint)).last_epoch() + 1

    for place in DIES:
        dead = tidegate.run(
            "rescale", checkpoint, "--parallelism", 4, TIDEGATE_FAILPOINTS=f"{place}:{epoch}"
        )
        assert dead.code == -signal.SIGKILL, dead.err
        refused = warm.run(*args, cwd=tmp_path)
        assert refused.code == 2, refused.err
        assert "half way from 2 parallel tasks to 4" in refused.err

    # While Spark writes: undone, after which the job runs as if nothing had been.
    die_in_the_state(tidegate, checkpoint, epoch)
    for kept in ("checkpoint", "out"):
        shutil.copytree(tmp_path / kept, tmp_path / "half-way" / kept)
    other = warm.run("rescale", checkpoint, "--parallelism", 3, cwd=tmp_path)
    assert other.code == 2
    assert "finish it with --parallelism 4, or undo it with 2" in other.err
    undone = warm.run("rescale", checkpoint, "--parallelism", 2, cwd=tmp_path)
    assert undone.code == 0, undone.err
    assert "undone: the job goes on with 2 parallel tasks" in undone.err
    spec = grow(tmp_path, 2)
    ran = warm.run(*args, cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert problems_of(spec, expected(spec), tmp_path, checkpoint) == []

    # The same death, and finished; then killed behind Spark's commit, when all is done.
    for kept in ("checkpoint", "out"):
        shutil.rmtree(tmp_path / kept)
        (tmp_path / "half-way" / kept).rename(tmp_path / kept)
    dead = drivers.run(
        *("rescale", checkpoint, "--parallelism", 4),
        TIDEGATE_FAILPOINTS=f"rescale-moved:{epoch}",
    )
    assert dead.code == -signal.SIGKILL, dead.err
    assert "taking over the checkpoint from process" in dead.err
    assert "going on with the rescale from 2 to 4" in dead.err
    ran = warm.run(*args, cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert "4 parallel tasks" in ran.err
    assert problems_of(spec, expected(spec), tmp_path, checkpoint) == []


def die_in_the_state(tidegate: Commands, checkpoint: Path, epoch: int) -> None:
    """Kills a rescale to 4 when Spark has written the first of its partitions."""
    command = tidegate.start("rescale", checkpoint, "--parallelism", 4)
    state = checkpoint / "spark/state"
    wait_until(lambda: any(state.glob(f"0/*/{epoch}.zip")), "Spark writes state")
    command.kill_driver()
    assert command.wait().code == -signal.SIGKILL, command.err
    command.wait_for_family(30)
    assert not (checkpoint / "spark/commits" / str(epoch - 1)).exists()


JOB = """
CREATE SOURCE orders (id BIGINT, t BIGINT, p BIGINT, WATERMARK FOR t AS t - 5000)
WITH (connector = 'filesystem', path = '{0}/in', 'source.monitor-interval' = '1 s')
FORMAT PLAIN ENCODE JSON;
CREATE SINK sessions AS
SELECT window_start, window_end, id, count(*) AS n FROM SESSION(orders, t, id, 9000)
GROUP BY window_start, window_end, id EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '{0}/out/sessions') FORMAT PLAIN ENCODE JSON;
CREATE SINK leads AS
SELECT t, id, p, LAG(p) OVER w AS before, LEAD(p) OVER w AS after FROM orders
WINDOW w AS (PARTITION BY id ORDER BY t) EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '{0}/out/leads') FORMAT PLAIN ENCODE JSON;
CREATE SINK pairs AS
SELECT a.t, a.id, a.p, b.t AS u, b.p AS q FROM orders AS a JOIN orders AS b
ON a.id = b.id AND b.t BETWEEN a.t AND a.t + 12000 WHERE b.p > a.p EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '{0}/out/pairs') FORMAT PLAIN ENCODE JSON;
CREATE SINK sorted AS SELECT t, id, p FROM orders ORDER BY t EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '{0}/out/sorted') FORMAT PLAIN ENCODE JSON;
CREATE MATERIALIZED VIEW spent AS SELECT id, count(*) AS n, sum(p) AS total FROM orders GROUP BY id;
"""

PARTS = 3


def add_part(directory: Path, part: int) -> None:
    for number, split in enumerate("abcde"):
        rows = (
            {"id": at * 7 % 23, "t": at * 500 - at * 13 % 4000, "p": at * 31 % 97}
            for at in range(part * 150 + number, part * 150 + 150, 2)
        )
        path = directory / "in" / split / f"{part:03d}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


SINKS = ("sessions", "leads", "pairs", "sorted")


def run_parts(warm: Warm, directory: Path, tasks: tuple[int, ...], *settings: str) -> None:
    """The job over its parts, the last ones at once; behind each it has as many ``tasks``."""
    file, checkpoint = directory / "job.sql", directory / "checkpoint"
    file.write_text(JOB.format(directory))
    for part in range(PARTS):
        add_part(directory, part)
        if PARTS - 1 > part >= len(tasks):
            continue
        args = ["run", file, "--available-now", "--checkpoint", checkpoint, *settings]
        ran = warm.run(*args, cwd=directory)
        assert ran.code == 0, ran.err
        if part < len(tasks):
            assert len(rows_kept(checkpoint)) >= 4
            done = warm.run("rescale", checkpoint, "--parallelism", tasks[part], cwd=directory)
            assert done.code == 0, done.err


@pytest.fixture(scope="module")
def still(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the job has run, and was not rescaled."""
    directory = tmp_path_factory.mktemp("still")
    run_parts(warm, directory, ())
    return directory


@pytest.mark.parametrize(("pushdown", "tasks"), [(True, (5, 1)), (False, (8,))])
def test_every_kind_of_state(
    pushdown: bool, tasks: tuple[int, ...], still: Path, warm: Warm, tmp_path: Path
) -> None:
    setting = f"--set=tidegate.watermark.pushdown={str(pushdown).lower()}"
    run_parts(warm, tmp_path, tasks, setting)
    for sink in SINKS:
        found = read_parts(tmp_path / "out" / sink)
        wanted = read_parts(still / "out" / sink)
        assert len(wanted) > 100, sink
        if sink == "sorted":
            assert found == wanted
        assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, wanted)), sink
    views = [table_of(directory / "checkpoint", "spent") for directory in (tmp_path, still)]
    assert views[0] == views[1]
    assert sum(n for _, n, _ in views[0]) == sum(
        len(path.read_text().splitlines()) for path in (still / "in").glob("*/*.json")
    )
