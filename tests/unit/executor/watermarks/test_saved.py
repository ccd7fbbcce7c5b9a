from __future__ import annotations

from tidegate.executor.watermarks.saved import save, saved
from tidegate.state import MemoryStateTable
from tidegate.types import FilterState


def test_each_split_has_its_own() -> None:
    table = MemoryStateTable()
    assert saved(table, "a") == FilterState()
    save(table, "a", FilterState(5, None, 7))
    assert saved(table, "a") == FilterState(5, None, 7)
    assert saved(table, "b") == FilterState()


def test_what_0_1_has_kept_is_read() -> None:
    table = MemoryStateTable()
    table.put("filter:a", b'{"watermark": 5, "floor": null, "event_time_max": 7}')
    assert saved(table, "a") == FilterState(5, None, 7)
