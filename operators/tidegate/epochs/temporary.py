"""The checkpoint of a run that was given none: removed when nobody has a use for it, else named."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.commit import is_finished
from tidegate.epochs.listener import Log
from tidegate.errors import TidegateError
from tidegate.plan.fragments import Plan

_VIEWS: Final = "views"


@contextmanager
def checkpoint_at(directory: str | None, plan: Plan, log: Log) -> Iterator[Checkpoint]:
    """The one at ``directory``, or a temporary one.

    That is removed behind the block when its job has not begun, or has ended without rows in the
    ledger and without views; else ``log`` says where it is, why, and how to go on from there.
    """
    if directory is not None:
        yield Checkpoint(directory)
        return
    place = tempfile.mkdtemp(prefix="tidegate-")
    log(f"checkpoint: {place} (temporary; keep one with --checkpoint)")
    checkpoint = Checkpoint(place)
    went_well = False
    try:
        yield checkpoint
        went_well = True
    finally:
        why = _worth(checkpoint, plan, went_well=went_well)
        if why:
            log(f"the temporary checkpoint {place} is kept: {why}")
        else:
            shutil.rmtree(place, ignore_errors=True)


def _worth(checkpoint: Checkpoint, plan: Plan, *, went_well: bool) -> str:
    """What one may still want of it, and how; empty: nothing."""
    if not checkpoint.exists:
        return ""
    resumes = f"to go on from it, run with --checkpoint {checkpoint.uri}"
    if not went_well:
        return resumes
    try:
        entry = checkpoint.entry(checkpoint.last_epoch())
    except TidegateError:
        return resumes
    if entry is None or not is_finished(plan, entry):
        return resumes
    if rows := entry.accounts.ledger_rows:
        return f"tidegate ledger {checkpoint.uri} shows the {rows:,} rows that were refused"
    if Path(checkpoint.uri, _VIEWS).exists():
        return f"the job's views are in {checkpoint.uri}/{_VIEWS}"
    return ""
