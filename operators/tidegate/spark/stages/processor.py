"""A stateful stage as Spark sees it: `transformWithState`, one call for each route in every epoch.

What a call does is in `stage`, which is imported when the first one comes: Spark unpickles the
processor in a process on the driver, too, which asks for the state variables and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from tidegate.phases import PHASES
from tidegate.spark.errors import carried
from tidegate.spark.launch.heap import HEAP


class StageProcessor(StatefulProcessor):
    """Runs the fragments of ``depth``."""

    def __init__(self, job: str, depth: int) -> None:
        self._job = job
        self._depth = depth

    def init(self, handle: Any) -> None:
        PHASES.start()
        HEAP.on_task()
        self._index = handle.getValueState("index", "document binary")
        self._runs = handle.getMapState("runs", "number bigint", "run binary")

    def handleInputRows(  # noqa: N802  # Spark's name
        self,
        key: Any,
        rows: Iterable[Any],
        timerValues: Any,  # noqa: N803, ARG002
    ) -> Iterator[Any]:
        from tidegate.spark.stages.stage import run_route

        with carried():
            yield from run_route(self._job, self._depth, key[0], rows, self._index, self._runs)

    def close(self) -> None:
        pass
