"""Each Nexmark job in the simulator: what DuckDB says over all accepted rows at once (S6)."""

from __future__ import annotations

import pytest

from kits.executor import ENGINE
from nexmark import reference
from nexmark.tables import EVENTS, TABLES
from oracle.compare import diff_output
from simulation.run import simulate
from simulation.world import Choices
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut
from tidegate.plan.nodes import Scan

JOBS = sorted(path.stem for path in reference.FOLDER.glob("*.sql"))


def test_each_job_has_a_reference() -> None:
    assert sorted(reference.QUERIES) == JOBS


CHOICES = (
    Choices(rows_max=None, chunk_rows=1 << 30, actors_live_on=True, crash_probability=0.0),
    Choices(rows_max=1_500, chunk_rows=700, actors_live_on=False, crash_probability=0.1),
)


@pytest.mark.parametrize("seed", range(len(CHOICES)))
@pytest.mark.parametrize("name", JOBS)
def test_a_job_gives_what_duckdb_says(name: str, seed: int) -> None:
    job = compile_sql(reference.job(name, EVENTS), name, {})
    run = simulate(cut(job, vnodes=seed + 2, pushdown=True), seed, ENGINE, CHOICES[seed])
    assert diff_output(reference.answer(name, TABLES), run.outputs[name]) == ""
    nodes = (node for sink in job.sinks for node in sink.walk())
    read = {node.table.name for node in nodes if isinstance(node, Scan)}
    wanted = sum(TABLES[table].num_rows for table in read)
    assert run.total.used == wanted
    assert run.total.late == run.total.read - wanted > 0
