from __future__ import annotations

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from kits.spark import plan_in
from tidegate.clock import ManualClock
from tidegate.epochs.entry import Entry
from tidegate.metrics import METRICS
from tidegate.plan.fragments import Plan
from tidegate.reports.metrics.job_metrics import JobMetrics
from tidegate.reports.metrics.metrics_file import AWAY_S, NAME, MetricsFile
from tidegate.reports.metrics.profile import Profile
from tidegate.store.local import LocalStore


def file_of(plan: Plan, store: LocalStore, clock: ManualClock) -> MetricsFile:
    metrics = JobMetrics(plan, Profile(), clock, Entry(0, 0))
    return MetricsFile(metrics, store, clock)


def test_what_is_committed_and_nothing_else(tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    file_of(plan, LocalStore(tmp_path), ManualClock()).on_epoch(Entry(3, 5_500_000))
    families = list(text_string_to_metric_families((tmp_path / NAME).read_text()))
    told = {sample.name: sample.value for family in families for sample in family.samples}
    assert told["tidegate_epoch"] == 3
    assert told["tidegate_epoch_time_seconds"] == 5.5
    live = {metric.name for metric in METRICS if metric.live}
    assert live
    assert not live & {family.name for family in families}


def test_a_disk_that_takes_no_file_ends_no_job(tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    store = LocalStore(tmp_path / "none")
    file_of(plan, store, ManualClock()).on_epoch(Entry(1, 0))
    assert list(tmp_path.glob("**/*.prom*")) == []


def test_a_store_elsewhere_is_written_now_and_then_and_at_the_end(tmp_path: Path) -> None:
    class Elsewhere(LocalStore):
        is_local = False

    plan, clock = plan_in(tmp_path), ManualClock()
    file = file_of(plan, Elsewhere(tmp_path), clock)

    def epoch_there() -> float:
        lines = (tmp_path / NAME).read_text().splitlines()
        return float(next(line for line in lines if line.startswith("tidegate_epoch ")).split()[1])

    file.on_epoch(Entry(1, 0))
    file.on_epoch(Entry(2, 0))
    assert epoch_there() == 1
    clock.sleep(AWAY_S)
    file.on_epoch(Entry(3, 0))
    file.on_epoch(Entry(4, 0))
    assert epoch_there() == 3
    file.flush()
    assert epoch_there() == 4
    file.flush()
