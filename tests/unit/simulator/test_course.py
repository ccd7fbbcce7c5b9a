from __future__ import annotations

from tidegate.epochs.offsets import Offset
from tidegate.simulator.course import Course


def test_it_goes_straight_on() -> None:
    course = Course()
    course.before_plan(1)
    course.begin_epoch(Offset(1))
    course.step()
    assert course.actors_live_on
    assert not course.more_comes()
    assert course.choose(["first", "last"]) == "last"
