"""The operators of the jobs that `tests/spark/test_language.py` and `tests/kafka` run on Spark, and
the blocks of results that change which `tests/kafka/test_blocks.py` does."""

from __future__ import annotations

import tempfile
from pathlib import Path

from kafka.test_blocks import job as blocks_job
from kafka.test_upsert import job_text as upserts
from oracle.jobs import JobSpec, write
from simulation.changing_page import blocks
from simulation.matrix import operators
from spark.test_language import SPECS
from spark.test_views import JOB as VIEWS
from tidegate.frontend import compile as compile_sql


def operators_on_spark() -> set[str]:
    """The names of `matrix.operators`."""
    found: set[str] = set()
    for spec in SPECS.values():
        with tempfile.TemporaryDirectory() as directory:
            folder = Path(directory)
            file = write(spec, folder) if isinstance(spec, JobSpec) else spec.write(folder)
            found |= operators(compile_sql(file.read_text("utf-8"), str(file), {}))
    more = (upserts("topic", "broker:9092"), VIEWS)
    return found.union(*(operators(compile_sql(text, "more.sql", {})) for text in more))


def blocks_on_spark() -> set[str]:
    """The names of `changing_page.blocks`."""
    text = blocks_job(servers="broker:9092", a="a", b="b", c="c")
    return blocks(compile_sql(text, "blocks.sql", {}))
