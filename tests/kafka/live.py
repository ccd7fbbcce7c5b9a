"""A job that runs until it is stopped, on the Spark that is warm: a start costs more than the job.

It is stopped by a signal, as a person or Kubernetes does it; the warm process itself goes on.
"""

from __future__ import annotations

import signal
from pathlib import Path
from types import TracebackType
from typing import Self

from kafka.killing import read_offsets
from kafka.kit import Kit
from spark.processes import TIMEOUT_S, Finished, Warm, wait_until


class Live:
    """``tidegate run file --checkpoint checkpoint …``, from here to the end of its block."""

    def __init__(self, warm: Warm, file: Path, checkpoint: Path, **settings: str) -> None:
        """``settings``: names with ``_`` for ``.``."""
        self._warm, self._checkpoint = warm, checkpoint
        self._ended: Finished | None = None
        args: list[object] = ["run", file, "--checkpoint", checkpoint, "--json"]
        for name, value in settings.items():
            args += ["--set", f"tidegate.{name.replace('_', '.')}={value}"]
        warm.begin(*args, cwd=file.parent)

    @property
    def epochs(self) -> int:
        """How many it has entered."""
        return len(list((self._checkpoint / "epochs").glob("*.json")))

    def wait_for_epochs(self, more: int) -> None:
        """Until it has entered so many behind those of now."""
        wanted = self.epochs + more
        wait_until(lambda: self.epochs >= wanted or self._has_ended(0), f"{more} epochs more")
        assert self.epochs >= wanted, f"it has ended: {self._ended}"

    def wait_until_all_is_read(self, kit: Kit, topic: str) -> None:
        """Until it has entered all that is in ``topic`` now."""
        ends = kit.ends(topic)
        wait_until(lambda: read_offsets(self._checkpoint) == ends, "all is read")

    def stop(self) -> Finished:
        """The epoch in progress is finished; gives how it ended."""
        # Before its first epoch the process may not know yet what to do with the signal.
        wait_until(lambda: self.epochs > 0 or self._has_ended(0), "it runs")
        if not self._has_ended(0):
            self._warm.process.send_signal(signal.SIGTERM)
            assert self._has_ended(TIMEOUT_S), f"it does not stop within {TIMEOUT_S:.0f} s"
        assert self._ended is not None
        return self._ended

    def _has_ended(self, within_s: float) -> bool:
        if self._ended is None:
            self._ended = self._warm.end(within_s)
        return self._ended is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
