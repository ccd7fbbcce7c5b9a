"""Which state belongs to an epoch: in which one each vnode's was last written (S16).

State says so itself, and an entry says it of all vnodes. So state of an older epoch, or of another
vnode, is not taken for this one's, however whole it is: files that were copied over one another,
or a part of a backup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidegate.epochs.entry import Entry, StateLog
from tidegate.epochs.sums import overlaid
from tidegate.epochs.task_reports import ActorReport, StateVersion, TaskReport
from tidegate.errors import RESTORE, TrustError


def check_version(before: Entry, version: StateVersion) -> None:
    """Raises TrustError when the state that was found is not that of the end of ``before``.

    Entries of older releases don't know.
    """
    known = before.state.written.get(version.stage, {}).get(str(version.vnode))
    if known is not None and known != version.found:
        raise TrustError(
            f"{version.place} is not what was written: it has the state of vnode {version.vnode} as"
            f" of epoch {version.found}, and epoch {known} was the last to change it",
            detail=f"looked for at the end of epoch {before.epoch}",
            hint=RESTORE,
        )


def next_versions(before: Entry, reports: Iterable[TaskReport]) -> StateLog:
    """What follows ``before``. Raises TrustError as `check_version`."""
    found = [r.version for r in reports if isinstance(r, ActorReport) and r.version is not None]
    for version in found:
        check_version(before, version)
    told: list[Mapping[int, Mapping[str, int]]] = [{v.stage: {str(v.vnode): v.left}} for v in found]
    return StateLog(overlaid([before.state.written, *told]), before.state.files)
