"""Watermark alignment (S9): who is too far ahead is not read on, until the others have come up.

A split's watermark is known at the end of an epoch (epoch log), so a split is ahead of its group's
slowest active one by ``max-drift`` and what one more epoch reads at most. Nothing is buffered: rows
that are not read stay where they are. Split by split, as FLIP-217; with
``pipeline.watermark-alignment.allow-unaligned-source-splits`` a table is held as a whole, by the
lowest watermark of its splits, as FLIP-182.

The slowest split is never held, so a group always goes on. A split that was never read holds
nobody: what its rows will say is not known, and one epoch will tell. How long a minimum is used is
``update-interval``; when nothing else is left to read it is looked at anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final

from tidegate.connectors.option_types import SourceOptions
from tidegate.connectors.registry import connector_of
from tidegate.epochs.entry import Entry
from tidegate.plan.fragments import Plan
from tidegate.types import Status

Split = tuple[str, str]
"""Table and split."""
_WHOLE_TABLES: Final = "pipeline.watermark-alignment.allow-unaligned-source-splits"


@dataclass(slots=True)
class Alignment:
    """The groups of a job, whose tables all have a watermark that is a time."""

    plan: Plan
    monotonic_s: Callable[[], float]
    _tables: dict[str, SourceOptions] = field(default_factory=dict)
    _filters: dict[str, tuple[str, int]] = field(default_factory=dict)  # table: filter, its unit
    _minima: dict[str, tuple[int, float]] = field(default_factory=dict)  # group: value, since when

    def __post_init__(self) -> None:
        accounts = self.plan.accounts()
        for table in self.plan.tables:
            found = connector_of(table).read_options(table)
            if not found.alignment_group:
                continue
            self._tables[table.name] = found
            # The processing time, which is ahead of nobody, only where there is nothing else.
            for node in sorted(self.plan.watermark_filters(), key=lambda node: node.clock):
                of_table = accounts[node.account] == table.name
                if of_table and node.unit_us and table.name not in self._filters:
                    self._filters[table.name] = (node.id, node.unit_us)

    @property
    def tables(self) -> list[str]:
        """The tables that are in a group."""
        return sorted(self._tables)

    def held(
        self,
        entry: Entry,
        statuses: Mapping[str, Mapping[str, Status]],
        waiting: Iterable[Split],
        at_rest: Iterable[Split],
    ) -> set[Split]:
        """Those of the splits ``waiting``, which have rows, that must wait in the next epoch.

        ``statuses`` are those at the end of ``entry``. Splits ``at_rest`` don't hold the others:
        this run does not read them on.
        """
        waiting, resting = set(waiting), set(at_rest)
        held: set[Split] = set()
        for group in sorted({found.alignment_group for found in self._tables.values()}):
            members = [t for t, found in self._tables.items() if found.alignment_group == group]
            times = {
                (table, split): time
                for table in members
                for split, time in self._times(entry, table).items()
                if statuses.get(table, {}).get(split) is Status.ACTIVE
                and (table, split) not in resting
            }
            ours = {split for split in waiting if split[0] in members}
            found = self._ahead(group, ours, times, fresh=False)
            if ours and found == ours:
                found = self._ahead(group, ours, times, fresh=True)
            held |= found
        return held

    def _ahead(
        self, group: str, waiting: set[Split], times: Mapping[Split, int], *, fresh: bool
    ) -> set[Split]:
        if not times:
            return set()
        now_s = self.monotonic_s()
        interval_s = min(self._tables[t].alignment_interval_us for t, _ in times) / 1e6
        lowest_us, since_s = self._minima.get(group, (0, -inf))
        if fresh or now_s - since_s >= interval_s:
            lowest_us = min(times.values())
            self._minima[group] = lowest_us, now_s
        judged = dict(times)
        if dict(self.plan.job.settings).get(_WHOLE_TABLES, "false").lower() == "true":
            lowest: dict[str, int] = {}
            for (table, _), time in times.items():
                lowest[table] = min(time, lowest.get(table, time))
            judged = {split: lowest[split[0]] for split in times}
        return {
            split
            for split in waiting
            if split in judged
            and judged[split] > lowest_us + (self._tables[split[0]].max_drift_us or 0)
        }

    def _times(self, entry: Entry, table: str) -> dict[str, int]:
        """The watermark of each split that has one, in microseconds."""
        filter_id, unit_us = self._filters[table]
        states = entry.filters.states.get(filter_id, {})
        known = {split: state.effective for split, state in states.items()}
        return {split: value * unit_us for split, value in known.items() if value is not None}
