"""The jobs of jobs/ over generated rows: what DuckDB says over all accepted rows at once (S6)."""

from __future__ import annotations

from typing import Final

import pytest

from kits.executor import ENGINE
from oracle.compare import diff_output
from oracle.decode import Column
from oracle.query import Output
from simulation.packaged import FOLDER, JOBS, answer
from simulation.run import simulate
from simulation.world import Choices
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut

_CHOICES: Final = (
    Choices(rows_max=None, chunk_rows=1 << 30, actors_live_on=True, crash_probability=0.0),
    Choices(rows_max=4_000, chunk_rows=1_500, actors_live_on=False, crash_probability=0.2),
)


@pytest.mark.parametrize("world", range(len(_CHOICES)))
@pytest.mark.parametrize("name", JOBS)
def test_a_job_gives_what_duckdb_says(name: str, world: int) -> None:
    sink, sql = JOBS[name]
    job = compile_sql((FOLDER / f"{name}.sql").read_text("utf-8"), name, {})
    run = simulate(cut(job, vnodes=world + 2, pushdown=True), world, ENGINE, _CHOICES[world])
    wanted, accepted = answer(name, job, sql)
    schema = next(each.schema for each in job.sinks if each.table.name == sink)
    columns = tuple(Column(column.name, column.type) for column in schema)
    assert diff_output(Output(columns, wanted), run.outputs[sink]) == ""
    assert run.total.read - run.total.late == accepted
    assert run.total.late > 0
    assert world == 0 or (run.epochs >= 5 and run.crashes > 0)


def test_every_job_is_tested() -> None:
    """orders.sql is the demonstration's, which `tests/spark/test_demo.py` runs."""
    assert {path.stem for path in FOLDER.glob("*.sql")} == {*JOBS, "orders"}
