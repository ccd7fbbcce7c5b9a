"""What a run that ends, ``tidegate status`` and metrics warn of (S15): an answer that may be none.

refused   a table most of whose rows were refused, with the field and an example
absent    a declared column that never came
unit      a BIGINT time that cannot be milliseconds
held      a split that holds everything back
beside    output beside that of another checkpoint
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from tidegate.connectors.durations import parse_duration
from tidegate.connectors.registry import connector_of
from tidegate.epochs.about import About, AboutFilter
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import Entry
from tidegate.epochs.ledger import ledger_files, read_parquet
from tidegate.epochs.manifest import Manifest
from tidegate.ports import BESIDE
from tidegate.reasons import Reason
from tidegate.reports.ledger import KEY_MOVED, details, place_of, show_time
from tidegate.reports.watermarks import holder
from tidegate.types import Status

_MOST: Final = 0.5
_UNIT: Final = "scan.watermark.unit"
_IDLE: Final = "scan.watermark.idle-timeout"
_MILLISECOND_US: Final = 1000
_SECONDS: Final = range(10**8, 10**11)
"""What is a time from 1973 to 5138 in seconds, and of January 1970 to 1973 in milliseconds."""
_BEHIND_US: Final = 600_000_000
"""How far a split that stands still may lie behind the next one, without a word."""
_REFUSED: Final = {
    Reason.MALFORMED: "malformed",
    Reason.NULL_TIME: "without an event time",
    Reason.FUTURE: "further ahead of the clock than scan.watermark.max-future-skew allows",
}

_TOLD_ALWAYS: Final = {
    Reason.KEY_MOVED: KEY_MOVED,
    Reason.PASSED_OVER: "they say nothing of a row, as a truncate does, and are passed over;"
    " tidegate ledger shows them",
}
"""Reasons for which a table may hold other rows than its source does (S13)."""
_LATE: Final = (Reason.LATE, Reason.BEHIND_MERGED)
KINDS: Final = ("refused", "absent", "unit", "held", "beside")


class Warned(NamedTuple):
    """One of `KINDS`, and a sentence."""

    kind: str
    text: str


def warnings_of(checkpoint: Checkpoint, manifest: Manifest, entry: Entry) -> list[str]:
    """In whole sentences; of the job of ``checkpoint`` as of ``entry``."""

    def example(table: str) -> str:
        return _example(checkpoint, manifest.about, table)

    return [warned.text for warned in warned_of(manifest, entry, example)]


def warned_of(
    manifest: Manifest, entry: Entry, example: Callable[[str], str] = lambda _: ""
) -> Iterator[Warned]:
    """The same by kind. ``example`` says of a table how a malformed row of it looks."""
    about = manifest.about
    for kind, texts in zip(
        KINDS,
        (
            _refused(about, entry, example),
            _absent(about, entry),
            _units(about, entry),
            _held(about, entry),
            _beside(manifest),
        ),
        strict=True,
    ):
        for text in texts:
            yield Warned(kind, text)


def _refused(about: About, entry: Entry, example: Callable[[str], str]) -> Iterator[str]:
    tables = about.source_tables().items()
    changing = {name for name, table in tables if connector_of(table).gives_changes(table)}
    told: Counter[tuple[str, str]] = Counter()
    for (account, _, reason), rejection in entry.accounts.rejections():
        told[account, reason] += rejection.rows
    seen = set()
    for (account, reason), rows in sorted(told.items()):
        read = _read(entry, account)
        table = account.partition("#")[0]
        if reason in _TOLD_ALWAYS:
            yield f"{rows:,} of {read:,} records of table '{table}': {_TOLD_ALWAYS[Reason(reason)]}"
            continue
        if reason in _LATE and table in changing:
            yield (
                f"{rows:,} of {read:,} records of table '{table}' put a row with a time below the"
                " watermark: they are refused, and the table keeps what it had; a watermark on the"
                " time of the change ('source.timestamp', 'timestamp') is for all changes"
            )
            continue
        if reason not in _REFUSED or rows <= read * _MOST or (table, reason) in seen:
            continue
        seen.add((table, reason))
        yield (
            f"{rows:,} of {read:,} rows of table '{table}' are {_REFUSED[Reason(reason)]}"
            f"{example(table) if reason == Reason.MALFORMED else ''}; tidegate ledger shows them"
        )


def _read(entry: Entry, account: str) -> int:
    return sum(counts.read for counts in entry.accounts.counts.get(account, {}).values())


def _example(checkpoint: Checkpoint, about: About, table: str) -> str:
    """One malformed row of ``table``, and why it is."""
    declared = about.source_tables().get(table)
    for name in reversed(ledger_files(checkpoint, 0, 2**62)):
        for row in read_parquet(checkpoint, name).to_pylist():
            if (row["table"], row["reason"]) != (table, Reason.MALFORMED):
                continue
            known = {table: declared} if declared is not None else {}
            more: dict[str, Any] = next(iter(details([row], known).values()), {})
            cause = f": {more['cause']}" if "cause" in more else ""
            return f", such as {place_of(row | more)}{cause}"
    return ""


def _absent(about: About, entry: Entry) -> Iterator[str]:
    malformed: Counter[str] = Counter()
    for (account, _, reason), rejection in entry.accounts.rejections():
        malformed[account] += rejection.rows * (reason == Reason.MALFORMED)
    for table, columns in sorted(entry.work.absent.items()):
        rows = max(0, _read(entry, table) - malformed[table])
        if rows and columns and table in about.tables:
            which = ", ".join(f"'{column}'" for column in columns)
            yield (
                f"column{'s' * (len(columns) > 1)} {which} of table '{table}' had no value in any"
                f" of {rows:,} rows: check how the records write the name"
            )


def _units(about: About, entry: Entry) -> Iterator[str]:
    for filter_id, told in about.filters.items():
        if told.type != "BIGINT" or told.unit_us != _MILLISECOND_US:
            continue
        if told.table not in about.tables or _option(about, told, _UNIT):
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


def _option(about: About, told: AboutFilter, name: str) -> str:
    return dict(about.tables[told.table].options).get(name, "")


def _held(about: About, entry: Entry) -> Iterator[str]:
    """Splits that have no more rows, and by which the others' windows stay open."""
    lags = entry.splits.lags()
    for filter_id, told in about.filters.items():
        statuses = entry.splits.statuses.get(told.table, {})
        known = {split: entry.filters.effective(filter_id, split) for split in statuses}
        held_by, _ = holder(statuses, known)
        ahead = [
            value
            for split, status in statuses.items()
            if status is Status.ACTIVE
            and split not in held_by
            and (value := known[split]) is not None
        ]
        lag = lags.get(told.table, {})
        if told.table not in about.tables or not ahead:
            continue
        if any(lag.get(split, 0) for split in held_by):
            continue
        if parse_duration(_option(about, told, _IDLE) or "0"):
            continue  # it will be left out by itself
        at, next_ = known[held_by[0]], min(ahead)
        if at is not None and (next_ - at) * told.unit_us <= _BEHIND_US:
            continue
        which = ", ".join(f"'{split}'" for split in held_by)
        where = "without a watermark" if at is None else f"at {show_time(at, told.type)}"
        yield (
            f"{told.table}.{told.column} is held {where} by {which}, whose rows are all read, while"
            f" the other splits are at {show_time(next_, told.type)} or later: windows stay open"
            f" until it gets a row; '{_IDLE}' leaves out a split that stands still"
        )


def _beside(manifest: Manifest) -> Iterator[str]:
    names = manifest.about.sinks
    for target, kept in sorted(manifest.sinks.items()):
        if what := kept.get(BESIDE, ""):
            yield f"the output of '{names.get(target, target)}' lies beside {what}"
