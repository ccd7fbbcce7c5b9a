"""What a job does over time, as its driver tells: for recovery times, and the report's picture."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from prometheus_client.parser import text_string_to_metric_families

from chaos.job import Job

_EVERY_S: Final = 1.0


@dataclass(frozen=True)
class Sample:
    """At ``at_s`` since the watch began; ``epoch`` is -1 while the driver does not answer."""

    at_s: float
    epoch: int = -1
    executors: int = 0
    rows: float = 0.0
    lag_rows: float = 0.0


@dataclass
class Watch:
    """Looks once a second, in a thread."""

    job: Job
    samples: list[Sample] = field(default_factory=list)
    _began_s: float = field(default_factory=time.monotonic)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(60)

    @property
    def now_s(self) -> float:
        return time.monotonic() - self._began_s

    @property
    def epoch(self) -> int:
        """The newest that was ever seen."""
        return max((sample.epoch for sample in list(self.samples)), default=-1)

    def is_whole(self, since_s: float, epoch: int, executors: int) -> bool:
        """Whether a look since ``since_s`` saw an epoch later than ``epoch``, and all executors."""
        last = self.samples[-1] if self.samples else Sample(0.0)
        return last.at_s >= since_s and last.epoch > epoch and last.executors >= executors

    def longest_pause_s(self, since_s: float) -> float:
        """The longest time from one epoch to the next, of those that ended behind ``since_s``."""
        pauses, at_s, epoch = [0.0], 0.0, -1
        for sample in list(self.samples):
            if sample.epoch > epoch:
                if sample.at_s > since_s:
                    pauses.append(sample.at_s - max(at_s, since_s))
                at_s, epoch = sample.at_s, sample.epoch
        return max(pauses)

    def starting_s(self, since_s: float, executors: int) -> float:
        """How long behind ``since_s`` a look last saw fewer ``executors`` than there should be.

        0 if none did: nothing that Spark calls an executor was gone.
        """
        fewer = [
            sample.at_s
            for sample in list(self.samples)
            if sample.at_s >= since_s and sample.epoch >= 0 and sample.executors < executors
        ]
        return max(fewer, default=since_s) - since_s

    def _run(self) -> None:
        while not self._stop.wait(_EVERY_S):
            asked_s = self.now_s
            try:
                self.samples.append(_sample(asked_s, self.job.metrics()))
            except Exception:  # whatever it is, the driver does not answer
                self.samples.append(Sample(asked_s))


def _sample(at_s: float, text: str) -> Sample:
    told: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            told[sample.name] = told.get(sample.name, 0.0) + sample.value
    return Sample(
        at_s,
        int(told["tidegate_epoch"]),
        int(told.get("tidegate_executors", 0)),
        told.get("tidegate_rows_total", 0.0),
        told.get("tidegate_split_lag_rows", 0.0),
    )
