from __future__ import annotations

import pyarrow as pa

from kits.executor import ENGINE
from tidegate.executor.aggregation.group_state import GroupState, with_derived
from tidegate.executor.buffers.time_runs import NULL_BUCKET
from tidegate.state import MemoryStateTable
from tidegate.types import END, Status, Watermark


def test_a_run_for_each_bucket_in_the_order_of_rows() -> None:
    state = MemoryStateTable()
    groups = GroupState(state, "w", ENGINE, "SELECT * FROM rows_")
    groups.add(pa.table({"w": [20, 10, None, 20], "n": [1, 2, 3, 4]}))
    assert state.buckets() == [10, 20, NULL_BUCKET]
    assert [run.column("n").to_pylist() for run in state.read(20)] == [[1, 4]]
    groups.add(pa.table({"w": [20], "n": [5]}))
    assert [run.column("n").to_pylist() for run in state.read(20)] == [[1, 4], [5]]


def test_without_a_closing_key_there_is_one_bucket() -> None:
    state = MemoryStateTable()
    GroupState(state, "", ENGINE, "SELECT * FROM rows_").add(pa.table({"n": [1, 2]}))
    assert (state.buckets(), state.rows) == ([0], 2)


def test_derived_watermarks_keep_their_distance_but_at_the_end() -> None:
    def shown(value: int | None) -> list[int | None]:
        watermark = Watermark("w", value, Status.ACTIVE)
        return [each.value for each in with_derived(watermark, (("a", 5), ("b", -5)))]

    assert shown(10) == [10, 15, 5]
    assert shown(None) == [None, None, None]
    assert shown(END) == [END, END, END]
    assert shown(END - 3)[1] == END - 1
