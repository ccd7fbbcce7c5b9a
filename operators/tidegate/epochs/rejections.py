"""How many rows were refused: by whom, why, and how late they were. For the metrics.

Counted where rows are written into the ledger, by a writer or a reader, and summed up in the
entries of the epoch log:

    {account: {operator: {reason: {"rows": n, "seconds": s, "buckets": [n, …]}}}}

``buckets`` and ``seconds`` are of rows whose lateness is a time: a row is in the first bucket whose
bound (`BOUNDS_S`) is at least its lateness, or in the last; and the sum of them.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.metrics import LATENESS

BOUNDS_S: Final = LATENESS.bounds
_BY: Final = ("account", "operator", "reason")
_UNTIMED: Final = -1

Rejections = dict[str, dict[str, dict[str, dict[str, Any]]]]


def count_rejected(into: Rejections, rows: pa.Table) -> None:
    """Adds ``rows``, of the schema of the ledger, to ``into``."""
    types = rows.column("time_type").cast(pa.string())
    timed = pc.fill_null(pc.starts_with(types, "TIMESTAMP"), False)
    timed = pc.and_(timed, pc.is_valid(rows.column("lateness"))).to_numpy()
    seconds = pc.fill_null(rows.column("lateness"), 0).to_numpy() / 1e6 * timed
    buckets = np.where(timed, np.searchsorted(BOUNDS_S, seconds), _UNTIMED)
    counted = rows.select(_BY).unify_dictionaries().append_column("bucket", pa.array(buckets))
    counted = counted.append_column("seconds", pa.array(seconds))
    groups = counted.group_by([*_BY, "bucket"], use_threads=False)
    for group in groups.aggregate([([], "count_all"), ("seconds", "sum")]).to_pylist():
        told = _of(into, *(group[name] for name in _BY))
        told["rows"] += group["count_all"]
        told["seconds"] += group["seconds_sum"]
        if group["bucket"] != _UNTIMED:
            told["buckets"][group["bucket"]] += group["count_all"]


def add_rejections(into: Rejections, more: Rejections) -> None:
    """Adds up."""
    for account, operators in more.items():
        for operator, reasons in operators.items():
            for reason, counted in reasons.items():
                told = _of(into, account, operator, reason)
                told["rows"] += counted["rows"]
                told["seconds"] += counted["seconds"]
                for place, count in enumerate(counted["buckets"]):
                    told["buckets"][place] += count


def _of(document: Rejections, account: str, operator: str, reason: str) -> dict[str, Any]:
    nothing = {"rows": 0, "seconds": 0.0, "buckets": [0] * (len(BOUNDS_S) + 1)}
    return document.setdefault(account, {}).setdefault(operator, {}).setdefault(reason, nothing)
