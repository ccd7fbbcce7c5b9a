"""Where the rows of an epoch go: by a number below zero, on the wire and in the epoch log.

A number of zero or above is a fragment. Sink i is `TO_SINK` - i.
"""

from __future__ import annotations

from typing import Final

from tidegate.plan.nodes import Job
from tidegate.plan.tables import Table

TO_LEDGER: Final = -1
TO_DRIVER: Final = -2
TO_SINK: Final = -3  # and below


def sink_tables(job: Job) -> dict[int, Table]:
    """The tables that a job writes, by the number that stands for them on the wire.

    The ledger's copy, if there is one, comes behind the sinks.
    """
    tables = [sink.table for sink in job.sinks] + ([job.ledger.table] if job.ledger else [])
    return {TO_SINK - index: table for index, table in enumerate(tables)}
