"""Into how many tasks the epochs of a job are divided, by its checkpoint.

job.json says what the first run began with. Each rescale (see `rescale`) adds a record:

    rescales/<n>.json   {"after": 4, "before": 2, "epoch": 7, "time_us": T}

A record is written once, before anything else of the rescale, and says all that it needs, so that
one that died is gone on with alike. It holds from the moment when Spark has committed its epoch:
one file of Spark's decides, and no state is ever read with a number of tasks that is not its own.
Until then no run is let in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tidegate.codec import decode
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.sealed import corrupt, read_sealed, sealed
from tidegate.errors import OptionsError

FOLDER: Final = "rescales"
PARTITIONS: Final = "spark.sql.shuffle.partitions"
"""As many as the job's parallel tasks: state lies in them."""


@dataclass(frozen=True, slots=True)
class Rescale:
    """From ``before`` tasks to ``after`` in ``epoch``, which has no rows; ``time_us`` is its time.

    A job without state has nothing to be moved: there ``epoch`` is the last one, with its rows.
    """

    before: int
    after: int
    epoch: int
    time_us: int


class Rescales:
    """The rescales of a checkpoint, oldest first; the last one may be in progress."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._store = checkpoint.store.below(FOLDER)
        stems = (name.partition(".")[0] for name in self._store.names(""))
        self._last = max((int(stem) for stem in stems if stem.isdigit()), default=0)
        self._newest = self._read(self._last) if self._last else None

    @property
    def pending(self) -> Rescale | None:
        """The one that was begun, and that Spark has not committed."""
        newest = self._newest
        return None if newest is None or self._is_done(newest) else newest

    def parallelism(self, first: int) -> int:
        """How many tasks there are now, where the job began with ``first``."""
        newest = self._newest
        if newest is None:
            return first
        return newest.after if self._is_done(newest) else newest.before

    def begin(self, rescale: Rescale) -> None:
        """Writes down what is to be done. Raises FileExistsError when another has come first."""
        self._store.prepare()
        self._store.create(_name(self._last + 1), sealed(rescale))
        self._last, self._newest = self._last + 1, rescale

    def forget_pending(self) -> None:
        """As if it had not been begun."""
        assert self.pending is not None
        self._store.delete([_name(self._last)])
        self._last -= 1
        self._newest = self._read(self._last) if self._last else None

    def _is_done(self, rescale: Rescale) -> bool:
        # Spark forgets its commits one day; not before there are later epochs.
        last = self._checkpoint.last_epoch()
        return last > rescale.epoch or self._checkpoint.is_committed(rescale.epoch)

    def _read(self, number: int) -> Rescale:
        try:
            return decode(Rescale, read_sealed(self._store, _name(number)), more=True)
        except ValueError as error:
            raise corrupt(self._store.where(_name(number))) from error


def parallelism_of(checkpoint: Checkpoint, first: int) -> int:
    """How many tasks a run has. Raises OptionsError while a rescale is not finished."""
    rescales = Rescales(checkpoint)
    begun = rescales.pending
    if begun is not None:
        raise OptionsError(
            f"the checkpoint {checkpoint.uri} is half way from {begun.before} parallel tasks to"
            f" {begun.after}: a rescale was begun and not finished",
            hint=f"run tidegate rescale with --parallelism {begun.after} again, which finishes it,"
            f" or with {begun.before}, which undoes it",
        )
    return rescales.parallelism(first)


def _name(number: int) -> str:
    return f"{number:06d}.json"
