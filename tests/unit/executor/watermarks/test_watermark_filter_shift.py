from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest

from kits.executor import expr
from tidegate.types import OFFSET, RECORD, Chunk, Rejected
from unit.executor.watermarks.test_watermark_filter import a_filter


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP WITH TIME ZONE"])
def test_a_shift_is_what_the_engine_would_say(kind: str) -> None:
    """Near, far, at the ends of time, and NULL."""
    plain = expr("\"t\" - INTERVAL '5 seconds'", kind, "t")
    shifted = dataclasses.replace(plain, shift_us=-5_000_000)
    near = [0, 7_000_000, 1_000_000, None, -3_000_000, 40_000_000]
    ends = [2**61, -(2**61), 2**63 - 1, 1 - 2**63, 9_223_372_036_000_000_000]
    column = pa.array([*near, *ends, *near], pa.int64()).cast(
        pa.timestamp("us", None if kind == "TIMESTAMP" else "UTC")
    )
    for values in (column, column[: len(near)]):
        rows = pa.table({"t": values, OFFSET: range(len(values)), RECORD: [b""] * len(values)})
        with_engine, without = (
            a_filter(strategy, f"t {kind}", unit_us=1).process(Chunk(rows, "s0"))
            for strategy in (plain, shifted)
        )
        for one, other in zip(with_engine, without, strict=True):
            if isinstance(one, Chunk | Rejected) and isinstance(other, Chunk | Rejected):
                assert one.data.equals(other.data)
            else:
                assert one == other
