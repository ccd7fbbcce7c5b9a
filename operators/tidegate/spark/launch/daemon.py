"""The parent of a machine's Python workers: PySpark's own, with all loaded that they need.

PySpark's daemon forks a worker for each task that runs at once, and each imports by itself what its
tasks need: a second of CPU, at the start of a job and on every executor that takes another's
place. Here the daemon has it, and its workers share it, in memory too.

Threads do not survive a fork. What is imported starts none that anybody waits for: numpy's would,
and the script ``python`` keeps them off; Arrow's allocator begins its own anew. Engines, clients
and connections are made in workers.
"""

from __future__ import annotations

import gc
import importlib
from typing import Final

from pyspark import daemon

from tidegate.connectors.registry import BUILT_IN

LOADED: Final = (
    "pyspark.worker",
    "tidegate.spark.stages.processor",
    "tidegate.spark.source.reader",
    "tidegate.spark.source.data_source",
    "tidegate.spark.sinks.writer",
    *BUILT_IN,
)
"""With all that these import."""


def main() -> None:
    """Loads, and forks workers until Spark hangs up."""
    for name in LOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # else a worker's first collection writes to every page that it shares
    daemon.manager()


if __name__ == "__main__":
    main()
