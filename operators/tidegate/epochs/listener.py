"""Who is told how a run gets on: metrics, probes, the line on a terminal, what looks after pods."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.epochs.entry import Entry

Log = Callable[[str], None]
"""Takes a line for people."""


class Listener:
    """Overrides what it wants to hear; the rest says nothing to it.

    `on_epoch` comes in the thread that commits, all else in the driver's main one. What a listener
    raises ends the run.
    """

    def started(self) -> None:
        """The query runs."""

    def on_epoch(self, entry: Entry) -> None:
        """An epoch was committed."""

    def on_tick(self, waiting: bool = False) -> None:
        """About a second has passed; the query is ``waiting`` for rows, or at work."""

    def stopping(self) -> None:
        """It was asked to stop behind the epoch in progress."""

    def stopped(self) -> None:
        """The query has ended, well or not."""
