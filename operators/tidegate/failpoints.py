"""Failpoints: places where a test can end the process as a crash would.

``TIDEGATE_FAILPOINTS="name:epoch,…"`` kills the process with SIGKILL when it passes the point
called ``name`` in that epoch. Nothing is cleaned up, as in a crash. ``name:epoch:stop`` stops it
instead, once, until a SIGCONT: what goes on then is a zombie. Without the variable a point costs a
dictionary look-up. A simulated process dies of what `watched` raises.

    after-staging       rows are staged, the epoch's entry is not written
    after-entry         the entry is written, nothing is published
    after-publish       sinks are published, Spark has not committed the epoch

In a rescale (`spark.rescale`), by the epoch that moves the state:

    rescale-recorded    it is written down what is to be done
    rescale-planned     Spark's log has the epoch
    rescale-entered     the epoch log has it
    rescale-moved       Spark has moved the state and committed the epoch

Where a sink writes in transactions: in tasks (`connectors.kafka.transactions`), and on the driver
(`connectors.postgres.sink`, the last three):

    sink-fenced         behind its fence; what is written already is not known
    sink-looked         that is known
    sink-produced       the rows are sent, their marker is not
    sink-before-commit  the marker is sent too
    sink-after-commit   the transaction is committed, the driver does not know
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_VARIABLE = "TIDEGATE_FAILPOINTS"
SINK_NAMES = (
    "sink-fenced",
    "sink-looked",
    "sink-produced",
    "sink-before-commit",
    "sink-after-commit",
)
RESCALE_NAMES = ("rescale-recorded", "rescale-planned", "rescale-entered", "rescale-moved")
NAMES = ("after-staging", "after-entry", "after-publish", *RESCALE_NAMES, *SINK_NAMES)


def hit(name: str, epoch: int) -> None:
    """Ends or stops the process here if a test asked for it."""
    assert name in NAMES, name
    for watcher in _watchers:
        watcher(name, epoch)
    wanted = os.environ.get(_VARIABLE)
    if wanted:
        points, here = wanted.split(","), f"{name}:{epoch}"
        if here in points:
            os.kill(os.getpid(), signal.SIGKILL)
        if (stop := f"{here}:stop") in points:
            points.remove(stop)
            os.environ[_VARIABLE] = ",".join(points)
            os.kill(os.getpid(), signal.SIGSTOP)


@contextmanager
def watched(watcher: Callable[[str, int], None]) -> Iterator[None]:
    """Inside, ``watcher`` is told of each point that is passed, and in which epoch."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


_watchers: list[Callable[[str, int], None]] = []
