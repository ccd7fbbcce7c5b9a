"""The ledger: every late and quarantined row of a job, a table in its checkpoint (S7)."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.connectors.formats.parquet_seal import is_intact
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.targets import TO_LEDGER, sink_tables
from tidegate.errors import TrustError
from tidegate.plan.nodes import Job
from tidegate.plan.tables import Table
from tidegate.types import LEDGER_SCHEMA, Column

_SQL: Final = {pa.int64(): "BIGINT", pa.binary(): "BLOB"}
_COLUMNS = tuple(Column(each.name, _SQL.get(each.type, "VARCHAR")) for each in LEDGER_SCHEMA)
_PART: Final = re.compile(r"part-\d+-(\d+)-\d+\.parquet")


def ledger_table(checkpoint: Checkpoint) -> Table:
    """The ledger as a sink table."""
    options = (("format", "parquet"), ("path", checkpoint.ledger))
    return Table("$ledger", _COLUMNS, "filesystem", "parquet", options)


def targets(job: Job, checkpoint: Checkpoint) -> dict[int, Table]:
    """All that a job writes: its tables, and the ledger."""
    return {**sink_tables(job), TO_LEDGER: ledger_table(checkpoint)}


def ledger_files(checkpoint: Checkpoint, first: int, last: int) -> list[str]:
    """The published files of the epochs from ``first`` to ``last``, by name in the checkpoint's
    store, in the order of the epochs."""
    return [name for _, name in files_by_epoch(checkpoint, first, last)]


def files_by_epoch(checkpoint: Checkpoint, first: int, last: int) -> list[tuple[int, str]]:
    """As `ledger_files`, each with its epoch."""
    parts = [_PART.fullmatch(name) for name in checkpoint.store.names("ledger")]
    found = [(int(part[1]), f"ledger/{part[0]}") for part in parts if part]
    return [(epoch, name) for epoch, name in found if first <= epoch <= last]


def read_parquet(checkpoint: Checkpoint, name: str) -> pa.Table:
    """A file of the ledger. Raises FileNotFoundError, and TrustError when it is corrupt."""
    data = checkpoint.store.read(name)
    try:
        # By this thread alone: one of Arrow's that drops the last reference to the bytes while
        # Python ends cannot get the interpreter's lock, and aborts the process (arrow#34314).
        if not is_intact(data):
            raise ValueError("it was changed after it was written: its checksum is another")
        return pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TrustError(
            f"the ledger is corrupt: {checkpoint.store.where(name)} cannot be read",
            detail=str(error).splitlines()[0],
            hint="restore the checkpoint from a backup",
        ) from error
