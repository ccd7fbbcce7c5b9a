"""What travels to planner and workers: the plan and the few settings that they need."""

from __future__ import annotations

import base64
import pickle
from dataclasses import dataclass
from functools import cache

from tidegate.engine.engine import Engine, engine_of
from tidegate.engine.limits import UNSHARED, Limits
from tidegate.plan.fragments import Plan
from tidegate.plan.user_functions import UserFunction


@dataclass(frozen=True, slots=True)
class WireJob:
    """Everything that a process of the job knows. What bounds an epoch is per table: ``rows_max``
    and ``bytes_max`` (None: no limit), ``duration_us`` (0: none).

    ``stop_mark`` is a file that is there while the driver wants no further epoch planned: the
    planner lives on the driver's machine. ``remembered`` is what each sink's committer keeps in the
    checkpoint, by target as in `wire`. ``careful_epoch`` has cost a worker its life (see
    `tidegate.careful`); 0: none has. ``limits`` are those of its engines.
    """

    plan: Plan
    checkpoint: str
    rows_max: int | None
    parallelism: int
    available_now: bool
    time_zone: str = "UTC"
    remembered: tuple[tuple[int, tuple[tuple[str, str], ...]], ...] = ()
    bytes_max: int | None = None
    duration_us: int = 0
    stop_mark: str = ""
    careful_epoch: int = 0
    limits: Limits = UNSHARED

    def encode(self) -> str:
        """As text, for an option of the data source. It holds no secrets."""
        return base64.b64encode(pickle.dumps(self)).decode()


@cache
def decode_job(text: str) -> WireJob:
    """The inverse of `WireJob.encode`; kept, since a worker asks in every epoch."""
    job = pickle.loads(base64.b64decode(text))
    assert isinstance(job, WireJob)
    return job


def worker_engine(job: WireJob) -> Engine:
    """The one engine of this worker process."""
    return _engine(job.time_zone, job.plan.job.functions, job.limits)


@cache
def _engine(time_zone: str, functions: tuple[UserFunction, ...], limits: Limits) -> Engine:
    return engine_of(time_zone, functions, limits)
