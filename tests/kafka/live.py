"""A job that runs until it is stopped, on the Spark that is warm: a start costs more than the job.

It is stopped by a signal, as a person or Kubernetes does it; the warm process itself goes on.
"""

from __future__ import annotations

import json
import select
import signal
from pathlib import Path
from types import TracebackType
from typing import Self

from spark.processes import TIMEOUT_S, Finished, Warm, wait_until


class Live:
    """``tidegate run file --checkpoint checkpoint …``, from here to the end of its block."""

    def __init__(self, warm: Warm, file: Path, checkpoint: Path, **settings: str) -> None:
        """``settings``: names with ``_`` for ``.``."""
        self._warm, self._checkpoint = warm, checkpoint
        self._ended: Finished | None = None
        args = ["run", str(file), "--checkpoint", str(checkpoint), "--json"]
        for name, value in settings.items():
            args += ["--set", f"tidegate.{name.replace('_', '.')}={value}"]
        assert warm.process.stdin is not None
        warm.process.stdin.write(json.dumps([args, str(file.parent)]) + "\n")
        warm.process.stdin.flush()

    @property
    def epochs(self) -> int:
        """How many it has entered."""
        return len(list((self._checkpoint / "epochs").glob("*.json")))

    def wait_for_epochs(self, more: int) -> None:
        """Until it has entered so many behind those of now."""
        wanted = self.epochs + more
        wait_until(lambda: self.epochs >= wanted or self._has_ended(0), f"{more} epochs more")
        assert self.epochs >= wanted, f"it has ended: {self._ended}"

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
        output = self._warm.process.stdout
        assert output is not None
        if self._ended is None and select.select([output], [], [], within_s)[0]:
            answer = output.readline()
            assert answer, f"the process died:\n{self._warm.log.with_suffix('.err').read_text()}"
            self._ended = Finished(*json.loads(answer))
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
