from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from spark_kit import plan_in
from tidegate.clock import ManualClock
from tidegate.frontend import compile as compile_sql
from tidegate.metrics import METRICS
from tidegate.plan.fragments import Plan, cut
from tidegate.spark.checkpoint import Entry
from tidegate.spark.metrics_file import AWAY_S, NAME, MetricsFile
from tidegate.spark.profile import Profile
from tidegate.store.local import LocalStore
from tidegate.types import Status

COUNTS = {"read": 7, "used": 4, "filtered": 0, "late": 2, "quarantined": 1}
HOSTILE = 'a"\\\n{}'


def written(plan: Plan, entry: Entry, directory: Path) -> dict[tuple[str, ...], float]:
    """Name and label values to value, as Prometheus reads the file."""
    profile = Profile()
    profile.on_epoch(entry)
    MetricsFile(plan, LocalStore(directory), profile, ManualClock()).on_epoch(entry)
    text = (directory / NAME).read_text()
    labels = {metric.name: metric.labels for metric in METRICS}
    return {
        (sample.name, *(sample.labels[label] for label in labels[sample.name])): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def entry_of(plan: Plan, watermark: int) -> Entry:
    (filter_id,) = plan.filters()
    return Entry(
        3,
        5_500_000,
        filters={filter_id: {HOSTILE: {"watermark": watermark}, "b": {"watermark": None}}},
        counts={"orders": {HOSTILE: COUNTS}},
        statuses={"orders": {HOSTILE: Status.IDLE}},
        ledger_rows=3,
        phases={"source": {"read": 1.5}},
    )


def test_what_an_entry_says(tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    found = written(plan, entry_of(plan, 95), tmp_path)
    assert found == {
        ("tidegate_epoch",): 3,
        ("tidegate_epoch_time_seconds",): 5.5,
        ("tidegate_ledger_rows_total",): 3,
        ("tidegate_rows_total", "orders", HOSTILE, "used"): 4,
        ("tidegate_rows_total", "orders", HOSTILE, "filtered"): 0,
        ("tidegate_rows_total", "orders", HOSTILE, "late"): 2,
        ("tidegate_rows_total", "orders", HOSTILE, "quarantined"): 1,
        ("tidegate_split_watermark", "orders", "t", HOSTILE): 95,
        ("tidegate_split_status", "orders", HOSTILE, "active"): 0,
        ("tidegate_split_status", "orders", HOSTILE, "idle"): 1,
        ("tidegate_split_status", "orders", HOSTILE, "finished"): 0,
        ("tidegate_phase_seconds_total", "source", "read"): 1.5,
    }
    assert {key[0] for key in found} == {metric.name for metric in METRICS}


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [("TIMESTAMP", 1_500_000, 1.5), ("DECIMAL(10, 2)", 150, 1.5), ("DECIMAL(10, 0)", 150, 150)],
)
def test_watermarks_in_the_unit_of_their_column(
    kind: str, value: int, shown: float, tmp_path: Path
) -> None:
    sql = (
        f"CREATE SOURCE o (t {kind}, WATERMARK FOR t AS t) WITH (connector = 'filesystem',"
        f" path = '{tmp_path.as_posix()}/in') FORMAT PLAIN ENCODE JSON; SELECT t FROM o"
    )
    plan = cut(compile_sql(sql, "job.sql", {}), vnodes=4)
    (account,) = plan.accounts()
    found = written(plan, entry_of(plan, value), tmp_path)
    assert found["tidegate_split_watermark", account, "t", HOSTILE] == shown


def test_a_disk_that_takes_no_file_ends_no_job(tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    store = LocalStore(tmp_path / "none")
    MetricsFile(plan, store, Profile(), ManualClock()).on_epoch(entry_of(plan, 1))
    assert list(tmp_path.glob("**/*.prom*")) == []


def test_a_store_elsewhere_is_written_now_and_then_and_at_the_end(tmp_path: Path) -> None:
    class Elsewhere(LocalStore):
        is_local = False

    plan, clock = plan_in(tmp_path), ManualClock()
    file = MetricsFile(plan, Elsewhere(tmp_path), Profile(), clock)

    def epoch_there() -> float:
        lines = (tmp_path / NAME).read_text().splitlines()
        return float(next(line for line in lines if line.startswith("tidegate_epoch ")).split()[1])

    file.on_epoch(replace(entry_of(plan, 1), epoch=1))
    file.on_epoch(replace(entry_of(plan, 1), epoch=2))
    assert epoch_there() == 1
    clock.sleep(AWAY_S)
    file.on_epoch(replace(entry_of(plan, 1), epoch=3))
    file.on_epoch(replace(entry_of(plan, 1), epoch=4))
    assert epoch_there() == 3
    file.flush()
    assert epoch_there() == 4
    file.flush()
