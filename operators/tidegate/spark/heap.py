"""Keeps Python's collector off what a worker has loaded for good.

PySpark's daemon collects garbage behind each task of a worker, over all objects of the process: its
modules, their classes, our engine and clients. That took 50 to 90 % of a worker's CPU in small
epochs, and the next task of the same worker waited for it. None of these objects ever goes, so they
are put where the collector does not look (`gc.freeze`), once the worker is warm. What tasks leave
behind is collected as before.
"""

from __future__ import annotations

import gc
from typing import Final

WARM_TASKS: Final = 4
"""By then a worker has imported, connected and cached what it will."""


class Heap:
    """Counts the tasks of a process."""

    def __init__(self) -> None:
        self._tasks = 0

    def on_task(self) -> None:
        """A task begins."""
        self._tasks += 1
        if self._tasks == WARM_TASKS:
            gc.collect()  # or what is garbage now would be kept
            gc.freeze()


HEAP: Final = Heap()
"""That of this process."""
