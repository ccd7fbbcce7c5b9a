"""A Spark that somebody else has started: the `SparkSession` of a PySpark user.

A job runs on its context, in a session of its own (`SparkSession.newSession`): what is set for the
job's SQL is the job's, and the user's session stays as it is. What a context was started with can't
be changed any more. Of that, what the design does not hold without is refused by name, with what to
write into the builder; what only makes a job faster is the user's choice (`builder_settings` has
all of it).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidegate.epochs.parallelism import PARTITIONS
from tidegate.errors import OptionsError
from tidegate.spark.launch.daemon import LOADED
from tidegate.spark.launch.gateway import DEFAULTS, REQUIRED
from tidegate.spark.launch.s3a import settings_for
from tidegate.store.base import Store
from tidegate.version import __version__

Spark: TypeAlias = SparkSession

PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
_SQL: Final = "spark.sql."
_HADOOP: Final = "spark.hadoop."
_S3A: Final = (
    "org.apache.hadoop.fs.s3a.S3AFileSystem",
    "org.apache.spark.internal.io.cloud.AbortableStreamBasedCheckpointFileManager",
)
_OF_A_TERMINAL: Final = ("spark.ui.", "spark.log.", "spark.driver.", "spark.sql.ui.")
"""What the command line sets for itself."""


def builder_settings() -> dict[str, Any]:
    """What the command line starts Spark with, for ``SparkSession.builder.config(map=…)``.

    Of SQL's settings only RocksDB for state, which DataFrames want too: a job has its own.
    """
    every = {**DEFAULTS, **REQUIRED}
    kept = {name: value for name, value in every.items() if not name.startswith(_OF_A_TERMINAL)}
    return {n: v for n, v in kept.items() if n == PROVIDER or not n.startswith(_SQL)}


class Given:
    """A user's session."""

    def __init__(self, spark: Spark) -> None:
        self._spark = spark

    @property
    def master(self) -> str:
        return str(self._spark.sparkContext.master)

    def check(self) -> None:
        """Raises OptionsError for a Spark that no job can run on."""
        if not isinstance(self._spark, SparkSession):
            raise OptionsError(
                f"a {type(self._spark).__module__}.{type(self._spark).__name__} is not a"
                " SparkSession that Tidegate can use",
                hint="give it one of pyspark.sql, with its JVM here: not one of Spark Connect",
            )
        if getattr(self._spark.sparkContext, "_jsc", None) is None:
            raise OptionsError("this SparkSession has been stopped", hint="start another one")
        began_with = self._spark.sparkContext.getConf()
        for name, value in REQUIRED.items():
            if not name.startswith(_SQL) and began_with.get(name, value) != value:
                raise _refused(name, value, f"it is {began_with.get(name)}, and must be {value}")
        self._check_workers()

    def session(self, parallelism: int, store: Store, asked: Mapping[str, str]) -> Spark:
        """A session for a job whose checkpoint is in ``store``; ``asked`` are the job's own
        settings of Spark. Raises OptionsError for one that cannot be set any more.
        """
        own = self._spark.newSession()
        for name, value in self._settings(store).items():
            _set(own, name, value)
        began_with = self._spark.sparkContext.getConf()
        for name, value in asked.items():
            if name in REQUIRED:
                continue
            if name.startswith((_SQL, _HADOOP)):
                # Also one that the context has: the user's session may have another one since.
                _set(own, name, value)
            elif began_with.get(name) != value:
                raise _refused(name, value, "this Spark was started without it")
        _set(own, PARTITIONS, str(parallelism))  # the checkpoint's, whatever was asked
        return own

    def _settings(self, store: Store) -> dict[str, str]:
        """What all jobs need; the user's own choice wins where that is not needed."""
        found = {name: value for name, value in DEFAULTS.items() if name.startswith(_SQL)}
        found = {name: self._spark.conf.get(name, value) or value for name, value in found.items()}
        if not store.is_local:
            self._check_s3a(store)
            found |= settings_for(store, loaded=True)
        found |= {name: value for name, value in REQUIRED.items() if name.startswith(_SQL)}
        return {n: v for n, v in found.items() if not n.startswith(_OF_A_TERMINAL)}

    def _check_s3a(self, store: Store) -> None:
        jvm: Any = self._spark._jvm
        try:
            for name in _S3A:
                jvm.org.apache.spark.util.Utils.classForName(name, True, False)
        except Py4JError:
            raise OptionsError(
                f"checkpoint {store.uri}: this Spark was started without S3A's jars",
                hint="fetch them with `tidegate-s3-jars`, and write into the builder, before"
                " getOrCreate(): .config('spark.driver.extraClassPath', 'JARS/*')"
                ".config('spark.executor.extraClassPath', 'JARS/*')",
            ) from None

    def _check_workers(self) -> None:
        """Whether this Spark's Python workers have what our part in them needs."""
        rows = self._spark.sparkContext.parallelize(range(1), 1)
        hint = (
            "Spark's workers need the Python in which Tidegate is installed: set"
            " os.environ['PYSPARK_PYTHON'] = sys.executable before the builder; on a cluster"
            " install it on every node"
        )
        try:
            said, version = rows.mapPartitions(_tried(LOADED)).collect()
        except Exception as error:  # a worker that does not start fails in many ways
            lines = [line for line in str(error).splitlines() if "Exception:" in line]
            raise OptionsError(
                "this Spark's Python workers do not start",
                detail=(lines or [str(error)])[-1].strip()[:500],
                hint=hint,
            ) from error
        if said or version != __version__:
            found = said or f"they have tidegate {version}, this is {__version__}"
            message = "this Spark's Python workers cannot run Tidegate"
            raise OptionsError(message, detail=found, hint=hint)


def _tried(modules: Iterable[str]) -> Callable[[Any], Iterator[str]]:
    """A function for workers that may lack all of them: it goes there by value."""
    names = tuple(modules)
    load = importlib.import_module

    def tried(_: Any) -> Iterator[str]:
        try:
            found = [load(name) for name in ("tidegate", *names)]
        except Exception as error:  # what another installation does on import is not known
            yield from (f"{type(error).__name__}: {error}", "")
        else:
            yield from ("", found[0].__version__)

    return tried


def _set(session: Spark, name: str, value: str) -> None:
    """Hadoop's settings reach a query by the session's too, without their prefix."""
    try:
        session.conf.set(name.removeprefix(_HADOOP), value)
    except PySparkException:
        if session.conf.get(name, None) != value:
            raise _refused(name, value, "it cannot be set any more") from None


def _refused(name: str, value: str, why: str) -> OptionsError:
    return OptionsError(
        f"{name} = {value}: {why}",
        hint="Spark takes it only when it starts: write into the builder, before getOrCreate():"
        f" .config('{name}', '{value}')",
    )
