from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tidegate.spark.heap import WARM_TASKS, Heap


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    """The process of the tests goes on as it was."""
    yield
    gc.unfreeze()


def test_a_warm_worker_is_looked_through_no_more() -> None:
    heap = Heap()
    before = gc.get_freeze_count()
    for _ in range(WARM_TASKS - 1):
        heap.on_task()
    assert gc.get_freeze_count() == before
    heap.on_task()
    frozen = gc.get_freeze_count()
    assert frozen > before
    heap.on_task()
    assert gc.get_freeze_count() == frozen


def test_garbage_of_later_tasks_is_still_collected() -> None:
    heap = Heap()
    for _ in range(WARM_TASKS):
        heap.on_task()
    ring: list[object] = []
    ring.append(ring)
    name = id(ring)
    del ring
    gc.collect()
    assert not any(id(each) == name for each in gc.get_objects())
