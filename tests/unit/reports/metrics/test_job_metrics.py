from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kits.entries import an_entry
from kits.spark import plan_in
from tidegate.clock import ManualClock
from tidegate.epochs.entry import Entry
from tidegate.epochs.rejections import BOUNDS_S
from tidegate.epochs.targets import TO_SINK
from tidegate.frontend import compile as compile_sql
from tidegate.metrics import METRICS, Kind
from tidegate.plan.fragments import Plan, cut
from tidegate.reports.metrics.job_metrics import JobMetrics
from tidegate.reports.metrics.profile import Profile
from tidegate.types import END, Status

HOSTILE = 'a"\\\n{}'
COUNTS = {"read": 7, "used": 4, "filtered": 0, "late": 2, "quarantined": 1}
LATE = {"rows": 2, "seconds": 7.5, "buckets": [0, 1, 1, *[0] * (len(BOUNDS_S) - 2)]}
TIMED = """
CREATE SOURCE a (t TIMESTAMP, n INT, WATERMARK FOR t AS t)
WITH (connector = 'kafka', topic = 'a', 'properties.bootstrap.servers' = 'b:1',
  'scan.watermark.alignment.group' = 'g', 'scan.watermark.alignment.max-drift' = '1 min')
FORMAT PLAIN ENCODE JSON;
CREATE SINK s AS SELECT window_start, count(*) AS n FROM TUMBLE(a, t, INTERVAL '1' MINUTE)
GROUP BY window_start EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '/tmp/out') FORMAT PLAIN ENCODE JSON;
"""
PER = TIMED.replace("AS t)", "AS t PER (n) EXPIRE AFTER INTERVAL '1' HOUR)")
LABELS = {
    metric.name.removesuffix("_total"): (*metric.labels, "le") for metric in METRICS
}  # as Prometheus' parser names families


def told(families: Iterable[Any]) -> dict[tuple[str, ...], float]:
    """Name and label values to value, as Prometheus reads them."""

    class Given:
        def collect(self) -> Iterable[Any]:
            return families

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Given())
    found: dict[tuple[str, ...], float] = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            labels = [
                sample.labels[label] for label in LABELS[family.name] if label in sample.labels
            ]
            key = (sample.name, *labels)
            assert key not in found
            found[key] = sample.value
    return found


def entry_of(plan: Plan, watermark: int, oldest: int | None = None, **state: int) -> Entry:
    (filter_id,) = plan.filters()
    (account,) = plan.accounts()
    table = plan.tables[0].name
    return an_entry(
        3,
        5_500_000,
        filters={filter_id: {HOSTILE: {"watermark": watermark, **state}, "b": {"watermark": None}}},
        merged_filters={filter_id: watermark},
        counts={account: {HOSTILE: COUNTS}},
        statuses={table: {HOSTILE: Status.ACTIVE}},
        next_offsets={table: {HOSTILE: 7}},
        ends={table: {HOSTILE: 9}},
        bytes={table: {HOSTILE: 70}},
        lost={table: {HOSTILE: [[3, 5], [6, 7]]}},
        ledger_rows=3,
        ended_us=6_000_000,
        phases={"source": {"read": 1.5}},
        memory={"source": 100},
        state={"1": {"FinalAggregate": {
            "rows": 5, "bytes": 50, "runs": 2, "buckets": 2, "oldest": oldest or watermark
        }}},
        sent={"0": [4, 400]},
        sunk={str(TO_SINK): [1, 2, 20]},
        rejected={account: {"WatermarkFilter": {
            "late": LATE, "future": {"rows": 1, "seconds": 0.0, "buckets": [0] * 11}
        }}},
        events={"sink_retry": 1},
        absent={table: [plan.tables[0].columns[0].name]},
    )  # fmt: skip


def timed_plan() -> Plan:
    return cut(compile_sql(TIMED, "job.sql", {}), vnodes=4)


def metrics_of(plan: Plan, entry: Entry, clock: ManualClock | None = None) -> JobMetrics:
    profile = Profile()
    profile.on_epoch(entry)
    metrics = JobMetrics(plan, profile, clock or ManualClock(), Entry(0, 0))
    metrics.on_epoch(entry)
    return metrics


def test_every_metric_is_told_of_a_job_that_has_everything() -> None:
    plan = cut(compile_sql(PER, "job.sql", {}), vnodes=4)
    found = told(metrics_of(plan, entry_of(plan, 2_000_000), ManualClock(10_000_000)).collect())
    names = {name for name, *_ in found}
    for metric in METRICS:
        ends = ("_bucket", "_count", "_sum") if metric.kind is Kind.HISTOGRAM else ("",)
        missing = [metric.name + end for end in ends if metric.name + end not in names]
        assert missing == [] or metric.name == "tidegate_executors", missing


def test_what_an_entry_says() -> None:
    plan = timed_plan()
    found = told(metrics_of(plan, entry_of(plan, 2_000_000), ManualClock(10_000_000)).collect())
    assert found["tidegate_epoch",] == 3
    assert found["tidegate_epoch_time_seconds",] == 5.5
    assert found["tidegate_epoch_committed_seconds",] == 6
    assert found["tidegate_epoch_duration_seconds_bucket", "0.25"] == 0
    assert found["tidegate_epoch_duration_seconds_bucket", "0.5"] == 1
    assert found["tidegate_epoch_duration_seconds_sum",] == 0.5
    assert found["tidegate_phase_seconds_total", "source", "read"] == 1.5
    assert found["tidegate_worker_memory_bytes", "source"] == 100
    assert found["tidegate_rows_total", "a", HOSTILE, "late"] == 2
    assert found["tidegate_read_bytes_total", "a", HOSTILE] == 70
    assert found["tidegate_lost_offsets_total", "a", HOSTILE] == 3
    assert found["tidegate_ledger_rows_total",] == 3
    assert found["tidegate_rejected_rows_total", "a", "WatermarkFilter", "late"] == 2
    assert found["tidegate_rejected_rows_total", "a", "WatermarkFilter", "future"] == 1
    assert found["tidegate_lateness_seconds_bucket", "a", "WatermarkFilter", "1.0"] == 0
    assert found["tidegate_lateness_seconds_bucket", "a", "WatermarkFilter", "5.0"] == 1
    assert found["tidegate_lateness_seconds_bucket", "a", "WatermarkFilter", "+Inf"] == 2
    assert found["tidegate_lateness_seconds_sum", "a", "WatermarkFilter"] == 7.5
    assert found["tidegate_split_watermark", "a", "t", HOSTILE] == 2
    assert found["tidegate_split_watermark_lag_seconds", "a", "t", HOSTILE] == 8
    assert found["tidegate_watermark", "a", "t"] == 2
    assert found["tidegate_watermark_lag_seconds", "a", "t"] == 8
    assert found["tidegate_split_holds_watermark", "a", "t", HOSTILE] == 1
    assert found["tidegate_watermark_drift_seconds", "a", "t"] == 0
    assert found["tidegate_alignment_drift_seconds", "g"] == 0
    assert found["tidegate_split_status", "a", HOSTILE, "active"] == 1
    assert found["tidegate_split_status", "a", HOSTILE, "idle"] == 0
    assert found["tidegate_split_lag_rows", "a", HOSTILE] == 2
    assert found["tidegate_state_rows", "1", "FinalAggregate"] == 5
    assert found["tidegate_open_windows", "1", "FinalAggregate"] == 2
    assert found["tidegate_oldest_open_window", "1", "FinalAggregate"] == 2
    assert found["tidegate_exchange_messages_total", "0"] == 4
    assert found["tidegate_exchange_bytes_total", "0"] == 400
    assert found["tidegate_sink_rows_total", "s"] == 2
    assert found["tidegate_sink_retries_total",] == 1
    assert found["tidegate_warnings", "absent"] == 1
    assert found["tidegate_warnings", "refused"] == 0


def test_groups_without_a_time_are_no_oldest_window() -> None:
    plan = timed_plan()
    entry = entry_of(plan, 2_000_000, oldest=END - 1)
    found = told(metrics_of(plan, entry).collect())
    assert found["tidegate_open_windows", "1", "FinalAggregate"] == 2
    assert ("tidegate_oldest_open_window", "1", "FinalAggregate") not in found


def test_keys_are_counted_where_they_have_watermarks() -> None:
    for sql, wanted in ((PER, 7), (TIMED, None)):
        plan = cut(compile_sql(sql, "job.sql", {}), vnodes=4)
        entry = entry_of(plan, 2_000_000, key_count=7)
        found = told(metrics_of(plan, entry).collect())
        assert found.get(("tidegate_watermark_keys", "a", "t", HOSTILE)) == wanted


@pytest.mark.parametrize("unit", ["ms", "none"])
def test_only_watermarks_that_are_times_have_lags(unit: str) -> None:
    sql = TIMED.replace("TIMESTAMP", "BIGINT").replace("INTERVAL '1' MINUTE", "60000")
    sql = sql.replace(
        "'scan.watermark.alignment.group' = 'g', 'scan.watermark.alignment.max-drift' = '1 min'",
        f"'scan.watermark.unit' = '{unit}'",
    )
    plan = cut(compile_sql(sql, "job.sql", {}), vnodes=4)
    found = told(metrics_of(plan, entry_of(plan, 95_000), ManualClock(100_000_000)).collect())
    assert found["tidegate_split_watermark", "a", "t", HOSTILE] == 95_000
    assert found["tidegate_oldest_open_window", "1", "FinalAggregate"] == 95_000
    lag = found.get(("tidegate_watermark_lag_seconds", "a", "t"))
    assert lag == (5 if unit == "ms" else None)
    assert (("tidegate_watermark_drift_seconds", "a", "t") in found) == (unit == "ms")


def test_a_job_without_an_epoch_tells_that(tmp_path: Path) -> None:
    metrics = JobMetrics(plan_in(tmp_path), Profile(), ManualClock(), Entry(0, 0))
    found = told(metrics.collect())
    assert found["tidegate_epoch",] == 0
    assert found["tidegate_epoch_duration_seconds_count",] == 0


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
    entry = entry_of(plan, value)
    entry = replace(entry, work=replace(entry.work, state={}))
    found = told(metrics_of(plan, entry).collect())
    assert found["tidegate_split_watermark", account, "t", HOSTILE] == shown
