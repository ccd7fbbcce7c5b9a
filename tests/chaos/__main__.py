"""``make chaos``: a job that is broken again and again under a seed, and judged.

    python -m chaos [--local | --namespace NAMESPACE] [--scenario executors] [--seed 1] [--kills 30]
    python -m chaos --local --scenario mix --minutes 30                   a soak: `make soak`

On a cluster ($KUBECONFIG's, or the kit's) the namespace has a release of the chart with the job of
`e2e.job`; without ``--namespace`` one is made, and removed in the end. ``--local`` takes processes
of this machine instead. The *workload* writes without pause, the *nemesis* breaks one thing after
the other and waits each time until the job has come back, the *checker* compares with the oracle.
With ``--minutes`` it goes on for so long, and what the job takes (memory, state, files) must stay
flat: the last third of the time is compared with the second.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

import yaml

from bench.soak import growth
from chaos import local, nemesis, report
from chaos.checker import judge
from chaos.job import EXECUTORS, IN, Job, wait_until_read
from chaos.local import LocalJob
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
_SIZES_MIN: Final = 15
_FLAT_MAX: Final = 1.3
"""Drivers and executors that are new each time differ more than those of a quiet soak."""
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
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--out", type=Path, default=Path("out/chaos"))
    given = parser.parse_args()
    known = local.SCENARIOS if given.local else nemesis.SCENARIOS
    if given.scenario not in known:
        parser.error(f"there is no scenario '{given.scenario}' here, but {', '.join(known)}")
    if given.minutes and not given.local:
        parser.error("--minutes is of --local")
    with ExitStack() as stack:
        job, faults = _opened(stack, given)
        until_s = time.monotonic() + 60 * given.minutes if given.minutes else None
        return run(job, faults, given.scenario, given.seed, given.kills, given.out, until_s)


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


def run(
    job: Job,
    faults: Faults,
    scenario: str,
    seed: int,
    kills: int,
    out: Path,
    until_s: float | None = None,
) -> int:
    """One run; 0 if its output is identical. ``until_s``: of the clock, instead of ``kills``."""
    rng = Random(seed)
    happened: list[Kill] = []
    sizes: list[dict[str, float]] = []
    if any(job.kit.read(IN).values()):
        raise SystemExit(f"topic {IN} has rows already: give a release that was made for this run")
    with Watch(job) as watch, Workload(job.kit, IN, seed) as workload:
        _back(job, watch, lambda: True)
        for number in count() if until_s else range(kills):
            if until_s and time.monotonic() > until_s:
                break
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
            of = "" if until_s else f" of {kills}"
            print(f"{number + 1}{of}: {what}; {took}", flush=True)
            if isinstance(job, LocalJob):  # a deployed one's are gathered all the time
                job.gather()
                sizes.append(job.sizes())
            time.sleep(rng.uniform(*_PAUSE_S))
        workload.wake()
        workload.finish()
        workload.put_last()
        wait_until_read(job, _BACK_S_MAX)
    verdict = judge(job)
    if until_s:
        problems = [*verdict.problems, *grown(sizes)]
        verdict = replace(verdict, problems=problems)
    path = report.write(out, scenario, seed, happened, watch.samples, verdict)
    print(path.read_text())
    return 1 if verdict.problems else 0


def grown(sizes: list[dict[str, float]]) -> list[str]:
    """What was not flat, in words."""
    ratios = growth(sizes) if len(sizes) >= _SIZES_MIN else {}
    return [f"{name} has grown by {r:.2f}" for name, r in ratios.items() if r > _FLAT_MAX]


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
