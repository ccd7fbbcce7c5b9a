"""A driver that is killed again and again while rows come in: nothing is lost, nothing doubled.

    python -m kafka.killing --seed 7 --kills 20      (or: make kill SEED=7 KILLS=20)

The *workload* writes into a topic of eight partitions without pause. The *nemesis* starts the job
and kills its driver inside an epoch that was never committed: at a failpoint between the sink's
write and the epoch's commit, or at any moment. When it has killed often enough the job runs to the
end of the topic, and the *checker* compares with the oracle. One run lives until it calls the
partition without rows idle, before it is killed. None knows of the others but what a person could
see: topics, checkpoint, exit codes.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from kafka.broker import Cluster
from kafka.kit import Kit
from kafka.orders import gather, job_text, judged, rows_of
from kafka.workload import IDLE, PARTITIONS, Workload
from spark.orders import ledger_of
from spark.processes import Commands, wait_until

FAILPOINTS: Final = ("after-staging", "after-entry", "after-publish")
IDLE_S: Final = 2
_ROWS_MIN: Final = 1_800
_ROWS_MAX: Final = 600


@dataclass
class Verdict:
    """What came out: problems, and what the run was made of."""

    problems: list[str]
    killed: list[tuple[int, str]] = field(default_factory=list)  # epoch, where
    reasons: set[str] = field(default_factory=set)
    rows: int = 0
    closed: int = 0


Ends = Mapping[str, int]
"""How many messages each split has."""


def finish(commands: Commands, args: list[object], checkpoint: Path, ends: Ends) -> None:
    """Runs the job until it has read all that there is, and stops it as a person would."""
    command = commands.start(*args)
    wait_until(lambda: read_offsets(checkpoint) == ends, "all is read", 300)
    command.send(signal.SIGTERM)
    ended = command.wait()
    assert ended.code == 0, ended.err
    command.wait_for_family(30)


def run(
    kit: Kit,
    commands: Commands,
    seed: int,
    kills: int,
    last_run: Callable[[Commands, list[object], Path, Ends], None] = finish,
) -> Verdict:
    """One run under ``seed``, in the directory of ``commands``."""
    rng = Random(seed)
    source = kit.topic(f"killing-in-{seed}", partitions=PARTITIONS)
    sink = kit.topic(f"killing-out-{seed}", partitions=2)
    file, checkpoint = commands.cwd / "job.sql", commands.cwd / "checkpoint"
    log = commands.cwd / "gathered"
    options = {"scan.watermark.idle-timeout": f"{IDLE_S} s"}
    file.write_text(job_text(kit, source, sink, options))
    args: list[object] = ["run", file, "--checkpoint", checkpoint, "--json"]
    args += ["--set", "tidegate.epoch.interval=200ms"]
    args += ["--set", f"tidegate.epoch.rows.max={_ROWS_MAX}"]
    killed: list[tuple[int, str]] = []
    with Workload(kit, source, seed) as workload:
        for number in range(kills):
            if number == kills * 2 // 3:
                workload.wake()
            last = killed[-1][0] if killed else 0
            idle = f"{source}-{IDLE}" if number == kills // 3 else ""
            killed.append(_kill(commands, args, checkpoint, rng, last, idle))
            gather(checkpoint, log)
            print(f"killed {number + 1} of {kills}: epoch {killed[-1]}", flush=True)
        workload.finish()
        workload.put_at_once(_ROWS_MIN)  # where all went fast
        workload.put_last()
        last_run(commands, args, checkpoint, kit.ends(source))
    messages = kit.read(source)
    gather(checkpoint, log)
    wanted = judged(messages, source, log)
    rows = rows_of(kit, sink)
    problems = wanted.problems(rows, ledger_of(checkpoint))
    epochs = [epoch for epoch, _ in killed]
    if len(set(epochs)) != len(epochs):
        problems.append(f"two kills were in one epoch: {epochs}")
    return Verdict(problems, killed, wanted.reasons, sum(map(len, messages.values())), len(rows))


def _kill(
    commands: Commands, args: list[object], checkpoint: Path, rng: Random, last: int, idle: str
) -> tuple[int, str]:
    """Starts the job and ends it in an epoch behind ``last`` that Spark has not committed.

    If a split shall be ``idle`` by then, it is any such epoch.
    """
    epoch = last + rng.randint(1, 3)
    where = "anywhere" if idle else rng.choice((*FAILPOINTS, *FAILPOINTS, "anywhere"))
    if where == "anywhere":
        command = commands.start(*args)
        if idle:
            wait_until(lambda: _is_idle(checkpoint, idle), f"{idle} is idle")
            epoch = max(epoch, _committed(checkpoint) + 1)
        wait_until(lambda: _planned(checkpoint) >= epoch, f"epoch {epoch} is planned")
        command.kill_driver()
    else:
        command = commands.start(*args, TIDEGATE_FAILPOINTS=f"{where}:{epoch}")
    ended = command.wait()
    assert ended.code == -signal.SIGKILL, f"not killed {where}:{epoch}: {ended.err}"
    command.wait_for_family(30)  # its own JVM dies with it: nothing writes on in its name
    return _committed(checkpoint) + 1, where


def _numbers(directory: Path) -> list[int]:
    return [int(path.name) for path in directory.glob("*") if path.name.isdigit()]


def _committed(checkpoint: Path) -> int:
    """The last epoch that Spark has committed."""
    return max(_numbers(checkpoint / "spark" / "commits"), default=-1) + 1


def _planned(checkpoint: Path) -> int:
    return max(_numbers(checkpoint / "spark" / "offsets"), default=-1) + 1


def read_offsets(checkpoint: Path) -> dict[str, int]:
    """Up to which offset the newest entry has read each split."""
    offsets: dict[str, int] = _entry(checkpoint)["next_offsets"].get("orders", {})
    return offsets


def _is_idle(checkpoint: Path, split: str) -> bool:
    return bool(_entry(checkpoint)["statuses"]["orders"].get(split) == 1)


def _entry(checkpoint: Path) -> dict[str, Any]:
    """The newest entry of the epoch log."""
    entries = sorted((checkpoint / "epochs").glob("*.json"))
    if not entries:
        return {"next_offsets": {}, "statuses": {"orders": {}}}
    entry: dict[str, Any] = json.loads(entries[-1].read_text())
    return entry


def main() -> int:
    """Runs one seed and says what came out."""
    parser = argparse.ArgumentParser(prog="make kill", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidegate-kill-") as directory:
        base = Path(directory)
        with Cluster(base / "kafka") as cluster, Commands(base) as commands:
            verdict = run(Kit(cluster.bootstrap), commands, given.seed, given.kills)
    print(
        f"seed {given.seed}: {len(verdict.killed)} kills, {verdict.rows:,} rows in,"
        f" {verdict.closed:,} windows out, in the ledger: {', '.join(sorted(verdict.reasons))}"
    )
    for problem in verdict.problems:
        print(f"WRONG (seed {given.seed}): {problem}")
    print("the oracle agrees" if not verdict.problems else "the oracle disagrees")
    return 1 if verdict.problems else 0


if __name__ == "__main__":
    sys.exit(main())
