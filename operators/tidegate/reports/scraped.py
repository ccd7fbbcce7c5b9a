"""``tidegate status``, ``watermarks`` and ``why`` of a running job, from its metrics address.

The documents are those of `status`, with what the metrics tell: no offsets, and times of columns
that are timestamps only, since a metric does not say which type its column has.
"""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families

from tidegate import metrics
from tidegate.epochs.entry import AccountLog, By
from tidegate.epochs.sums import summed
from tidegate.errors import OptionsError
from tidegate.metrics import Metric
from tidegate.reports.ledger import counts_document, show_time
from tidegate.reports.watermarks import filter_document
from tidegate.types import Counts, Status

_ADDRESS: Final = re.compile(r"(?:[\w.-]*|\[[0-9a-fA-F:]+\]):\d{1,5}")
_TIMEOUT_S: Final = 10.0
_BYTES_MAX: Final = 64 << 20
_NEAR_S: Final = 1e9
Samples = dict[str, list[tuple[dict[str, str], float]]]


def address_of(place: str) -> str | None:
    """The URL of the metrics at ``place``: a URL, or HOST:PORT; None where that is a directory."""
    if place.startswith(("http://", "https://")):
        return place if place.rstrip("/").endswith("/metrics") else f"{place.rstrip('/')}/metrics"
    if not _ADDRESS.fullmatch(place):
        return None
    return f"http://{'localhost' if place.startswith(':') else ''}{place}/metrics"


def scrape(url: str) -> dict[str, Any]:
    """The document of ``tidegate status``. Raises OptionsError when no job answers at ``url``."""
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
            text = answer.read(_BYTES_MAX).decode("utf-8", "replace")
        samples = _samples(text)
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise OptionsError(
            f"no job serves its metrics at {url}: {reason}",
            hint="a job does so with --set tidegate.metrics.address=HOST:PORT; one that has ended"
            " is shown by its checkpoint",
        ) from error
    if metrics.EPOCH.name not in samples:
        raise OptionsError(
            f"{url} answers, but has no metrics of Tidegate",
            hint="give the address that the job's log names",
        )
    return document(samples)


def document(samples: Samples) -> dict[str, Any]:
    """The document, of samples by the names of their metrics."""
    scrape = _Scrape(samples)
    info = next((labels for labels, _ in scrape.of(metrics.INFO)), {})
    epoch = int(scrape.value(metrics.EPOCH) or 0)
    time_s = scrape.value(metrics.EPOCH_TIME) or 0
    filters = list(_filters(scrape))
    return {
        "job": info.get("name"),
        "epoch": epoch,
        "time": _moment(time_s) if epoch else None,
        "filters": filters,
        "lost": {},
        "driver": "the job that answers",
        **counts_document(AccountLog(_counts(scrape))),
        "ledger": sorted(_ledger(scrape), key=lambda each: tuple(map(str, each.values()))),
        "state": list(_state(scrape, _all_are_times(filters))),
        "sinks": {
            labels["sink"]: {
                "commits": int(scrape.value(metrics.SINK_COMMITS, **labels) or 0),
                "rows": int(rows),
                "bytes": int(scrape.value(metrics.SINK_BYTES, **labels) or 0),
            }
            for labels, rows in scrape.of(metrics.SINK_ROWS)
        },
        "warnings": [
            f"{int(count)} of kind '{labels['kind']}': tidegate status CHECKPOINT has the words"
            for labels, count in scrape.of(metrics.WARNINGS)
            if count
        ],
    }


class _Scrape:
    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    def of(self, metric: Metric) -> list[tuple[dict[str, str], float]]:
        return self._samples.get(metric.name, [])

    def value(self, metric: Metric, **labels: str) -> float | None:
        """Of the sample with these labels."""
        for known, value in self.of(metric):
            if labels.items() <= known.items():
                return value
        return None


def _samples(text: str) -> Samples:
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


def _counts(scrape: _Scrape) -> By[str, Counts]:
    return summed(  # each row has one fate (S7)
        {labels["account"]: {labels["split"]: Counts(int(rows), **{labels["fate"]: int(rows)})}}
        for labels, rows in scrape.of(metrics.ROWS)
    )


def _ledger(scrape: _Scrape) -> Iterator[dict[str, Any]]:
    for labels, rows in scrape.of(metrics.REJECTED_ROWS):
        yield {
            "table": labels["account"],
            "operator": labels["operator"],
            "reason": labels["reason"],
            "rows": int(rows),
        }


def _filters(scrape: _Scrape) -> Iterator[dict[str, Any]]:
    statuses: dict[str, dict[str, Status]] = {}
    for labels, value in scrape.of(metrics.SPLIT_STATUS):
        if value:
            by_split = statuses.setdefault(labels["table"], {})
            by_split[labels["split"]] = Status[labels["status"].upper()]
    known = {
        (labels["account"], labels["column"])
        for metric in (metrics.SPLIT_WATERMARK, metrics.WATERMARK, metrics.HOLDS_BACK)
        for labels, _ in scrape.of(metric)
    }
    for account, column in sorted(known):
        table = account.partition("#")[0]
        yield _filter(scrape, account, column, statuses.get(table, {}))


def _filter(
    scrape: _Scrape, account: str, column: str, statuses: dict[str, Status]
) -> dict[str, Any]:
    table, labels = account.partition("#")[0], {"account": account, "column": column}
    effective, splits = dict[str, int | None](), {}
    for split in statuses:
        value = scrape.value(metrics.SPLIT_WATERMARK, **labels, split=split)
        effective[split] = None if value is None else round(value * 1e6)
        splits[split] = {
            "lag": _whole(scrape.value(metrics.SPLIT_LAG, table=table, split=split)),
            "watermark": _shown(scrape, value, metrics.SPLIT_WATERMARK_LAG, **labels, split=split),
        }
    merged = scrape.value(metrics.WATERMARK, **labels)
    shown = _shown(scrape, merged, metrics.WATERMARK_LAG, **labels)
    what = (f"{account}.{column}", table, column, None)
    return filter_document(what, shown, statuses, effective, splits)


def _shown(scrape: _Scrape, value: float | None, lag: Metric, **labels: str) -> str | float | None:
    """A watermark: as a time, if it and the job's lag make a moment near the last commit.

    Of a column that counts milliseconds they make one that is tens of thousands of years away.
    """
    behind_s = scrape.value(lag, **labels)
    committed_s = scrape.value(metrics.EPOCH_COMMITTED)
    if value is None or behind_s is None or committed_s is None:
        return value
    return _moment(value) if abs(value + behind_s - committed_s) < _NEAR_S else value


def _moment(seconds: float) -> str:
    return str(show_time(round(seconds * 1e6), "TIMESTAMP"))


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _all_are_times(filters: list[dict[str, Any]]) -> bool:
    """Whether every watermark that is known is a time: then what follows from them is one, too."""
    known = [each["watermark"] for each in filters if each["watermark"] not in (None, "infinity")]
    return bool(known) and all(isinstance(each, str) for each in known)


def _state(scrape: _Scrape, timed: bool) -> Iterator[dict[str, Any]]:
    """``timed``: what windows close by counts seconds, which the metric alone does not tell."""
    for labels, rows in scrape.of(metrics.STATE_ROWS):
        oldest = scrape.value(metrics.OLDEST_WINDOW, **labels)
        yield {
            "fragment": labels["fragment"],
            "operator": labels["operator"],
            "rows": int(rows),
            "bytes": _whole(scrape.value(metrics.STATE_BYTES, **labels)),
            "windows": _whole(scrape.value(metrics.OPEN_WINDOWS, **labels)),
            "oldest": _moment(oldest) if timed and oldest is not None else oldest,
        }
