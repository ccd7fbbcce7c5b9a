"""``make chaos``: a job that is broken again and again under a seed, and judged.

    python -m chaos [--local | --namespace NAMESPACE] [--scenario executors] [--seed 1] [--kills 30]

On a cluster ($KUBECONFIG's, or the kit's) the namespace has a release of the chart with the job of
`e2e.job`; without ``--namespace`` one is made, and removed in the end. ``--local`` takes processes
of this machine instead. The *workload* writes without pause, the *nemesis* breaks one thing after
the other and waits each time until the job has come back, the *checker* compares with the oracle.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import yaml

from chaos import local, nemesis, report
from chaos.checker import judge
from chaos.job import EXECUTORS, IN, Job, wait_until_read
from chaos.nemesis import Fault
from chaos.report import Kill
from chaos.watch import Watch
from e2e import job as deployed
from e2e.conftest import deploy
from e2e.namespace import Namespace
from kafka.workload import Workload
from spark.processes import wait_until

_BACK_S_MAX: Final = 300.0
_PAUSE_S: Final = (1.0, 4.0)
_NAMESPACE: Final = "tidegate-chaos"


def main() -> int:
    """Runs a scenario and says what came out."""
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--local", action="store_true")
    where.add_argument("--namespace")
    parser.add_argument("--scenario", default="executors")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--out", type=Path, default=Path("out/chaos"))
    given = parser.parse_args()
    known = local.SCENARIOS if given.local else nemesis.SCENARIOS
    if given.scenario not in known:
        parser.error(f"there is no scenario '{given.scenario}' here, but {', '.join(known)}")
    with ExitStack() as stack:
        job, faults = _opened(stack, given)
        return run(job, faults, given.scenario, given.seed, given.kills, given.out)


Faults = list[Callable[[], Fault]]


def _opened(stack: ExitStack, given: argparse.Namespace) -> tuple[Job, Faults]:
    if given.local:
        here = stack.enter_context(local.opened())
        return here, [partial(kind, here) for kind in local.SCENARIOS[given.scenario]]
    namespace = Namespace(given.namespace or _deployed(stack))
    job = stack.enter_context(deployed.opened(namespace))
    return job, [partial(kind, namespace) for kind in nemesis.SCENARIOS[given.scenario]]


def _deployed(stack: ExitStack) -> str:
    scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tidegate-chaos-")))
    file = scratch / "values.yaml"
    file.write_text(yaml.safe_dump(deployed.alone()))
    stack.callback(deploy, "down", _NAMESPACE, profile=file)
    deploy("up", _NAMESPACE, profile=file)
    return _NAMESPACE


def run(job: Job, faults: Faults, scenario: str, seed: int, kills: int, out: Path) -> int:
    """One run; 0 if its output is identical."""
    rng = Random(seed)
    happened: list[Kill] = []
    if any(job.kit.read(IN).values()):
        raise SystemExit(f"topic {IN} has rows already: give a release that was made for this run")
    with Watch(job) as watch, Workload(job.kit, IN, seed) as workload:
        _back(job, watch, lambda: True)
        for number in range(kills):
            fault = rng.choice(faults)()
            try:
                fault.prepare(rng)
                began_s = watch.now_s
                what = fault.inject()
                whole_s = _back(job, watch, fault.is_over)
                happened.append(
                    Kill(
                        began_s,
                        what,
                        recovered_s=watch.now_s - began_s,
                        whole_s=max(whole_s - began_s, watch.starting_s(began_s, EXECUTORS)),
                        pause_s=watch.longest_pause_s(began_s),
                    )
                )
            finally:
                fault.heal()
            took = f"back after {happened[-1].recovered_s:.1f} s"
            print(f"{number + 1} of {kills}: {what}; {took}", flush=True)
            time.sleep(rng.uniform(*_PAUSE_S))
        workload.wake()
        workload.finish()
        workload.put_last()
        wait_until_read(job, _BACK_S_MAX)
    verdict = judge(job)
    path = report.write(out, scenario, seed, happened, watch.samples, verdict)
    print(path.read_text())
    return 1 if verdict.problems else 0


def _back(job: Job, watch: Watch, is_over: Callable[[], bool]) -> float:
    """Waits until the job is whole again, and has committed what was planned since now.

    Gives when all that runs it was there again.
    """
    since_s, epoch = watch.now_s, watch.epoch
    whole_s = since_s

    def is_there() -> bool:
        try:
            return is_over() and job.is_whole()
        except (AssertionError, LookupError):
            return False

    def is_back() -> bool:
        nonlocal whole_s
        if not is_there():
            whole_s = watch.now_s
            return False
        # What was planned before may still be committed, and one look may be a second old: the
        # second epoch behind that counts.
        return watch.is_whole(since_s, epoch + 2, EXECUTORS)

    wait_until(is_back, "the job is back", _BACK_S_MAX)
    return whole_s


if __name__ == "__main__":
    sys.exit(main())
