"""The accepted rows of the events that the tests of Nexmark run on."""

from __future__ import annotations

import pyarrow as pa

from kits.executor import ENGINE
from nexmark import reference
from tidegate.connectors.generated import rows_of_split
from tidegate.connectors.nexmark.events import nexmark_of
from tidegate.frontend import compile as compile_sql
from tidegate.plan.nodes import Scan

EVENTS = 50_000


def splits_of_tables() -> dict[str, list[pa.Table]]:
    """The rows of each table, split by split, as the jobs read them."""
    found: dict[str, list[pa.Table]] = {}
    for job in reference.QUERIES:
        for sink in compile_sql(reference.job(job, EVENTS), job, {}).sinks:
            for scan in (node for node in sink.walk() if isinstance(node, Scan)):
                generator = nexmark_of(scan.table)
                assert generator.rows is not None
                splits = generator.options.splits
                found[scan.table.name] = [
                    generator.make(split, 0, rows_of_split(generator.rows, splits, split), ENGINE)
                    for split in range(splits)
                ]
    return found


SPLITS = splits_of_tables()
TABLES = {name: reference.accepted(splits) for name, splits in SPLITS.items()}
