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

from tidegate.connectors.option_types import SourceOptions
from tidegate.connectors.registry import connector_of
from tidegate.epochs.entry import Entry
from tidegate.plan.fragments import Plan
from tidegate.types import Status

Split = tuple[str, str]
"""Table and split."""


@dataclass(slots=True)
class _Minimum:
    value_us: int
    at_s: float


@dataclass(slots=True)
class Alignment:
    """The groups of a job, whose tables all have a watermark that is a time."""

    plan: Plan
    monotonic_s: Callable[[], float]
    _tables: dict[str, SourceOptions] = field(default_factory=dict)
    _filters: dict[str, tuple[str, int]] = field(default_factory=dict)  # table: filter, its unit
    _minima: dict[str, _Minimum] = field(default_factory=dict)

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
    def is_used(self) -> bool:
        """Whether any table is in a group."""
        return bool(self._tables)

    @property
    def tables(self) -> list[str]:
        """The tables that are in a group."""
        return sorted(self._tables)

    @property
    def whole_tables(self) -> bool:
        settings = dict(self.plan.job.settings)
        name = "pipeline.watermark-alignment.allow-unaligned-source-splits"
        return settings.get(name, "false").lower() == "true"

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
        if not self._tables:
            return set()
        waiting = set(waiting)
        resting = set(at_rest)
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
        known = self._minima.get(group)
        now = self.monotonic_s()
        interval_s = min(self._tables[t].alignment_interval_us for t, _ in times) / 1e6
        if fresh or known is None or now - known.at_s >= interval_s:
            known = self._minima[group] = _Minimum(min(times.values()), now)
        judged = dict(times)
        if self.whole_tables:
            lowest: dict[str, int] = {}
            for (table, _), time in times.items():
                lowest[table] = min(time, lowest.get(table, time))
            judged = {split: lowest[split[0]] for split in times}
        return {
            split
            for split in waiting
            if split in judged
            and judged[split] > known.value_us + (self._tables[split[0]].max_drift_us or 0)
        }

    def _times(self, entry: Entry, table: str) -> dict[str, int]:
        """The watermark of each split that has one, in microseconds."""
        filter_id, unit_us = self._filters[table]
        found = {}
        for split, state in entry.filters.states.get(filter_id, {}).items():
            if state.effective is not None:
                found[split] = state.effective * unit_us
        return found
