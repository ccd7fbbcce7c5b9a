"""Each Nexmark job in the simulator: what DuckDB says over all accepted rows at once (S6)."""

from __future__ import annotations

from dataclasses import replace

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


AT_ONCE = Choices(rows_max=None, chunk_rows=1 << 30, actors_live_on=True, crash_probability=0.0)
CUT = Choices(rows_max=5_000, chunk_rows=1_500, actors_live_on=False, crash_probability=0.2)


@pytest.mark.parametrize("cut_up", [False, True])
@pytest.mark.parametrize("name", JOBS)
def test_a_job_gives_what_duckdb_says(name: str, cut_up: bool) -> None:
    job = compile_sql(reference.job(name, EVENTS), name, {})
    nodes = (node for sink in job.sinks for node in sink.walk())
    read = {node.table.name for node in nodes if isinstance(node, Scan)}
    wanted = sum(TABLES[table].num_rows for table in read)
    choices = replace(CUT, rows_max=min(5_000, wanted // 4)) if cut_up else AT_ONCE
    run = simulate(cut(job, vnodes=2 + cut_up, pushdown=True), int(cut_up), ENGINE, choices)
    assert diff_output(reference.answer(name, TABLES), run.outputs[name]) == ""
    assert run.total.used == wanted
    assert run.total.late == run.total.read - wanted > 0
    assert not cut_up or (run.epochs >= 4 and run.crashes > 0)
