"""What the planner makes of a cluster's answers, also of those that a real one gives seldom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.many import examples
from tidegate.clock import ManualClock
from tidegate.connectors.kafka.patience import USUAL
from tidegate.connectors.kafka.planner import KafkaPlanner
from tidegate.connectors.kafka.topics import Partition
from tidegate.errors import OptionsError, RunError, TrustError
from tidegate.ports import Position, SplitPlan
from unit.connectors.kafka.kafka_kit import table

A = ("a", "BIGINT")
AWAY = RunError("no answer")


@dataclass
class Answers:
    """In the place of `Topics`: what a cluster answers, or does not."""

    ends: dict[Partition, int]
    ids: dict[str, str] = field(default_factory=lambda: {"t": "id"})
    firsts: dict[Partition, int] = field(default_factory=dict)
    answers_topics: bool = True
    answers_ends: bool = True

    def named(self, options: Any) -> list[str]:
        return list(options.topics)

    def described(self, names: Iterable[str]) -> dict[str, tuple[str, int]]:
        if not self.answers_topics:
            raise AWAY
        counts = {name: sum(topic == name for topic, _ in self.ends) for name in names}
        return {name: (self.ids[name], count) for name, count in counts.items() if name in self.ids}

    def latest(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        if not self.answers_ends:
            raise AWAY
        return {part: self.ends[part] for part in partitions if self.ends[part] >= 0}

    def earliest(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return {part: self.firsts.get(part, 0) for part in partitions}

    def require(self, name: str) -> OptionsError:
        return OptionsError(f"no {name}")


class Planned:
    """A planner over `Answers`, and where its table stands."""

    def __init__(self, *ends: int, available_now: bool = False, **options: Any) -> None:
        self.answers = Answers({("t", number): end for number, end in enumerate(ends)})
        self.clock = ManualClock()
        self.planner = KafkaPlanner(table(A, **options), available_now, self.clock)
        self.planner._topics = self.answers  # type: ignore[assignment]
        self.positions: dict[str, Position] = {}

    def plan(self, rows_max: int | None = None) -> dict[str, SplitPlan]:
        splits = self.planner.splits(begun=bool(self.positions))
        plans = self.planner.plan({s: self.positions.get(s) for s in splits}, rows_max)
        self.positions |= {split: plan.end for split, plan in plans.items()}
        return plans

    @property
    def offsets(self) -> list[Any]:
        return [at[0] for _, at in sorted(self.positions.items()) if isinstance(at, list)]


@pytest.mark.slow
@examples(200)
@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=6),
    st.lists(st.one_of(st.none(), st.integers(1, 30)), min_size=1, max_size=20),
)
def test_rows_of_epochs_are_shared(ends: list[int], sizes: list[int | None]) -> None:
    planned = Planned(*ends)
    before = 0
    for size in sizes:
        plans = planned.plan(size)
        assert sum(planned.offsets) - before == sum(plan.rows_max for plan in plans.values())
        left = sum(ends) - before
        assert sum(planned.offsets) - before == (left if size is None else min(left, size))
        before = sum(planned.offsets)
        for split, plan in plans.items():
            end = ends[int(split[-1])]
            assert plan.known_end == end
            assert plan.at_end is (plan.end == [end, "id", -1, 0])
            assert not plan.finished


def test_an_answer_that_fails_is_waited_for_by_question() -> None:
    """Topics are told, by any broker; an end only by the leader, which stays away."""
    planned = Planned(5, 5)
    planned.plan()
    planned.answers.answers_ends = False
    for _ in range(int(USUAL.running.in_all_s)):
        assert [plan.rows_max for plan in planned.plan().values()] == [0, 0]
        assert planned.planner.waiting(planned.positions) == []
        planned.clock.time_us += 1_000_000
    planned.plan()
    planned.clock.time_us += 1
    with pytest.raises(RunError):
        planned.plan()


def test_patience_begins_anew_with_every_answer() -> None:
    planned = Planned(5)
    planned.plan()
    for _ in range(5):
        planned.answers.answers_topics = False
        planned.plan()
        planned.clock.time_us += 100_000_000
        planned.answers.answers_topics = True
        planned.plan()


def test_a_job_that_starts_does_not_wait() -> None:
    planned = Planned(5)
    planned.answers.answers_topics = False
    with pytest.raises(RunError):
        planned.plan()


def test_a_partition_without_an_end_joins_later() -> None:
    """It was made a moment ago, and its leader does not know of it."""
    planned = Planned(5, -1)
    assert sorted(planned.plan()) == ["t-0"]
    planned.answers.ends["t", 1] = 3
    planned.answers.firsts["t", 1] = 1
    assert planned.plan()["t-1"].end == [3, "id", -1, 1]


@pytest.mark.parametrize("available_now", [False, True])
def test_what_is_finished_stays_so(available_now: bool) -> None:
    planned = Planned(5, available_now=available_now, scan_bounded_mode="latest-offset")
    assert planned.plan()["t-0"].finished
    planned.answers.answers_ends = False
    planned.planner._ends = {}
    assert planned.plan()["t-0"].finished


def test_available_now_asks_once() -> None:
    planned = Planned(5, available_now=True)
    planned.plan(2)
    planned.answers.ends["t", 0] = 9
    assert planned.planner.waiting(planned.positions) == ["t-0"]
    planned.plan()
    assert planned.planner.waiting(planned.positions) == []
    assert planned.offsets == [5]


def test_an_end_that_falls_is_a_loss() -> None:
    planned = Planned(5)
    planned.plan()
    planned.answers.ends["t", 0] = 4
    with pytest.raises(TrustError, match="ends at offset 4, but was read up to 5"):
        planned.plan()


@pytest.mark.parametrize("ends", [3, 5, 9])
def test_another_id_is_another_topic(ends: int) -> None:
    planned = Planned(5)
    planned.plan()
    planned.answers.ids["t"] = "other"
    planned.answers.ends["t", 0] = ends
    with pytest.raises(TrustError, match="topic 't' of table 't' was deleted and created anew"):
        planned.plan()


def test_a_topic_that_is_gone_is_missing_at_first_and_lost_later() -> None:
    planned = Planned(5)
    del planned.answers.ids["t"]
    with pytest.raises(OptionsError, match="no t"):
        planned.plan()
    planned.answers.ids["t"] = "id"
    planned.plan()
    del planned.answers.ids["t"]
    with pytest.raises(TrustError, match="topic 't' of table 't' is gone"):
        planned.plan()


def test_positions_that_are_not_ours() -> None:
    planned = Planned(5)
    planned.planner.splits()
    with pytest.raises(TrustError, match="unreadable position"):
        planned.planner.plan({"t-0": "5"}, None)
    with pytest.raises(TrustError, match="not a partition of a topic"):
        planned.planner.check_gone("directory", [5, "id", -1, 0])
    with pytest.raises(TrustError, match="does not read topic 'other' any more"):
        planned.planner.check_gone("other-0", [5, "id", -1, 0])
    with pytest.raises(TrustError, match="created anew"):
        planned.planner.check_gone("t-1", [5, "id", -1, 0])


def test_rows_behind_a_bounded_end_are_no_surprise() -> None:
    planner = Planned(5).planner
    assert planner.unread({"t-0": [3, "id", 3, 0]}) == []
    assert planner.unread({}) == ["t-0"], "a partition that joined since is named"


@pytest.mark.slow
def test_nobody_there() -> None:
    soon = replace(USUAL, question=replace(USUAL.question, in_all_s=0.2))
    with pytest.raises(RunError, match="no answer from the brokers"):
        KafkaPlanner(table(A), False, patience=soon).splits()
