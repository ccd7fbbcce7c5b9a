"""Failpoints: places where a test can end the process as a crash would.

``TIDEGATE_FAILPOINTS="name:epoch,…"`` kills the process with SIGKILL when it passes the point
called ``name`` in that epoch. Nothing is cleaned up, as in a crash. Without the variable a point
costs a dictionary look-up.

    after-staging     rows are staged, the epoch's entry is not written
    after-entry       the entry is written, nothing is published
    after-publish     sinks are published, Spark has not committed the epoch
"""

from __future__ import annotations

import os
import signal

_VARIABLE = "TIDEGATE_FAILPOINTS"
NAMES = ("after-staging", "after-entry", "after-publish")


def hit(name: str, epoch: int) -> None:
    """Ends the process here if a test asked for it."""
    assert name in NAMES, name
    wanted = os.environ.get(_VARIABLE)
    if wanted and f"{name}:{epoch}" in wanted.split(","):
        os.kill(os.getpid(), signal.SIGKILL)
