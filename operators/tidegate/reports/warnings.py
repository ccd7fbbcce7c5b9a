"""What a run that ends, and ``tidegate status``, warn of (S15): an answer that may be none.

A table most of whose rows were refused, with the field and an example; a BIGINT time that cannot be
milliseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tidegate.connectors.formats.causes import causes_of
from tidegate.engine.engine import shared_engine
from tidegate.epochs.about import About
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import Entry
from tidegate.epochs.ledger import ledger_files, read_parquet
from tidegate.types import Reason

_MOST: Final = 0.5
_UNIT: Final = "scan.watermark.unit"
_MILLISECOND_US: Final = 1000
_SECONDS: Final = range(10**8, 10**11)
"""What is a time from 1973 to 5138 in seconds, and of January 1970 to 1973 in milliseconds."""
_REFUSED: Final = {
    Reason.MALFORMED: "malformed",
    Reason.NULL_TIME: "without an event time",
    Reason.FUTURE: "further ahead of the clock than scan.watermark.max-future-skew allows",
}


def warnings_of(checkpoint: Checkpoint, about: About, entry: Entry) -> list[str]:
    """In whole sentences; of the job of ``checkpoint`` as of ``entry``."""
    return [*_refused(checkpoint, about, entry), *_units(about, entry)]


def _refused(checkpoint: Checkpoint, about: About, entry: Entry) -> Iterator[str]:
    told: Counter[tuple[str, str]] = Counter()
    for (account, _, reason), rejection in entry.accounts.rejections():
        told[account, reason] += rejection.rows
    seen = set()
    for (account, reason), rows in sorted(told.items()):
        read = sum(counts.read for counts in entry.accounts.counts[account].values())
        table = account.partition("#")[0]
        if reason not in _REFUSED or rows <= read * _MOST or (table, reason) in seen:
            continue
        seen.add((table, reason))
        example = _example(checkpoint, about, table) if reason == Reason.MALFORMED else ""
        yield (
            f"{rows:,} of {read:,} rows of table '{table}' are"
            f" {_REFUSED[Reason(reason)]}{example}; tidegate ledger shows them"
        )


def _example(checkpoint: Checkpoint, about: About, table: str) -> str:
    """One malformed row of ``table``, and why it is."""
    declared = about.source_tables().get(table)
    for name in reversed(ledger_files(checkpoint, 0, 2**62)):
        for row in read_parquet(checkpoint, name).to_pylist():
            if (row["table"], row["reason"]) != (table, Reason.MALFORMED):
                continue
            cause = _cause(row, declared)
            return f", such as {row['split']}@{row['offset']}" + f": {cause}" * bool(cause)
    return ""


def _cause(row: dict[str, Any], declared: Any) -> str:
    if declared is None or row["record"] is None:
        return ""
    (cause,) = causes_of([row["record"]], declared, shared_engine())
    return cause


def _units(about: About, entry: Entry) -> Iterator[str]:
    for filter_id, told in about.filters.items():
        table = about.tables.get(told.table)
        if told.type != "BIGINT" or told.unit_us != _MILLISECOND_US or table is None:
            continue
        if any(name == _UNIT for name, _ in table.options):
            continue
        states = entry.filters.states.get(filter_id, {}).values()
        times = [state.watermark for state in states if state.watermark is not None]
        if times and max(times) in _SECONDS:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=max(times))
            yield (
                f"{told.table}.{told.column} is taken as milliseconds, in which {max(times)} is of"
                f" {moment:%B %Y}: if it counts seconds, declare '{_UNIT}' = 's'; else '{_UNIT}'"
                " = 'ms' says so"
            )
