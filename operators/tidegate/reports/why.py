"""``tidegate why``: in sentences, what holds a job's watermarks, windows and rows back.

Over the document of ``tidegate status``, or a row of that of ``tidegate ledger``; nothing is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tidegate.reports.ledger import lasting, place_of

_REASONS: Final = {
    "late": "lay below the watermark of their split when they came",
    "behind_merged": "are of a split that came back, or joined, behind the watermark that had gone"
    " on without it",
    "future": "lay further ahead of the clock than scan.watermark.max-future-skew allows",
    "malformed": "do not decode, or have a field that does not fit its type",
    "null_time": "have no event time",
    "crashed": "kill the process that runs them",
    "passed_over": "say nothing of a row, as a truncate or a change of the schema",
    "key_moved": "are of keys whose rows another split has, and 'scan.changes.version' does not say"
    " which is newer",
    "closed": "were taken from rows that were final: results that had left stay",
}
_IDLE: Final = "'scan.watermark.idle-timeout' would leave it out once it stands still"


def reasons(document: Mapping[str, Any]) -> Iterator[str]:
    """What can be said of a job; its newest epoch's."""
    if document["driver"] is None:
        yield "no driver runs: watermarks stand where the last one left them"
    for filter_ in document["filters"]:
        yield _watermark(filter_)
        yield from _splits(filter_)
    for kept in document["state"]:
        yield from _windows(kept)
    for told in document["ledger"]:
        if told["rows"]:
            why = _REASONS.get(told["reason"], "were refused")
            yield f"{told['rows']:,} rows of {told['table']} ({told['reason']}) {why}"


def _watermark(filter_: Mapping[str, Any]) -> str:
    name, held_by = f"{filter_['table']}.{filter_['column']}", filter_["held_by"]
    at = filter_["watermark"]
    if at == "infinity":
        return f"{name} has ended: all splits were read to their ends, every window is closed"
    where = f"{name} has no watermark yet" if at is None else f"{name} stands at {at}"
    if not held_by:
        return f"{where}: {filter_['why']}"
    return f"{where}, held by {', '.join(held_by)}: {filter_['why']}"


def _splits(filter_: Mapping[str, Any]) -> Iterator[str]:
    """Why those that hold it do not go on."""
    for split in filter_["splits"]:
        if split["split"] not in filter_["held_by"]:
            continue
        name, lag = split["split"], split["lag"]
        if split["watermark"] is None:
            what = "no row with an event time has come"
        elif lag:
            what = f"{lag:,} of its rows are not read yet: the job is behind"
        elif lag == 0:
            what = "all its rows are read: it goes on with its next one"
        else:
            what = "it goes on with its next row"
        hint = "" if lag else f"; {_IDLE}"
        yield f"  {name}: {what}{hint}"
    idle = [split["split"] for split in filter_["splits"] if split["status"] == "idle"]
    if idle:
        yield f"  idle, and left out: {', '.join(idle)}"


def _windows(kept: Mapping[str, Any]) -> Iterator[str]:
    if not kept["windows"]:
        return
    oldest = "" if kept["oldest"] is None else f", the oldest from {kept['oldest']},"
    yield (
        f"{kept['operator']} of fragment {kept['fragment']} keeps {kept['rows']:,} rows in"
        f" {kept['windows']:,} open windows{oldest} which close when the watermark reaches their"
        " ends"
    )


def reason_of(row: Mapping[str, Any]) -> str:
    """Why a row is in the ledger: of the document of ``tidegate ledger``."""
    place = f"{row['table']} {place_of(row)}"
    what = f"{row['reason']}, at {row['operator']}"
    if "cause" in row:
        return f"{place}: {what}. {row['cause']}."
    if row["lateness"] is None:
        time = "" if row["event_time"] is None else f" Its time is {row['event_time']}."
        return f"{place}: {what}.{time} Such rows {_REASONS.get(row['reason'], 'were refused')}."
    side = "below" if row["lateness"] > 0 else "ahead of"
    far = f"{lasting(row['lateness'], row['event_time'])} {side}"
    return (
        f"{place}: {what}. Its time {row['event_time']} lies {far} the watermark"
        f" {row['watermark']} that held for it. Such rows"
        f" {_REASONS.get(row['reason'], 'were refused')}."
    )
