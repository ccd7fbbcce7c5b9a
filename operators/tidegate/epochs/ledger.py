"""The ledger: every late and quarantined row of a job, a table in its checkpoint (S7)."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.connectors.locations import open_location
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import AccountLog
from tidegate.epochs.targets import TO_LEDGER
from tidegate.errors import TrustError
from tidegate.plan.nodes import Table
from tidegate.types import Column, decimal_scale

_COLUMNS = (
    Column("account", "VARCHAR"),
    Column("table", "VARCHAR"),
    Column("split", "VARCHAR"),
    Column("offset", "BIGINT"),
    Column("event_time", "BIGINT"),
    Column("watermark", "BIGINT"),
    Column("lateness", "BIGINT"),
    Column("time_type", "VARCHAR"),
    Column("operator", "VARCHAR"),
    Column("reason", "VARCHAR"),
    Column("record", "BLOB"),
)

_PART: Final = re.compile(r"part-\d+-(\d+)-\d+\.parquet")


def ledger_table(checkpoint: Checkpoint) -> Table:
    """The ledger as a sink table."""
    options = (("format", "parquet"), ("path", checkpoint.ledger))
    return Table("$ledger", _COLUMNS, "filesystem", "parquet", options)


def read_ledger(checkpoint: Checkpoint) -> dict[str, Any]:
    """The document that ``tidegate ledger DIR --json`` prints (S7)."""
    entry = checkpoint.entry(checkpoint.last_epoch())
    assert entry is not None
    # The entry counts rows from the moment when it is written, and what it lists is published
    # after that: by this job's driver, or by the next one if that died. What is moved meanwhile
    # is read twice, so the last word has the row's place, of which there is one in an account.
    staged = [_name_of(checkpoint, file.path) for file in entry.sinks.staged.get(TO_LEDGER, ())]
    rows = {_place(row): row for name in staged for row in _read(checkpoint, name)}
    # What a running job publishes after that belongs to an entry with other counts.
    for name in ledger_files(checkpoint, 0, entry.epoch):
        rows.update((_place(row), row) for row in _read(checkpoint, name))
    ordered = [_row(rows[place]) for place in sorted(rows)]
    return {"rows": ordered, **counts_document(entry.accounts)}


def ledger_files(checkpoint: Checkpoint, first: int, last: int) -> list[str]:
    """The published files of the epochs from ``first`` to ``last``, by name in the checkpoint's
    store, in the order of the epochs."""
    parts = [_PART.fullmatch(name) for name in checkpoint.store.names("ledger")]
    return [f"ledger/{part[0]}" for part in parts if part and first <= int(part[1]) <= last]


def read_parquet(checkpoint: Checkpoint, name: str) -> pa.Table:
    """A file of the ledger. Raises FileNotFoundError, and TrustError when it is corrupt."""
    data = checkpoint.store.read(name)
    try:
        # By this thread alone: one of Arrow's that drops the last reference to the bytes while
        # Python ends cannot get the interpreter's lock, and aborts the process (arrow#34314).
        return pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise TrustError(
            f"the ledger is corrupt: {checkpoint.store.where(name)} cannot be read",
            detail=str(error).splitlines()[0],
            hint="restore the checkpoint from a backup",
        ) from error


def _name_of(checkpoint: Checkpoint, path: str) -> str:
    """A staged file's name in the checkpoint's store."""
    _, root = open_location(checkpoint.ledger)
    return "ledger" + path.removeprefix(root)


def _read(checkpoint: Checkpoint, name: str) -> list[dict[str, Any]]:
    """The rows of a file of the ledger; none if it has been moved away."""
    try:
        rows: list[dict[str, Any]] = read_parquet(checkpoint, name).to_pylist()
    except FileNotFoundError:
        return []
    return rows


def _place(row: dict[str, Any]) -> tuple[str, str, str, int]:
    return (row["table"], row["account"], row["split"], row["offset"])


def counts_document(accounts: AccountLog) -> dict[str, Any]:
    """``counts`` in total and ``splits`` by split; by ``account/split`` if there are several."""
    splits: dict[str, dict[str, int]] = {}
    for account, by_split in sorted(accounts.counts.items()):
        for split, counts in sorted(by_split.items()):
            splits[split if len(accounts.counts) == 1 else f"{account}/{split}"] = asdict(counts)
    return {"counts": asdict(accounts.total()), "splits": splits}


def _row(row: dict[str, Any]) -> dict[str, Any]:
    kind = row["time_type"]
    record = row["record"]
    return {
        "table": row["table"],
        "split": row["split"],
        "offset": row["offset"],
        "event_time": show_time(row["event_time"], kind),
        "watermark": show_time(row["watermark"], kind),
        "lateness": _show_lateness(row["lateness"], kind),
        "operator": row["operator"],
        "reason": row["reason"],
        "record": None if record is None else record.decode("utf-8", "backslashreplace"),
    }


def _show_lateness(value: int | None, kind: str | None) -> int | float | None:
    """In the column's unit: microseconds for timestamps, else the number itself (S7)."""
    scale = decimal_scale(kind) if kind else None
    return float(Decimal(value).scaleb(-scale)) if value is not None and scale else value


def show_time(value: int | None, kind: str | None) -> str | int | float | None:
    """A 64-bit event time as people read it: timestamps as text, numbers as numbers."""
    if value is None or kind is None or kind == "BIGINT":
        return value
    scale = decimal_scale(kind)
    if scale is not None:
        return float(Decimal(value).scaleb(-scale)) if scale else value
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
    except OverflowError:
        return value  # beyond the year 9999
    return (
        f"{moment.year:04d}"
        + moment.strftime("-%m-%d %H:%M:%S")
        + (f".{moment.microsecond:06d}" * bool(moment.microsecond))
    )
