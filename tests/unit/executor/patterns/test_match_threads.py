"""Every pattern and condition is tried in `test_match_rows`; here is what threads are made of."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kits.executor import ENGINE
from kits.match import RULES, Rule, a_node, planned
from tidegate.executor.patterns.match_threads import MATCHED, NOTHING, OPEN, Found, Matcher, Rows
from tidegate.types import END


def rows(*values: int) -> Rows:
    """One partition, a row for each unit of time."""
    times = np.arange(len(values), dtype=np.int64)
    data = pa.table({"k": ["a"] * len(values), "t": times, "v": list(values)})
    return Rows(data, times, np.zeros_like(times), np.full_like(times, len(values)))


def found(pattern: tuple[object, ...], rules: dict[str, Rule], *values: int, bound: int) -> Found:
    known = rows(*values)
    matcher = Matcher(a_node(planned(pattern), rules), ENGINE)
    return matcher.find(
        known, matcher.at_once(known), np.arange(len(values), dtype=np.int64), bound
    )


BELOW_5 = RULES[0]
NAMES = Matcher(a_node(planned(("seq", ("A",), ("B",))), {}), ENGINE).names


def test_a_greedy_start_is_open_while_another_row_may_come() -> None:
    run = ("rep", ("A",), 1, None, True)
    assert found(run, {"A": BELOW_5}, 1, 2, 9, 3, bound=4).fate.tolist() == [
        MATCHED,
        MATCHED,
        NOTHING,
        OPEN,
    ]
    at_end = found(run, {"A": BELOW_5}, 1, 2, 9, 3, bound=END)
    assert at_end.fate.tolist() == [MATCHED, MATCHED, NOTHING, MATCHED]
    assert at_end.length.tolist() == [2, 1, 0, 1]


def test_a_reluctant_one_is_not() -> None:
    run = ("rep", ("A",), 1, None, False)
    matched = found(run, {"A": BELOW_5}, 1, 2, bound=2)
    assert (matched.fate.tolist(), matched.length.tolist()) == ([MATCHED, MATCHED], [1, 1])


def test_taken_rows_know_their_variables() -> None:
    pattern = ("seq", ("A",), ("rep", ("B",), 0, None, True))
    taken = found(pattern, {"B": BELOW_5}, 7, 1, 2, 8, bound=END).taken(np.array([0, 3]))
    assert taken.match.tolist() == [0, 0, 0, 1]
    assert taken.row.tolist() == [0, 1, 2, 3]
    a, b = (NAMES.index(name) for name in "AB")
    assert taken.variable.tolist() == [a, b, b, a]


def test_threads_that_will_go_the_same_way_are_one() -> None:
    """Else there were two to the power of the rows."""
    either = ("rep", ("alt", ("A",), ("B",)), 1, None, True)
    whole = found(either, {}, *range(200), bound=END)
    assert whole.length[0] == 200
    assert whole.taken(np.array([0])).variable.tolist() == [0] * 200
