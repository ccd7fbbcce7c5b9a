"""A Spark of a run's own, which ends with it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.listener import Log
from tidegate.errors import RunError
from tidegate.spark.kubernetes.settings import kubernetes_settings
from tidegate.spark.launch.gateway import ended_with, socket_settings, start_spark
from tidegate.spark.launch.s3a import joined, settings_for
from tidegate.spark.run_options import RunOptions
from tidegate.store.local import LocalStore


@contextmanager
def spark_for(
    name: str,
    options: RunOptions,
    checkpoint: Checkpoint,
    parallelism: int,
    scratch: Path,
    log: Log,
) -> Iterator[SparkSession]:
    """A Spark that reaches the checkpoint. Raises RunError when it does not start."""
    settings = {
        **settings_for(checkpoint.store),
        **socket_settings(options.master, str(scratch)),
        **kubernetes_settings(options.master, os.environ, uuid4().hex[:6]),
    }
    with _spark_log(checkpoint, log) as written:
        spark = start_spark(
            name,
            options.master,
            parallelism,
            joined(settings, dict(options.spark)),
            None if options.debug else written,
        )
        try:
            with stopped_after(spark):
                yield spark
        except (Py4JError, ConnectionError) as error:
            code = ended_with(spark)
            if code is None:
                raise
            raise RunError(
                f"Spark's JVM has ended in the middle of the run, with exit code {code}",
                detail=str(error).partition("\n")[0],
                hint=f"its last words are in {written}; run again: it goes on from the checkpoint",
            ) from error


@contextmanager
def stopped_after(spark: SparkSession) -> Iterator[None]:
    """Stops Spark behind the block."""
    try:
        yield
    finally:
        spark.stop()


@contextmanager
def _spark_log(checkpoint: Checkpoint, log: Log) -> Iterator[Path]:
    """Where the JVM's output goes: with the checkpoint, else a file that failed runs leave."""
    if isinstance(checkpoint.store, LocalStore):
        yield checkpoint.store.path / "log" / "spark.log"
        return
    directory = Path(tempfile.mkdtemp(prefix="tidegate-log-"))
    log(f"Spark's own words are in {directory / 'spark.log'}")
    yield directory / "spark.log"
    shutil.rmtree(directory, ignore_errors=True)
