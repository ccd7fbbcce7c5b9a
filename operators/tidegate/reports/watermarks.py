"""What ``tidegate watermarks DIR`` shows: each split of each watermark, and who holds the minimum.

It is read from the newest entry of the epoch log, of a job that runs or has stopped; the brokers
are asked where each partition ends now, and if they don't answer the end is the one that the entry
knew. Documents:

    {"epoch", "time", "filters": [{"id", "table", "column", "strategy", "watermark", "held_by",
     "why", "splits": [{"split", "offset", "end", "lag", "event_time", "watermark", "status"}]}],
     "lost": {table: {split: [[from, up to], …]}}}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.connectors.registry import connector_of
from tidegate.epochs.about import AboutFilter
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import Entry
from tidegate.epochs.manifest import Manifest
from tidegate.errors import TidegateError
from tidegate.plan.tables import Table
from tidegate.reports.ledger import show_time
from tidegate.types import Status, merged_watermark

_END = "infinity"
"""What the watermark is when all splits have ended (S8)."""
_UNKNOWN = dict.fromkeys(("offset", "end", "lag", "event_time", "watermark"))


def read_watermarks(checkpoint: Checkpoint) -> dict[str, Any]:
    """The document. Raises OptionsError when the directory is no checkpoint."""
    return watermarks_of(*newest(checkpoint))


def newest(checkpoint: Checkpoint) -> tuple[Manifest, Entry]:
    """What the job is, and its newest entry. Raises OptionsError where there is no checkpoint."""
    job = checkpoint.read_job()
    entry = checkpoint.entry(checkpoint.last_epoch())
    assert entry is not None
    return job, entry


def watermarks_of(job: Manifest, entry: Entry) -> dict[str, Any]:
    """The document, of what was read."""
    ends, silent = _ends(entry, job.about.source_tables())
    filters = [
        _filter(entry, filter_id, filter_, ends)
        for filter_id, filter_ in sorted(job.about.filters.items())
    ]
    document = {
        "job": job.job or None,
        "epoch": entry.epoch,
        "time": show_time(entry.time_us, "TIMESTAMP") if entry.epoch else None,
        "filters": filters,
        "lost": entry.splits.lost,
    }
    return {**document, "silent": silent} if silent else document


def _ends(
    entry: Entry, tables: Mapping[str, Table]
) -> tuple[dict[str, dict[str, int]], dict[str, str]]:
    """Where the splits of each table end; why that is not known anew."""
    ends = {table: dict(splits) for table, splits in entry.splits.ends.items()}
    silent = {}
    for name, table in tables.items():
        try:
            splits = sorted(entry.splits.statuses.get(name, {}))
            ends.setdefault(name, {}).update(connector_of(table).ends_now(table, splits))
        except TidegateError as error:
            silent[name] = error.message
    return ends, silent


def _filter(
    entry: Entry, filter_id: str, about: AboutFilter, ends: Mapping[str, Mapping[str, int]]
) -> dict[str, Any]:
    table, kind = about.table, about.type
    statuses = entry.splits.statuses.get(table, {})
    splits, effective = {}, dict[str, int | None]()
    for split in statuses:
        state = entry.filters.state(filter_id, split)
        effective[split] = state.effective
        offset = entry.splits.next_offset(table, split)
        end = ends.get(table, {}).get(split)
        splits[split] = {
            "offset": offset,
            "end": end,
            "lag": None if end is None else max(0, end - offset),
            "event_time": show_time(state.event_time_max, kind),
            "watermark": show_time(effective[split], kind),
        }
    what = (filter_id, table, about.column, about.strategy)
    merged = show_time(entry.filters.merged.get(filter_id), kind)
    return filter_document(what, merged, statuses, effective, splits)


def filter_document(
    what: tuple[str, str, str, str | None],
    merged: object,
    statuses: Mapping[str, Status],
    effective: Mapping[str, int | None],
    splits: Mapping[str, Mapping[str, object]],
) -> dict[str, Any]:
    """A filter of the document. ``what``: its id, table, column and strategy; ``merged``: its
    watermark as it is shown. By split: what it is judged by, and what is known besides."""
    held_by, why = holder(statuses, effective)
    return {
        **dict(zip(("id", "table", "column", "strategy"), what, strict=True)),
        "watermark": _END if set(statuses.values()) == {Status.FINISHED} else merged,
        "held_by": held_by,
        "why": why,
        "splits": [
            {"split": split, **_UNKNOWN, **splits[split], "status": status.name.lower()}
            for split, status in sorted(statuses.items())
        ],
    }


def holder(
    statuses: Mapping[str, Status], effective: Mapping[str, int | None]
) -> tuple[list[str], str]:
    """Which splits keep the merged watermark where it is, and why; by split."""
    if not statuses:
        return [], "no epoch was committed yet"
    value, status = merged_watermark([(effective[split], s) for split, s in statuses.items()])
    if status is not Status.ACTIVE:
        if all(each is Status.FINISHED for each in statuses.values()):
            return [], "all splits have ended: every window is closed"
        return [], "no split is active: the highest watermark of the idle ones counts"
    active = sorted(split for split, each in statuses.items() if each is Status.ACTIVE)
    holders = [split for split in active if effective[split] == value]
    if value is None:
        return holders, "active, but without any row that has a watermark yet"
    return holders, "the lowest of the active splits"
