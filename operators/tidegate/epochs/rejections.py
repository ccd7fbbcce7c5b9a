"""How many rows were refused: by whom, why, and how late they were. For the metrics.

Counted where rows are written into the ledger, by a writer or a reader, and summed up in the
entries of the epoch log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.epochs.sums import summed
from tidegate.metrics import LATENESS

BOUNDS_S: Final = LATENESS.bounds
_BY: Final = ("account", "operator", "reason")
_UNTIMED: Final = -1


@dataclass(frozen=True, slots=True)
class Rejection:
    """So many ``rows``. Of those whose lateness is a time: ``seconds``, its sum, and how many are
    in each of ``buckets``: the first whose bound (`BOUNDS_S`) is at least the lateness, or the
    last."""

    rows: int = 0
    seconds: float = 0.0
    buckets: tuple[int, ...] = (0,) * (len(BOUNDS_S) + 1)

    def __add__(self, other: Rejection) -> Rejection:
        buckets = tuple(map(sum, zip_longest(self.buckets, other.buckets, fillvalue=0)))
        return Rejection(self.rows + other.rows, self.seconds + other.seconds, buckets)


Rejections: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Rejection]]]
"""By account, operator and reason."""


def rejections_of(rows: pa.Table) -> Rejections:
    """Those of ``rows``, of the schema of the ledger."""
    types = rows.column("time_type").cast(pa.string())
    timed = pc.fill_null(pc.starts_with(types, "TIMESTAMP"), False)
    timed = pc.and_(timed, pc.is_valid(rows.column("lateness"))).to_numpy()
    seconds = pc.fill_null(rows.column("lateness"), 0).to_numpy() / 1e6 * timed
    buckets = np.where(timed, np.searchsorted(BOUNDS_S, seconds), _UNTIMED)
    counted = rows.select(_BY).unify_dictionaries().append_column("bucket", pa.array(buckets))
    counted = counted.append_column("seconds", pa.array(seconds))
    groups = counted.group_by([*_BY, "bucket"], use_threads=False)
    found = groups.aggregate([([], "count_all"), ("seconds", "sum")]).to_pylist()
    return summed(
        {each["account"]: {each["operator"]: {each["reason"]: _rejection(**each)}}}
        for each in found
    )


def _rejection(count_all: int, seconds_sum: float, bucket: int, **_: str) -> Rejection:
    timed = bucket != _UNTIMED
    buckets = [count_all * (timed and place == bucket) for place in range(len(BOUNDS_S) + 1)]
    return Rejection(count_all, seconds_sum, tuple(buckets))
