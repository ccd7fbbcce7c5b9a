"""The ledger as people are shown it: the document of ``tidegate ledger DIR --json`` (S7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors.formats.causes import causes_of, kind_of
from tidegate.connectors.locations import open_location
from tidegate.connectors.registry import connector_of
from tidegate.engine.engine import shared_engine
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import AccountLog
from tidegate.epochs.ledger import ledger_files, read_parquet
from tidegate.epochs.targets import TO_LEDGER
from tidegate.errors import OptionsError, TidegateError, did_you_mean
from tidegate.plan.tables import Table
from tidegate.ports import RowPlace
from tidegate.reasons import Reason
from tidegate.types import decimal_scale

Place: TypeAlias = tuple[str, str, str, int]
"""A row of the ledger: table, account, split and offset."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which rows of a ledger are shown: all of them where nothing is said, ``limit`` at most."""

    tables: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    limit: int | None = None

    def of(self, rows: pa.Table) -> pa.Table:
        """Those of ``rows``, of the ledger's schema."""
        for name, wanted in (
            ("table", self.tables),
            ("split", self.splits),
            ("reason", self.reasons),
        ):
            if wanted:
                texts = rows.column(name).cast(pa.string())
                rows = rows.filter(pc.is_in(texts, pa.array(wanted, pa.string())))
        return rows

    def check(self, tables: Iterable[str], splits: Iterable[str]) -> None:
        """Raises OptionsError for a table or a split that the job has not."""
        for kind, wanted, known in (
            ("table", self.tables, set(tables)),
            ("split", self.splits, set(splits)),
        ):
            for name in wanted:
                if name not in known:
                    raise OptionsError(
                        f"the job has read no {kind} '{name}'", hint=did_you_mean(name, known)
                    )


ALL: Final = Chosen()
_TOLD_BY_RECORDS: Final = (Reason.MALFORMED, Reason.PASSED_OVER)
KEY_MOVED: Final = (
    "another split has the row of this key, and nothing says which is newer: declare"
    " 'scan.changes.version' = 'column, …', a number or time that rises"
)
"""Why a change is not applied (S13)."""
_OF_CHANGES: Final[Mapping[str, str]] = {
    Reason.KEY_MOVED: KEY_MOVED,
    Reason.CLOSED: "it was taken from a row that was final: results that have left stay",
}
_NO_TIME: Final = -(2**63)
"""The one number that is no time to numpy."""


def read_ledger(checkpoint: Checkpoint, chosen: Chosen = ALL) -> dict[str, Any]:
    """The document that ``tidegate ledger DIR --json`` prints (S7): the account, ``chosen`` rows.

    Raises OptionsError for a table or a split that the job has not.
    """
    entry = checkpoint.entry(checkpoint.last_epoch())
    assert entry is not None
    tables = checkpoint.read_job().about.source_tables()
    counted = entry.accounts.counts
    chosen.check(
        {*tables, *(account.partition("#")[0] for account in counted)},
        {split for by_split in counted.values() for split in by_split},
    )
    # The entry counts rows from the moment when it is written, and what it lists is published
    # after that: by this job's driver, or by the next one if that died. What is moved meanwhile
    # is read twice, so the last word has the row's place, of which there is one in an account.
    staged = [_name_of(checkpoint, file.path) for file in entry.sinks.staged.get(TO_LEDGER, ())]
    rows = {_place(row): row for name in staged for row in _read(checkpoint, name, chosen)}
    # What a running job publishes after that belongs to an entry with other counts.
    for name in ledger_files(checkpoint, 0, entry.epoch):
        rows.update((_place(row), row) for row in _read(checkpoint, name, chosen))
    ordered = [rows[place] for place in sorted(rows)][: chosen.limit]
    more = details(ordered, tables)
    shown = [_row(row) | more.get(_place(row), {}) for row in ordered]
    return {"rows": shown, **counts_document(entry.accounts)}


def grouped(rows: Iterable[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """Rows of that document that were refused alike: how many, and the first of each kind.

    Alike are those of one table with one reason, and one cause but for its value. Most come first.
    """
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        kind = (row["table"], row["reason"], kind_of(row.get("cause", "")))
        found.setdefault(kind, []).append(row)
    groups = [(len(alike), alike[0]) for _, alike in sorted(found.items())]
    return sorted(groups, key=lambda group: -group[0])


def details(
    rows: Iterable[dict[str, Any]], tables: Mapping[str, Table]
) -> dict[Place, dict[str, str | int]]:
    """What rows of the ledger tell of themselves: ``file`` and ``line`` where they are found there
    still; ``cause``, the field and the value, of each malformed row where its record tells it."""
    by_table: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["record"] is not None and row["table"] in tables:
            by_table.setdefault(row["table"], []).append(row)
    found: dict[Place, dict[str, str | int]] = {}
    for name, ours in by_table.items():
        stand = _stand(ours, tables[name])
        for place, there in stand.items():
            found[place] = {"file": there.file, "line": there.line}
        refused = [row for row in ours if row["reason"] in _TOLD_BY_RECORDS]
        records = [row["record"] for row in refused]
        heads = {
            at: stand[_place(row)].head for at, row in enumerate(refused) if _place(row) in stand
        }
        causes = causes_of(records, tables[name], shared_engine(), heads)
        for row, cause in zip(refused, causes, strict=True):
            if cause:
                found.setdefault(_place(row), {})["cause"] = cause
        for row in ours:
            if row["reason"] in _OF_CHANGES:
                found.setdefault(_place(row), {})["cause"] = _OF_CHANGES[row["reason"]]
    return found


def _stand(rows: Iterable[dict[str, Any]], table: Table) -> dict[Place, RowPlace]:
    by_split: dict[str, dict[int, bytes]] = {}
    for row in rows:
        if row["reason"] not in _OF_CHANGES:  # the others have their records as they were read
            by_split.setdefault(row["split"], {})[row["offset"]] = row["record"]
    found: dict[tuple[str, int], RowPlace] = {}
    for split, records in by_split.items():
        with suppress(TidegateError, OSError):  # they may be gone, or not for this user to read
            there = connector_of(table).row_places(table, split, records)
            found |= {(split, offset): place for offset, place in there.items()}
    return {
        _place(row): found[row["split"], row["offset"]]
        for row in rows
        if (row["split"], row["offset"]) in found
    }


def _name_of(checkpoint: Checkpoint, path: str) -> str:
    """A staged file's name in the checkpoint's store."""
    _, root = open_location(checkpoint.ledger)
    return "ledger" + path.removeprefix(root)


def _read(checkpoint: Checkpoint, name: str, chosen: Chosen) -> list[dict[str, Any]]:
    """The chosen rows of a file of the ledger; none if it has been moved away."""
    try:
        rows: list[dict[str, Any]] = chosen.of(read_parquet(checkpoint, name)).to_pylist()
    except FileNotFoundError:
        return []
    return rows


def place_of(row: Mapping[str, Any]) -> str:
    """Where a row of that document is, as people look for it."""
    stands = f" ({row['file']} line {row['line']:,})" if "line" in row else ""
    return f"{row['split']}@{row['offset']}{stands}" if row["split"] else "no place"


def lasting(lateness: float, event_time: object) -> str:
    """How far a row was below its watermark: of times as people say it, else the number."""
    if not isinstance(event_time, str):
        return f"{lateness}"
    seconds = abs(lateness) / 1e6
    for name, unit_s in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * unit_s:
            return f"{seconds / unit_s:,.1f}".removesuffix(".0") + f" {name}"
    return f"{seconds:g} s"


def _place(row: dict[str, Any]) -> Place:
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
    if value == _NO_TIME:
        return value
    text = str(np.datetime64(value, "us")).replace("T", " ").removesuffix(".000000")
    year, month, rest = text.rsplit("-", 2)
    return text if int(year) > 0 else f"{1 - int(year):04}-{month}-{rest} (BC)"
