"""Every query of every panel, asked of a real Prometheus that has scraped a real job."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from kafka.kit import Kit
from kafka.orders import job_text
from kafka.workload import PARTITIONS, Workload
from prometheus.panels import queries
from prometheus.server import Prometheus
from spark.processes import Commands, wait_until

_OPTIONS: Final = {
    "scan.watermark.idle-timeout": "4 s",
    "scan.watermark.alignment.group": "shop",
    "scan.watermark.alignment.max-drift": "1 day",
}
_DELAY: Final = "order_time - INTERVAL '5' SECOND"
_PER: Final = " PER (customer) EXPIRE AFTER INTERVAL '5' SECOND"
_POD: Final = "orders-0"
_WITHIN_S: Final = 300.0
"""On a machine that is busy. Windows of a minute close soon: each round of the workload takes ten
seconds of event time."""


def test_every_query_of_every_panel_has_data(kafka: Kit, drivers: Commands, tmp_path: Path) -> None:
    source = kafka.topic("watched-in", partitions=PARTITIONS)
    sink = kafka.topic("watched-out", partitions=2)
    file = tmp_path / "job.sql"
    file.write_text(job_text(kafka, source, sink, _OPTIONS).replace(_DELAY, _DELAY + _PER))
    args: list[object] = ["run", file, "--checkpoint", tmp_path / "checkpoint"]
    args += ["--set", "tidegate.epoch.interval=500 ms"]
    command = drivers.start(*args, "--set", "tidegate.metrics.address=127.0.0.1:0")
    command.wait_for_line("/metrics")
    found = re.search(r"metrics: http://(127\.0\.0\.1:\d+)/metrics", command.err)
    assert found
    wanted = queries(_POD, "20s")
    assert len(wanted) > 30
    with (
        Prometheus(tmp_path / "prometheus", found[1], {"pod": _POD}) as prometheus,
        Workload(kafka, source, seed=1),
    ):
        empty = dict(wanted)

        def all_have_data() -> bool:
            for expression in list(empty):
                values = [sample["value"][1] for sample in prometheus.query(expression)]
                if any(value not in ("NaN", "+Inf", "-Inf") for value in values):
                    del empty[expression]
            return not empty

        try:
            wait_until(all_have_data, "every query has data", _WITHIN_S)
        except AssertionError:
            raise AssertionError(f"without data: {empty}") from None
    command.stop()
    assert command.wait().code == 0
