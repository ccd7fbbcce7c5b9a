"""What an epoch's entry says for the metrics alone: nothing of it decides anything.

Of the epoch: ``phases`` (seconds by kind of task), ``memory`` (of the largest worker by kind of
task), ``state`` by fragment and operator:

    {"rows", "bytes", "runs", "buckets": how many buckets of event time, "oldest": the lowest}

Since the checkpoint began: ``sent`` by fragment (messages and bytes through exchanges), ``sunk`` by
target (commits, rows, bytes), ``rejected``, ``events``. All come with the entry, whose driver may
have died and been followed by another: they are counted once, as the rows are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidegate.epochs.checkpoint import Entry
from tidegate.epochs.rejections import add_rejections
from tidegate.epochs.targets import TO_LEDGER
from tidegate.events import EVENTS
from tidegate.ports import StagedFile

Report = Mapping[str, Any]


def observe(
    entry: Entry,
    before: Entry,
    reports: Iterable[Report],
    staged: Mapping[int, Iterable[StagedFile]],
) -> None:
    """Fills in ``entry``, which follows ``before``, from what the tasks of its epoch report."""
    entry.sent = {fragment: list(sent) for fragment, sent in before.sent.items()}
    entry.events = dict(before.events)
    add_rejections(entry.rejected, before.rejected)
    state = _State()
    for report in reports:
        kind = f"stage {report['depth']}" if report["type"] == "actor" else report["type"]
        _add(entry.phases.setdefault(kind, {}), report["phases"])
        entry.memory[kind] = max(entry.memory.get(kind, 0), report["memory"])
        if "sent" in report:
            sent = entry.sent.setdefault(str(report["fragment"]), [0, 0])
            sent[:] = [known + more for known, more in zip(sent, report["sent"], strict=True)]
        if report["type"] == "actor":
            state.add(report)
        if "rejected" in report:
            add_rejections(entry.rejected, report["rejected"])
        if report["type"] == "writer":
            _add(entry.events, report["events"])
    _add(entry.events, EVENTS.take())  # the driver's own
    entry.state = state.document()
    entry.sunk = {target: list(sunk) for target, sunk in before.sunk.items()}
    for target, files in staged.items():
        if target != TO_LEDGER:
            sunk = entry.sunk.setdefault(str(target), [0, 0, 0])
            for file in files:
                sunk[:] = sunk[0] + 1, sunk[1] + file.rows, sunk[2] + file.bytes


def _add(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        into[name] = round(into.get(name, 0) + value, 6)


class _State:
    """Adds up what actors keep; their buckets are the same ones on all vnodes."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], list[int]] = {}
        self._named: dict[tuple[str, str], set[int]] = {}
        self._most: dict[tuple[str, str], int] = {}

    def add(self, report: Report) -> None:
        for operator, (rows, size, runs, count, buckets) in report["state"].items():
            key = str(report["fragment"]), operator
            sums = self._sums.setdefault(key, [0, 0, 0])
            sums[:] = sums[0] + rows, sums[1] + size, sums[2] + runs
            self._named.setdefault(key, set()).update(buckets)
            self._most[key] = max(self._most.get(key, 0), count)

    def document(self) -> dict[str, dict[str, dict[str, Any]]]:
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for (fragment, operator), (rows, size, runs) in sorted(self._sums.items()):
            named = self._named[fragment, operator]
            found.setdefault(fragment, {})[operator] = {
                "rows": rows,
                "bytes": size,
                "runs": runs,
                "buckets": max(len(named), self._most[fragment, operator]),
                "oldest": min(named),
            }
        return found
