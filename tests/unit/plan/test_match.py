from __future__ import annotations

from kits.executor import expr
from kits.match import LOOKS, UP, a_node, look
from tidegate.plan.match import Condition, MatchRecognize
from tidegate.plan.pattern import Variable

NODE: MatchRecognize = a_node(Variable("A"), {"A": UP})


def test_what_it_reads_is_what_decides_and_what_is_shown() -> None:
    (read,) = NODE.reads(set())
    assert read >= {"k", "t", "v", "__split", "__offset"}
    assert NODE.hidden == ("__split", "__offset")


def test_times_are_the_values_of_the_time_in_the_match_itself() -> None:
    before = look("prev", "", LOOKS[0].argument, 1)
    node = a_node(Variable("A"), {}, looks=(*LOOKS, before))
    assert node.time == "t"
    assert node.times == (LOOKS[0].output.name, LOOKS[1].output.name)


def test_how_far_it_looks_back_is_the_most_of_all_looks() -> None:
    assert a_node(Variable("A"), {}, looks=LOOKS[:1]).rows_back == 0
    assert a_node(Variable("A"), {"A": UP}, looks=LOOKS[:1]).rows_back == 1
    assert NODE.rows_back == 2


def test_conditions_are_values() -> None:
    predicate = expr("v > 1", "BOOLEAN", "v")
    assert Condition("A", predicate) == Condition("A", predicate, ())
