"""``make chaos``: a job on a cluster, broken again and again under a seed, and judged.

    python -m chaos --namespace NAMESPACE [--scenario executors] [--seed 1] [--kills 30] [--out DIR]

The namespace has a release of the chart with the job of `e2e.job`; without ``--namespace`` one is
made, and removed in the end. The *workload* writes without pause, the *nemesis* breaks one thing
after the other and waits each time until the job has come back, the *checker* compares with the
oracle. Drivers of local processes are killed by ``make kill``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Final

import yaml

from chaos import report
from chaos.checker import judge
from chaos.nemesis import SCENARIOS
from chaos.report import Kill
from chaos.watch import Watch
from e2e.conftest import deploy
from e2e.job import IN, NAME, DeployedJob, opened, values
from e2e.namespace import Namespace
from kafka.workload import Workload

EXECUTORS: Final = 2
_RECOVERY_S_MAX: Final = 300.0
_PAUSE_S: Final = (1.0, 4.0)


def main() -> int:
    """Runs a scenario and says what came out."""
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--namespace")
    parser.add_argument("--scenario", choices=SCENARIOS, default="executors")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--out", type=Path, default=Path("out/chaos"))
    given = parser.parse_args()
    with ExitStack() as stack:
        name = given.namespace or _deployed(stack)
        job = stack.enter_context(opened(Namespace(name)))
        return run(job, given.scenario, given.seed, given.kills, given.out)


def _deployed(stack: ExitStack) -> str:
    scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tidegate-chaos-")))
    file = scratch / "values.yaml"
    file.write_text(yaml.safe_dump(values()))
    deploy("up", "tidegate-chaos", file)
    stack.callback(deploy, "down", "tidegate-chaos", file)
    return "tidegate-chaos"


def run(job: DeployedJob, scenario: str, seed: int, kills: int, out: Path) -> int:
    """One run; 0 if its output is identical."""
    rng = Random(seed)
    happened: list[Kill] = []
    with Watch(job) as watch, Workload(job.kit, IN, seed) as workload:
        _recovery(job, watch, 0.0, 0)
        for number in range(kills):
            fault = rng.choice(SCENARIOS[scenario])(job.namespace)
            epoch, began_s = watch.epoch, watch.now_s
            what = fault.inject(rng)
            try:
                took_s = _recovery(job, watch, began_s, epoch)
            finally:
                fault.heal()
            happened.append(Kill(began_s, what, took_s))
            print(f"{number + 1} of {kills}: {what}; back after {took_s:.1f} s", flush=True)
            time.sleep(rng.uniform(*_PAUSE_S))
        workload.wake()
        workload.finish()
        workload.put_last()
        job.wait_until_read(_RECOVERY_S_MAX)
    verdict = judge(job)
    path = report.write(out, scenario, seed, happened, watch.samples, verdict)
    print(path.read_text())
    return 1 if verdict.problems else 0


def _recovery(job: DeployedJob, watch: Watch, began_s: float, epoch: int) -> float:
    """Seconds from ``began_s`` until the job is whole again and has committed an epoch."""

    def is_back() -> bool:
        # What was planned before the fault may still be committed: the epoch behind it counts.
        if not watch.is_whole(epoch + 1, EXECUTORS):
            return False
        pods = job.namespace.executors(NAME)
        return [pod["status"]["phase"] for pod in pods] == ["Running"] * EXECUTORS

    job.namespace.wait(is_back, "the job is back", _RECOVERY_S_MAX)
    return watch.now_s - began_s


if __name__ == "__main__":
    sys.exit(main())
