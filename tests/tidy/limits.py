"""What is longer than the house likes, or stands alone, each with its reason."""

from __future__ import annotations

from typing import Final

FILE_LINES_MAX: Final = 400
FUNCTION_LINES_MAX: Final = 70

LONG_FILES: Final[dict[str, str]] = {}
"""Path below the repository: why it is not two files."""

LONG_FUNCTIONS: Final[dict[str, str]] = {}
"""``path::name``: why it is not two functions."""

WITHOUT_TWIN: Final[dict[str, str]] = {
    "operators/tidegate/executor/base.py": "a contract without behaviour",
    "operators/tidegate/epochs/listener.py": "a contract without behaviour",
    "operators/tidegate/frontend/ast/statements.py": "values without behaviour",
    "operators/tidegate/frontend/ast/queries.py": "values without behaviour",
    "operators/tidegate/connectors/kafka/patience.py": "values without behaviour",
    "operators/tidegate/connectors/kafka/sink.py": "a real broker says: tests/kafka/test_sink*.py",
    "operators/tidegate/connectors/kafka/delivery.py": "as sink.py",
    "operators/tidegate/connectors/kafka/markers.py": "as sink.py",
    "operators/tidegate/connectors/kafka/transactions.py": "as sink.py",
    "operators/tidegate/connectors/postgres/client.py": "a real server says: tests/postgres",
    "operators/tidegate/connectors/postgres/guard.py": "as client.py",
    "operators/tidegate/connectors/postgres/sink.py": "as client.py",
    "operators/tidegate/connectors/postgres/statements.py": "as client.py",
    "operators/tidegate/connectors/postgres/target.py": "as client.py",
}
"""Path below the repository: why there is no tests/unit/**/test_<name>.py for it."""

ENTRY_POINTS: Final[dict[str, str]] = {
    "tidegate.session": "the Python front door",
    "tidegate.simulator.local": "the front door without Spark: tests, the world of seeds",
    "tidegate.pod": "the entry of the image: k8s/images/tidegate",
    "tidegate.spark.launch.borrow": "a script of the script `python`",
}
"""Modules that nothing imports and that are alive (those of pyproject's scripts go without)."""

UNTYPED: Final[dict[str, str]] = {
    "epochs/entry.py::read_entry": "a document, on its way to its type",
    "epochs/offsets.py::INITIAL": "an offset as Spark takes it",
    "epochs/offsets.py::from_json": "as INITIAL",
    "epochs/offsets.py::to_json": "as INITIAL",
    "epochs/sealed.py::opened": "as read_entry",
    "epochs/sealed.py::read_sealed": "as read_entry",
    "spark/launch/given.py::builder_settings": "what the builder of a session takes",
    "spark/source/data_source.py::__getstate__": "Python's",
    "spark/source/data_source.py::initialOffset": "Spark's",
    "spark/source/data_source.py::latestOffset": "Spark's",
    "spark/source/data_source.py::partitions": "Spark's",
    "spark/stages/state.py::__init__": "a part of the index, which this file writes and reads",
    "spark/stages/state.py::content": "as __init__",
}
"""What crosses a border in `epochs` or `spark` as a dict of anything: why it has no type."""

SPARK_LINES_MAX: Final = 4300
"""Of the folder `spark`: what does not touch Spark belongs on a floor below it."""

PRODUCT_LINES_MAX: Final = 58_700
"""Of the package: what is added pays for itself, or this is raised with a reason in the commit."""

CONNECTOR_MENTIONS_MAX: Final = 12
"""Outside of a connector's folder: the list of them is most."""

WITHOUT_PYSPARK: Final[dict[str, str]] = {
    "errors.py": "our errors in the texts of Spark's",
    "exchange/columns.py": "the row of an exchange, by the names of its columns",
    "exchange/ipc.py": "the body of such a row",
    "exchange/outbox.py": "messages to such rows",
    "exchange/routes.py": "the hash by which Spark spreads keys",
    "exchange/wire.py": "such rows as messages",
    "kubernetes/executor_pod.py": "the command of Spark's executors",
    "kubernetes/reaper.py": "executors that hang, which Spark does not replace",
    "kubernetes/settings.py": "settings of Spark",
    "launch/borrow.py": "what stands for a Python process of Spark's",
    "launch/classes.py": "where Spark's classes are",
    "launch/heap.py": "the collector of a Python worker of Spark's",
    "launch/java.py": "the Java that Spark is started with",
    "launch/nursery.py": "the parent of Spark's Python processes",
    "launch/own_jvm.py": "Spark's JVM, before Python has read PySpark",
    "memory.py": "of a Python worker of Spark's, in its report",
    "run_options.py": "the settings of Spark among those of a run",
    "source/reader.py": "a task of Spark's source",
    "stages/run_cache.py": "where its tasks keep what is mapped",
    "stages/state.py": "state variables of transformWithState, by their methods",
    "stop.py": "the signals that PySpark takes",
}
"""Files of `spark` that import neither pyspark nor py4j: what of Spark they are about."""
