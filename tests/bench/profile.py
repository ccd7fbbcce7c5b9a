"""``make profile``: where the time of an epoch goes, as a table.

    python -m bench.profile [WORKLOAD [CASE]] [--rows 10000000] [--set NAME=VALUE]…

Runs Tidegate on a workload of `bench.workloads` (orders; its first case) and shows what its metrics
say: every job's ``metrics.prom`` has the same (``tidegate_phase_seconds_total``). Seconds of an
epoch; those of tasks are summed over the tasks of a kind, which run side by side. Below, the CPU
seconds of Java and of Python.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from bench.data import PARTITIONS, Data, Topics
from bench.engines import Case, engine_named
from bench.measure import Run, run
from bench.workloads import workloads
from kafka.broker import Cluster
from kafka.kit import Kit


def main() -> None:
    """Runs the job and prints the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__)
    parser.add_argument("workload", nargs="?", default="orders")
    parser.add_argument("case", nargs="?")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--set", action="append", type=_setting, default=[], dest="settings")
    given = parser.parse_args()
    known = {workload.name: workload for workload in workloads(given.rows)}
    if given.workload not in known:
        parser.error(f"there is no workload {given.workload}, but {', '.join(known)}")
    workload = known[given.workload]
    case = next(iter(workload.cases)) if given.case is None else given.case
    if case not in workload.cases:
        parser.error(f"{workload.name} has no case {case}, but {', '.join(workload.cases)}")
    base = Path(tempfile.mkdtemp(prefix="tidegate-profile-"))
    try:
        with Cluster(base / "kafka") as cluster:
            data = workload.cases[case]
            found = _run(base, Kit(cluster.bootstrap), workload.query, data, given.settings)
        metrics = (base / "run" / "checkpoint" / "metrics.prom").read_text()
    finally:
        shutil.rmtree(base, ignore_errors=True)
    print(table(metrics))
    print("\nCPU seconds by program, with the start")
    for name, spent in sorted(found.programs.items(), key=lambda each: -each[1]):
        print(f"  {name:20} {spent:8.2f}")


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    return name, value


def _run(base: Path, kit: Kit, query: str, data: Data, given: list[tuple[str, str]]) -> Run:
    sources = Topics(kit, base / "data").filled(data)
    target = kit.topic("profile", partitions=PARTITIONS)
    home = base / "run"
    home.mkdir()
    case = Case(
        query, kit.bootstrap, sources, target, home, padded=data.padded, settings=dict(given)
    )
    engine = engine_named("tidegate")
    return run(engine.command(case), {}, kit.bootstrap, target, home / "log")


def table(metrics: str) -> str:
    """The phases of ``metrics``, by kind of task, the longest first."""
    samples = [
        sample for family in text_string_to_metric_families(metrics) for sample in family.samples
    ]
    epochs = int(next(sample.value for sample in samples if sample.name == "tidegate_epoch"))
    phases: dict[str, list[tuple[float, str]]] = {}
    for sample in samples:
        if sample.name == "tidegate_phase_seconds_total":
            spent = (sample.value / epochs, sample.labels["phase"])
            phases.setdefault(sample.labels["task"], []).append(spent)
    lines = [f"{epochs} epochs; seconds of each\n"]
    for task, found in sorted(phases.items()):
        lines.append(f"{task:<24}{sum(seconds for seconds, _ in found):8.3f}")
        lines += [f"  {phase:<22}{seconds:8.3f}" for seconds, phase in sorted(found, reverse=True)]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
