"""What a running job tells by HTTP is what the oracle says of the rows that it has read."""

from __future__ import annotations

import json
import re
import signal
import urllib.error
import urllib.request
from collections import Counter, defaultdict
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from oracle.jobs import expected, write
from spark.orders import ledger_of
from spark.processes import Commands
from spark.test_growing import growing
from tidegate.metrics import METRICS, Kind

_NOT_OF_THIS_JOB = {
    "tidegate_alignment_drift_seconds",  # it aligns nothing
    "tidegate_watermark_keys",  # no key has a watermark of its own
    "tidegate_split_lag_rows",  # files do not tell where they end
}


def asked(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_metrics_of_a_running_job(drivers: Commands, tmp_path: Path) -> None:
    spec = growing(1)
    wanted = expected(spec)
    file, checkpoint = write(spec, tmp_path), tmp_path / "checkpoint"
    args = ["run", file, "--checkpoint", checkpoint, "--set", "tidegate.epoch.interval=200 ms"]
    command = drivers.start(*args, "--set", "tidegate.metrics.address=127.0.0.1:0")
    command.wait_for_line("/metrics")
    found = re.search(r"metrics: (http://127\.0\.0\.1:\d+)/metrics", command.err)
    assert found
    place = found[1]
    assert asked(f"{place}/healthz")[0] == 200
    command.wait_for_line(f"read {wanted.counts.read:,} ")
    assert asked(f"{place}/readyz") == (200, "running\n")
    status, text = asked(f"{place}/metrics")
    by_address, by_checkpoint = (
        json.loads(drivers.run("status", where, "--json").out)
        for where in (place.removeprefix("http://"), checkpoint)
    )
    told_why = drivers.run("why", place)
    command.send(signal.SIGTERM)
    assert status == 200
    assert told_why.code == 0, told_why.err
    assert "held by" in told_why.out
    for name in ("job", "epoch", "counts", "splits", "ledger", "sinks"):
        assert by_address[name] == by_checkpoint[name], name
    assert str(command.pid) in by_checkpoint["driver"]
    assert command.wait().code == 0

    fates, refused = Counter[str](), Counter[str]()
    told = defaultdict[str, float](float)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            told[sample.name] += sample.value
            if sample.name == "tidegate_rows_total":
                fates[sample.labels["fate"]] += int(sample.value)
            if sample.name == "tidegate_rejected_rows_total":
                refused[sample.labels["reason"]] += int(sample.value)
    assert fates["late"] == wanted.counts.late > 0
    assert fates["quarantined"] == wanted.counts.quarantined > 0
    assert fates["used"] == wanted.counts.used
    assert refused == Counter(row["reason"] for row in ledger_of(checkpoint)["rows"])
    assert told["tidegate_executors"] == 1
    assert told["tidegate_state_rows"] > 0
    assert told["tidegate_open_windows"] >= 1
    assert told["tidegate_exchange_bytes_total"] > 0
    assert told["tidegate_worker_memory_bytes"] > 10_000_000
    for metric in METRICS:
        if metric.name not in _NOT_OF_THIS_JOB:
            name = metric.name + "_count" * (metric.kind is Kind.HISTOGRAM)
            assert name in told, f"{name} has no value"
