"""Every statement of the seeds is taken, and says what its document says of it."""

from __future__ import annotations

import pytest

from seeds.page import PAGE, page
from seeds.statements import SEEDS, Seed
from tidegate.frontend import compile_file
from tidegate.plan.fragments import cut


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"{seed.number} {seed.about}")
def test_it_is_taken(seed: Seed) -> None:
    reads = seed.sql
    if "CREATE TABLE" in seed.sql and "AS SELECT" not in seed.sql:  # it is declared: and read
        name = seed.sql.split("CREATE TABLE ")[1].split()[0]
        reads += f" SELECT * FROM {name};"
    if "CREATE SOURCE" in seed.sql:
        reads += " SELECT * FROM orders;"
    compiled = compile_file(seed.given + reads, "seed.sql", {})
    assert compiled.job.sinks or compiled.descriptions or compiled.plans
    cut(compiled.job, 8)


def test_the_page_is_of_these() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m seeds.page"
