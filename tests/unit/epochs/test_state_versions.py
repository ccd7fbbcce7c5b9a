from __future__ import annotations

import pytest

from tidegate.epochs.entry import Entry, StateLog
from tidegate.epochs.state_versions import check_version, next_versions
from tidegate.epochs.task_reports import ActorReport, StateVersion, TaskReport
from tidegate.errors import TrustError

BEFORE = Entry(4, 0, state=StateLog({1: {"0": 3, "1": 4}}))


def report(vnode: int, found: int, left: int, stage: int = 1) -> TaskReport:
    version = StateVersion(stage, vnode, found, left, f"spark/state/{stage - 1}/7")
    return ActorReport(epoch=5, fragment=2, depth=stage, version=version)


def test_what_an_epoch_has_written_follows_what_was() -> None:
    after = next_versions(BEFORE, [report(0, 3, 3), report(1, 4, 5), report(0, 0, 5, stage=2)])
    assert after == StateLog({1: {"0": 3, "1": 5}, 2: {"0": 5}})


def test_an_actor_without_state_in_spark_says_nothing() -> None:
    assert next_versions(BEFORE, [ActorReport(epoch=5, fragment=2, depth=1)]) == BEFORE.state


@pytest.mark.parametrize(("vnode", "found"), [(0, 2), (0, 4), (0, 0), (1, 3)])
def test_other_state_than_was_left_is_refused(vnode: int, found: int) -> None:
    with pytest.raises(TrustError, match=f"spark/state/0/7 .* vnode {vnode} as of epoch {found},"):
        next_versions(BEFORE, [report(vnode, found, 5)])


def test_an_entry_of_an_older_release_knows_none() -> None:
    check_version(Entry(4, 0), StateVersion(1, 0, 2, 5, "spark/state/0/7"))
