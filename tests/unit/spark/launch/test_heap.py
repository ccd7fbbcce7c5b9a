from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator

import pytest

from tidegate.clock import ManualClock
from tidegate.spark.launch.heap import TRIM_S, WARM_TASKS, Heap
from tidegate.spark.memory import resident_bytes


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    """The process of the tests goes on as it was; what others froze does not count."""
    gc.unfreeze()
    yield
    gc.unfreeze()


@pytest.mark.slow
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
    assert before < gc.get_freeze_count() <= frozen, "those that are gone are frozen no more"


@pytest.mark.slow
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


def freed_and_kept(count: int, size: int) -> int:
    """Has the C library keep what was freed: a block lies above it. Gives that block."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    blocks = [libc.malloc(size) for _ in range(count)]
    above: int = libc.malloc(size)
    for block in blocks:
        ctypes.memset(block, 1, size)
    for block in blocks:
        libc.free(block)
    return above


@pytest.mark.slow
def test_what_was_freed_is_given_back_now_and_then() -> None:
    clock = ManualClock()
    heap = Heap(clock)
    for _ in range(WARM_TASKS):
        heap.on_task()
    above = freed_and_kept(20_000, 4_000)
    kept = resident_bytes()
    clock.sleep(TRIM_S - 1)
    heap.on_task()
    assert kept - resident_bytes() < 20_000_000
    clock.sleep(1)
    heap.on_task()
    assert kept - resident_bytes() > 60_000_000
    ctypes.CDLL(None).free(ctypes.c_void_p(above))
