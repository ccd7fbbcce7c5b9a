from __future__ import annotations

from tidegate.epochs.entry import OperatorState, WorkLog
from tidegate.epochs.observations import observed
from tidegate.epochs.task_reports import (
    ActorReport,
    Sent,
    SourceReport,
    StateSize,
    WriterReport,
)
from tidegate.events import SINK_RETRY


def actor(
    vnode: int, fragment: int = 1, **state: tuple[int, int, int, int, list[int]]
) -> ActorReport:
    sizes = {name: StateSize(*size[:-1], tuple(size[-1])) for name, size in state.items()}
    phases = {"state": 0.5}
    return ActorReport(
        epoch=2,
        fragment=fragment,
        depth=1,
        state=sizes,
        phases=phases,
        sent=Sent(1, 10),
        memory=100 + vnode,
    )


def writer(**events: int) -> WriterReport:
    return WriterReport(epoch=2, events=events, phases={"sink": 0.25}, memory=7)


def test_state_is_of_the_epoch_and_buckets_are_of_all_vnodes() -> None:
    reports = [
        actor(0, FinalAggregate=(3, 30, 2, 2, [60, 120])),
        actor(1, FinalAggregate=(4, 40, 1, 2, [0, 60])),
        actor(0, fragment=2),
    ]
    before = WorkLog(state={9: {"Gone": OperatorState(1, 1, 1, 1, 1)}})
    found = observed(before, reports, {})
    assert found.state == {1: {"FinalAggregate": OperatorState(7, 70, 3, 3, 0)}}
    assert found.phases == {"stage 1": {"state": 1.5}}
    assert found.memory == {"stage 1": 101}


def test_of_very_many_buckets_the_count_is_that_of_the_vnode_that_has_most() -> None:
    reports = [actor(0, Sort=(9, 9, 9, 300, [1, 2])), actor(1, Sort=(9, 9, 9, 400, [3]))]
    assert observed(WorkLog(), reports, {}).state[1]["Sort"].buckets == 400


def test_what_adds_up_over_epochs_is_not_shared() -> None:
    first = observed(WorkLog(), [actor(0), writer(**{SINK_RETRY: 2})], {})
    second = observed(first, [actor(0), writer()], {SINK_RETRY: 1})
    assert (first.sent, second.sent) == ({1: Sent(1, 10)}, {1: Sent(2, 20)})
    assert (first.events, second.events) == ({SINK_RETRY: 2}, {SINK_RETRY: 3})
    assert second.phases == {"stage 1": {"state": 0.5}, "writer": {"sink": 0.25}}


def source(*absent: str, table: str = "o") -> SourceReport:
    return SourceReport(
        epoch=2,
        fragment=0,
        sent=Sent(1, 10),
        time_us=0,
        table=table,
        next_offsets={},
        statuses={},
        absent=absent,
    )


def test_a_column_is_absent_while_no_row_has_it() -> None:
    first = observed(WorkLog(), [source("a", "b"), source("b", "a", "c"), actor(0)], {})
    assert first.absent == {"o": ("a", "b")}
    second = observed(first, [source("b"), source("a", table="p")], {})
    assert second.absent == {"o": ("b",), "p": ()}, "what was read before this is not known"
    assert observed(WorkLog(), [source(), source("a")], {}).absent == {"o": ()}
