"""What a person or a program sees of a running job: a live line, log lines, or JSON lines."""

from __future__ import annotations

import json
import sys
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from tidegate.clock import Clock
from tidegate.epochs.commit import is_finished
from tidegate.epochs.entry import Entry
from tidegate.epochs.listener import Listener
from tidegate.errors import RunError
from tidegate.plan.fragments import Plan
from tidegate.reports.ledger import counts_document, show_time
from tidegate.reports.show import number
from tidegate.reports.terminal import plain, printable_lines
from tidegate.types import column_named


class Progress(Listener):
    """Plain log lines on stderr: the form for pipes, and the base of the others."""

    def __init__(self, plan: Plan, clock: Clock) -> None:
        self._plan = plan
        self._clock = clock
        self._filters = {node.id: node for node in plan.declared_filters()}
        self._started = clock.monotonic_s()
        self._last = (self._started, 0)
        self._rate = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def log(self, line: str) -> None:
        """A line worth keeping."""
        sys.stderr.write(printable_lines(line) + "\n")

    def on_epoch(self, entry: Entry) -> None:
        self.measure(entry)
        self.log(self.line(entry))

    def finish(self, entry: Entry, stopped: bool = False) -> None:
        """The job has ended, or was ``stopped`` behind ``entry``."""
        counts = entry.accounts.total()
        epochs = f"{entry.epoch} epoch{'s' * (entry.epoch != 1)}"
        how = f"stopped behind epoch {entry.epoch}" if stopped else f"done: {epochs}"
        self.log(
            f"{how}, {counts.read:,} rows read = {counts.used:,} used + "
            f"{counts.filtered:,} filtered + {counts.late:,} late + "
            f"{counts.quarantined:,} quarantined"
        )

    def measure(self, entry: Entry) -> None:
        """Takes the time of an epoch, for rows/s."""
        now, read = self._clock.monotonic_s(), entry.accounts.total().read
        then, before = self._last
        self._rate = max(0, read - before) / max(now - then, 1e-6)
        self._last = (now, read)

    def line(self, entry: Entry) -> str:
        """An epoch in one line."""
        counts = entry.accounts.total()
        behind = entry.splits.lags()
        lag = f"lag {sum(sum(splits.values()) for splits in behind.values()):,}  " if behind else ""
        return (
            f"epoch {entry.epoch}  {self._rate:,.0f} rows/s  watermark {self.watermark(entry)}  "
            f"{lag}read {counts.read:,}  late {counts.late:,}  quarantined {counts.quarantined:,}"
        )

    def document(self, entry: Entry) -> dict[str, Any]:
        """The same for programs."""
        return {
            "epoch": entry.epoch,
            "watermark": self.watermark(entry),
            "lag": entry.splits.lags(),
            **counts_document(entry.accounts),
        }

    def watermark(self, entry: Entry) -> str:
        """The lowest merged watermark as text; the highest of all splits once they have ended."""
        finished = is_finished(self._plan, entry)
        merged: dict[str, int] = {}
        for filter_id in self._filters:
            if filter_id in entry.filters.merged:
                merged[filter_id] = entry.filters.merged[filter_id]
            elif finished:
                states = entry.filters.states.get(filter_id, {}).values()
                known = [state.watermark for state in states if state.watermark is not None]
                merged.update({filter_id: max(known)} if known else {})
        if not merged:
            return "-"
        filter_id = min(merged, key=lambda each: (*self._rank(each, merged[each]), each))
        return str(show_time(merged[filter_id], self._time_type(filter_id)))

    def _rank(self, filter_id: str, value: int) -> tuple[bool, int]:
        """Times lie on one scale, whatever their units; what is no time comes last."""
        unit_us = self._filters[filter_id].unit_us
        return not unit_us, value * (unit_us or 1)

    def _time_type(self, filter_id: str) -> str:
        node = self._filters[filter_id]
        return column_named(node.schema, node.column).type


class JsonProgress(Progress):
    """One JSON document a line on stdout."""

    def on_epoch(self, entry: Entry) -> None:
        self.measure(entry)
        self._print({"event": "epoch", "rows_per_s": round(self._rate), **self.document(entry)})

    def finish(self, entry: Entry, stopped: bool = False) -> None:
        self._print({"event": "stopped" if stopped else "done", **self.document(entry)})

    def _print(self, document: dict[str, Any]) -> None:
        try:
            sys.stdout.write(json.dumps(document) + "\n")
            sys.stdout.flush()
        except OSError as error:
            raise RunError(f"cannot write to the standard output: {error.strerror}") from error


class LiveProgress(Progress):
    """A live table on a terminal: watermark and account of every split."""

    def __init__(self, plan: Plan, clock: Clock) -> None:
        super().__init__(plan, clock)
        self._console = Console(stderr=True)
        self._live = Live(console=self._console, refresh_per_second=4, transient=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def log(self, line: str) -> None:
        self._console.print(printable_lines(line), highlight=False, markup=False)

    def on_epoch(self, entry: Entry) -> None:
        self.measure(entry)
        self._live.update(self._table(entry))

    def _table(self, entry: Entry) -> Table:
        table = Table(title=self.line(entry), title_justify="left", title_style="bold", box=None)
        names = ("read", "used", "filtered", "late", "quarantined")
        for name in ("split", "watermark", "lag", *names):
            table.add_column(name, justify="left" if name in ("split", "watermark") else "right")
        behind = entry.splits.lags()
        for account, splits in sorted(entry.accounts.counts.items()):
            for split, counts in sorted(splits.items()):
                table.add_row(
                    plain(f"{account}/{split}"),
                    self._split_watermark(entry, account, split),
                    number(behind.get(account.partition("#")[0], {}).get(split)),
                    *(f"{getattr(counts, name):,}" for name in names),
                )
        return table

    def _split_watermark(self, entry: Entry, account: str, split: str) -> str:
        for node in self._filters.values():
            watermark = entry.filters.state(node.id, split).watermark
            if node.account == account and watermark is not None:
                return str(show_time(watermark, self._time_type(node.id)))
        return "-"


def progress_for(plan: Plan, clock: Clock, as_json: bool) -> Progress:
    """The form that fits: JSON if asked for, live on a terminal, lines in a pipe."""
    if as_json:
        return JsonProgress(plan, clock)
    return LiveProgress(plan, clock) if sys.stderr.isatty() else Progress(plan, clock)
