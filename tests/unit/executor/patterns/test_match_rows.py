"""MATCH_RECOGNIZE: when matches leave, what is kept, and every pattern against backtracking."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.executor import ENGINE
from kits.many import examples
from kits.match import (
    LOOKS,
    NAMES,
    RULES,
    Rule,
    a_node,
    expected,
    look,
    now,
    planned,
)
from kits.over import ENDED, Said, Tables, to
from oracle.match import less, matches, names_of, random_pattern
from tidegate.executor.buffers import known_rows, time_queue
from tidegate.executor.patterns import match_rows
from tidegate.executor.patterns.match_rows import MatchRowsExecutor
from tidegate.plan.match import SkipTo
from tidegate.plan.pattern import Automaton

FALLS = ("seq", ("A",), ("rep", ("B",), 1, None, True), ("C",))
UP_AND_DOWN: dict[str, Rule] = {
    "B": Rule("v < {0}", (look("prev", offset=1),), lambda s, v: less(now(s, v), 0)),
    "C": Rule("v > {0}", (look("prev", offset=1),), lambda s, v: less(0, now(s, v))),
}
TIMES = (LOOKS[0], LOOKS[1], look("last", "B"))


def matching(
    pattern: tuple[Any, ...],
    rules: dict[str, Rule],
    tables: Tables | None = None,
    *,
    looks: tuple[Any, ...] = TIMES,
    **parts: Any,
) -> Said:
    node = a_node(planned(pattern), rules, looks=looks, **parts)
    return Said(MatchRowsExecutor(node, ENGINE, Tables() if tables is None else tables))


def test_a_match_leaves_when_the_row_that_ends_it_is_known() -> None:
    said = matching(FALLS, UP_AND_DOWN)
    assert said("chunk: a 1 5; a 2 -1; a 3 -2; b 1 1; a 5 4") == []
    first, last = (each.output.name for each in TIMES[:2])
    assert said(*to(5, 1)) == [f"watermark {first} 1", f"watermark {last} 1", "barrier 1"]
    assert said.rows(*to(6, 2)) == ["a 1 5 -2"]


def test_a_start_that_is_not_decided_holds_the_watermark() -> None:
    said = matching(FALLS, UP_AND_DOWN)
    assert said("chunk: a 1 5; a 2 1", *to(9, 1))[-2:] == [
        f"watermark {last_of_times()} 1",
        "barrier 1",
    ]


def last_of_times() -> str:
    return TIMES[1].output.name


def test_within_lets_go_what_time_has_passed() -> None:
    tables = Tables()
    said = matching(FALLS, UP_AND_DOWN, tables, within=4)
    assert said("chunk: a 1 5; a 2 -1", *to(5, 1))[-2] == f"watermark {last_of_times()} 2"
    assert said(*to(6, 2))[-2] == f"watermark {last_of_times()} 6"
    assert "starts" not in tables.held


KEYS = st.sampled_from(["a", "b", "."])
ROWS = st.tuples(KEYS, st.integers(0, 6), st.one_of(st.none(), st.integers(0, 9)))
EPOCHS = st.lists(
    st.tuples(st.lists(ROWS, max_size=8), st.integers(0, 5), st.booleans()), min_size=1, max_size=6
)
SKIPS = {
    "past": SkipTo.PAST_LAST,
    "next": SkipTo.NEXT,
    "first": SkipTo.FIRST,
    "last": SkipTo.LAST,
}


@pytest.mark.slow
@given(EPOCHS, st.integers(0, 10**9))
@examples(150)
def test_random_patterns_match_what_backtracking_finds(
    epochs: list[tuple[list[tuple[str, int, int | None]], int, bool]], seed: int
) -> None:
    """Cut into epochs anywhere, with restarts, and logs that are written anew all the time."""
    random = Random(seed)
    pattern = random_pattern(random)
    assert not Automaton.of(planned(pattern)).may_be_empty
    used = names_of(pattern)
    rules = {name: random.choice(RULES) for name in NAMES if random.random() < 0.8}
    rules = {name: rule for name, rule in rules.items() if name in used}
    if any({look.variable for look in rule.looks} - {"", *used} for rule in rules.values()):
        return
    looks = tuple(each for each in LOOKS if not each.variable or each.variable in used)
    skip = random.choice(["past", "past", "next", "first", "last"])
    to_variable = random.choice(used) if skip in ("first", "last") else ""
    within = random.choice([None, None, 3, 8])
    parts: Any = {"within": within, "skip": (SKIPS[skip], to_variable), "looks": looks}
    seen = list[tuple[str, int, int | None, str, int]]()

    def judged(bound: int | None) -> list[str]:
        """What must have left once the watermark is at ``bound``; None: at the end."""
        wanted = []
        for key in dict.fromkeys(row[0] for row in seen):
            known = (row for row in seen if row[0] == key and (bound is None or row[1] < bound))
            rows = sorted(known, key=lambda row: (row[1], *row[3:]))
            times, values = [row[1] for row in rows], [row[2] for row in rows]
            holds = {name: rule.holds(values) for name, rule in rules.items()}
            for way in matches(pattern, holds, times, within, (skip, to_variable), bound):
                _, *found = expected(way, key, times, values)
                named = zip(LOOKS, found, strict=True)
                shown = [key, *(value for each, value in named if each in looks)]
                wanted.append(" ".join("." if value is None else str(value) for value in shown))
        return sorted(wanted)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_rows, "SLACK_ROWS", random.choice([0, 1_024]))
        patch.setattr(match_rows, "TRIED_MIN", random.choice([1, 2, 256]))
        patch.setattr(match_rows, "FAR_ROWS", random.choice([0, 64]))
        patch.setattr(time_queue, "EMIT_ROWS_MAX", random.choice([1, 262_144]))
        tables, seen, left, watermark = (
            Tables(),
            list[tuple[str, int, int | None, str, int]](),
            list[str](),
            0,
        )
        said = matching(pattern, rules, tables, **parts)
        for epoch, (drawn, rise, restarts) in enumerate(epochs):
            if restarts:
                said = matching(pattern, rules, tables, **parts)
            lines = []
            for key, above, value in drawn:
                split, offset = f"s{random.randrange(3)}", len(seen)
                shown = "." if value is None else value
                lines.append(f"{key} {watermark + above} {shown} {split} {offset}")
                seen.append((key, watermark + above, value, split, offset))
            watermark += rise
            left += said.rows(*[f"chunk: {'; '.join(lines)}"] * bool(lines), *to(watermark, epoch))
            assert sorted(left) == judged(watermark)
        left += said.rows(*to(ENDED, 99))
        assert tables.held == {}
    assert sorted(left) == judged(None)
