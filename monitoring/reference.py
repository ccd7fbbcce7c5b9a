"""docs/metrics.md, made from the one list of metrics: ``python monitoring/reference.py`` writes it.

``tests/unit/test_metrics.py`` compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tidegate.metrics import METRICS, Kind, Metric

PATH = Path(__file__).parents[1] / "docs" / "metrics.md"
HEAD = """\
# Metrics

Made from `operators/tidegate/metrics.py` by `make chart`; do not edit.

A driver serves them at `http://HOST:PORT/metrics` when `tidegate.metrics.address` says where
(`:9464` is all addresses of the machine), beside `/healthz` and `/readyz` for probes. All but the
*live* ones are also in the checkpoint's `metrics.prom`. They describe the newest committed epoch.
Counters go on where the driver before this one has stopped: they are part of the epoch, so each row
is counted once. Only the histogram of epochs and the phases are of one run.

No label has a value of a user's row: labels are names of the SQL file, splits, and fixed words.

| metric | kind | labels | meaning |
|---|---|---|---|
"""


def document() -> str:
    """The text of docs/metrics.md."""
    return HEAD + "".join(_lines())


def _lines() -> Iterator[str]:
    for metric in METRICS:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        yield f"| `{metric.name}` | {_kind(metric)} | {labels} | {metric.help} |\n"


def _kind(metric: Metric) -> str:
    live = ", live" if metric.live else ""
    if metric.kind is Kind.HISTOGRAM:
        bounds = " ".join(f"{bound:g}" for bound in metric.bounds)
        return f"histogram{live} (up to {bounds} s)"
    return f"{metric.kind}{live}"


if __name__ == "__main__":
    PATH.write_text(document())
