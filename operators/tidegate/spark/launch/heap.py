"""Keeps Python's collector off what a worker has loaded for good, and its memory small.

PySpark's daemon collects garbage behind each task of a worker, over all objects of the process: its
modules, their classes, our engine and clients. That took 50 to 90 % of a worker's CPU in small
epochs, and the next task of the same worker waited for it. None of these objects ever goes, so they
are put where the collector does not look (`gc.freeze`), once the worker is warm. What tasks leave
behind is collected as before.

What was freed goes back to the system now and then (`malloc_trim`). The C library keeps it, in an
arena for each of the Kafka clients' threads: of the 450 MB of a worker that read 50,000 rows a
second, 250 were such. It takes 2 to 12 ms, and at full speed half a percent for the pages to come
back.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Final

from tidegate.clock import Clock, SystemClock

WARM_TASKS: Final = 4
"""By then a worker has imported, connected and cached what it will."""
TRIM_S: Final = 60.0


class Heap:
    """Counts the tasks of a process."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock: Clock = clock or SystemClock()
        self._tasks = 0
        self._trimmed_s = self._clock.monotonic_s()

    def on_task(self) -> None:
        """A task begins."""
        self._tasks += 1
        if self._tasks == WARM_TASKS:
            gc.collect()  # or what is garbage now would be kept
            gc.freeze()
        now_s = self._clock.monotonic_s()
        if self._tasks == WARM_TASKS or now_s >= self._trimmed_s + TRIM_S:
            self._trimmed_s = now_s
            give_back()


def give_back() -> None:
    """Gives what was freed back to the system. Only glibc knows how to."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


HEAP: Final = Heap()
"""That of this process."""
