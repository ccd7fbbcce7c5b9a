"""The port to a job that is broken: on a cluster (`e2e.job`) or of processes (`chaos.local`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from kafka.orders import Message
from kafka.workload import Writer
from spark.processes import wait_until

IN, OUT = "revenue-in", "revenue-out"
EXECUTORS: Final = 2


class Topics(Writer, Protocol):
    """As `kafka.kit.Kit`."""

    def read(self, topic: str, /) -> Mapping[int, Sequence[Message]]: ...

    def values(self, topic: str, /) -> list[bytes]: ...


class Job(Protocol):
    """Reads the topic `IN`, writes `OUT`: the job of `kafka.orders`.

    Whatever is asked may raise AssertionError while something is broken.
    """

    @property
    def kit(self) -> Topics:
        """Its topics."""

    @property
    def log(self) -> Path:
        """A directory with the folder ``epochs``: all entries of the epoch log there ever were."""

    def gather(self) -> None:
        """Puts the entries that came since the last time there."""

    def metrics(self) -> str:
        """What its driver tells Prometheus."""

    def offsets(self) -> dict[str, int]:
        """Up to which offset the newest entry of the epoch log has read each split."""

    def ledger(self) -> dict[str, Any]:
        """What ``tidegate ledger --json`` prints."""

    def is_whole(self) -> bool:
        """Whether `EXECUTORS` executors run, by the account of whoever starts them."""


def wait_until_read(job: Job, timeout_s: float) -> None:
    """Until all that is in the topic now is in an epoch that is committed."""
    ends = {f"{IN}-{part}": len(found) for part, found in job.kit.read(IN).items()}

    def are_read() -> bool:
        try:
            return job.offsets() == ends
        except AssertionError:
            return False

    wait_until(are_read, "all is read", timeout_s)
