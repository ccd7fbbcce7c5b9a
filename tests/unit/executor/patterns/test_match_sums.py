from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from kits.executor import ENGINE
from kits.match import look
from tidegate.executor.patterns.match_sums import Sums

LOOKS = [look("count", "", None), look("sum", "A"), look("avg", "B"), look("min"), look("max", "A")]
DATA = pa.table({"v": [4, None, 7]})


def test_each_row_is_added_to_those_that_it_is_of() -> None:
    sums = Sums(LOOKS, {"A": 0, "B": 1}, ENGINE)
    state = sums.begun(2)
    for row, variables in enumerate([[0, 1], [1, 0], [0, 1]]):
        state = sums.added(state, DATA, np.array([row, row]), np.array(variables))
    shown = [sums.value(each, state).to_pylist() for each in LOOKS]
    assert shown == [[3, 3], [Decimal(11), None], [None, 5.5], [4, 4], [7, None]]


def test_threads_of_equal_sums_have_one_number() -> None:
    sums = Sums([look("sum", "A")], {"A": 0}, ENGINE)
    state = sums.added(sums.begun(3), DATA, np.array([0, 2, 0]), np.array([0, 0, 0]))
    one, two, three = sums.alike(state)
    assert one == three != two
