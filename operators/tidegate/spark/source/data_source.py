"""The job's one source for Spark: planner on the driver, source fragments in the workers.

Spark unpickles these classes in three processes that ask no more than names and schema, one after
the other, before a job's first epoch. So the parts that do the work are imported when they
are called: that takes a second in each process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)

from tidegate.clock import SystemClock
from tidegate.spark.errors import carried
from tidegate.spark.exchange.columns import SPARK_SCHEMA

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.epochs.planner import Planner, ReaderTask

FORMAT = "tidegate"


class TaskPartition(InputPartition):
    """A reader task on its way to a worker."""

    def __init__(self, task: ReaderTask) -> None:
        super().__init__(None)
        self.task = task


class TidegateSource(DataSource):
    """Spark's entry: ``spark.readStream.format("tidegate").option("job", …)``."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SPARK_SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802, ARG002
        return TidegateStreamReader(self.options["job"])


class TidegateStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Admission control by our own planner; Spark's read limits are not used."""

    def __init__(self, job: str) -> None:
        self._job = job
        self._planner: Planner | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_job": self._job, "_planner": None}  # the planner stays on the driver

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Nothing to do: connectors fix what is there now at their first listing of a run."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        from tidegate.epochs.offsets import INITIAL

        return dict(INITIAL)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable()

    def latestOffset(  # noqa: N802
        self,
        start: dict[str, Any],
        limit: ReadLimit,  # noqa: ARG002
    ) -> dict[str, Any]:
        from tidegate.epochs.offsets import Offset

        with carried():
            return self._plan().next_offset(Offset.from_json(start)).to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        from tidegate.epochs.offsets import Offset

        with carried():
            tasks = self._plan().tasks(Offset.from_json(start), Offset.from_json(end))
            return [TaskPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from tidegate.epochs.job import decode_job
        from tidegate.spark.exchange.wire import to_batches
        from tidegate.spark.source.reader import run_reader_task

        assert isinstance(partition, TaskPartition)
        with carried():
            yield from to_batches(run_reader_task(decode_job(self._job), partition.task))

    def _plan(self) -> Planner:
        from tidegate.epochs.job import decode_job
        from tidegate.epochs.planner import Planner

        if self._planner is None:
            self._planner = Planner(decode_job(self._job), SystemClock())
        return self._planner
