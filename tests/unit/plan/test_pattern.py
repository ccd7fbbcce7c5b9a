from __future__ import annotations

import pytest

from tidegate.plan.pattern import (
    ACCEPT,
    Alternation,
    Automaton,
    Pattern,
    Repeat,
    Sequence,
    Variable,
    longest,
    size,
    text,
    variables,
)

A, B, C = Variable("A"), Variable("B"), Variable("C")


def sequence(*parts: Pattern) -> Sequence:
    return Sequence(parts)


def test_what_may_follow_comes_in_the_order_of_preference() -> None:
    greedy = Automaton.of(sequence(A, Repeat(B, 1, None), C))
    names, after = greedy.variables, greedy.after
    shown = {names[s]: [names[n] if n != ACCEPT else "end" for n in after[s]] for s in range(3)}
    assert [names[state] for state in greedy.entry] == ["A"]
    assert shown == {"A": ["B"], "B": ["B", "C"], "C": ["end"]}


def test_a_reluctant_quantifier_would_rather_end() -> None:
    reluctant = Automaton.of(sequence(A, Repeat(B, 0, None, greedy=False)))
    a, b = (reluctant.variables.index(name) for name in "AB")
    assert reluctant.after[a] == (ACCEPT, b)
    assert reluctant.after[b] == (ACCEPT, b)


def test_an_alternation_tries_its_parts_in_order() -> None:
    either = Automaton.of(Alternation((sequence(B, C), A)))
    assert [either.variables[state] for state in either.entry] == ["B", "A"]


@pytest.mark.parametrize(
    ("pattern", "may_be"),
    [
        (Repeat(A, 0, None), True),
        (Repeat(A, 0, 1), True),
        (Repeat(A, 1, None), False),
        (Alternation((A, Repeat(B, 0, 2))), True),
        (sequence(Repeat(A, 0, None), B), False),
        (Repeat(Repeat(A, 0, 1), 2, None), True),
    ],
)
def test_which_patterns_need_no_row(pattern: Pattern, may_be: bool) -> None:
    assert Automaton.of(pattern).may_be_empty is may_be


@pytest.mark.parametrize(
    ("pattern", "shown", "states", "rows"),
    [
        (A, "A", 1, 1),
        (sequence(A, Repeat(B, 1, None), C), "A B+ C", 3, None),
        (sequence(A, Alternation((B, C))), "A (B | C)", 3, 2),
        (Repeat(sequence(A, B), 2, 4, greedy=False), "(A B){2,4}?", 8, 8),
        (Repeat(A, 3, 3), "A{3}", 3, 3),
        (Repeat(A, 2, None), "A{2,}", 2, None),
        (Repeat(A, 0, 1, greedy=False), "A??", 1, 1),
    ],
)
def test_text_size_and_length(pattern: Pattern, shown: str, states: int, rows: int | None) -> None:
    assert (text(pattern), longest(pattern)) == (shown, rows)
    assert size(pattern) == len(Automaton.of(pattern).variables) == states


def test_variables_stand_in_their_order_each_once() -> None:
    assert variables(sequence(B, Repeat(A, 1, 2), Alternation((B, C)))) == ("B", "A", "C")
