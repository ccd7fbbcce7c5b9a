"""Stopping a run from outside: SIGINT or SIGTERM ends it between two epochs.

The first signal lets the epoch in progress finish: the driver leaves a mark on its machine, and the
planner, which lives there in another process, plans no epoch behind it. The second stops at once;
the epoch in progress is then not committed, and is run again by the next start. Behind that the
signals have their usual effect, so a third ends even a process that hangs.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Counts the signals while it is open; its handler does no more, so it can't hurt anything."""

    def __init__(self) -> None:
        self.signals = 0
        self._before: dict[int, Any] = {}

    @property
    def requested(self) -> bool:
        """Whether the run is to stop."""
        return self.signals > 0

    @property
    def at_once(self) -> bool:
        """Whether it is to stop without finishing its epoch."""
        return self.signals > 1

    def request(self) -> None:
        """As a signal does: once for the end of the epoch, twice for now."""
        self.signals += 1

    def install(self) -> None:
        """Takes the signals."""
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                self._before.setdefault(number, signal.getsignal(number))
                signal.signal(number, self._on_signal)

    def reinstall(self) -> None:
        """Takes the signals again where something else has taken them since (PySpark does)."""
        if self._before:
            self.install()

    def __enter__(self) -> Self:
        self.install()
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.signals += 1
        if self.at_once:
            self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
