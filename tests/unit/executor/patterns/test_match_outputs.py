from __future__ import annotations

import numpy as np
import pyarrow as pa

from kits.executor import ENGINE
from kits.match import a_node, planned
from tidegate.executor.patterns.match_outputs import outputs
from tidegate.executor.patterns.match_threads import Matcher, Rows
from tidegate.types import END

PATTERN = ("seq", ("A",), ("rep", ("B",), 1, 2, True), ("rep", ("C",), 0, 1, True))


def test_a_row_has_the_values_of_its_rows_and_their_types() -> None:
    times = np.arange(7, dtype=np.int64)
    values = pa.array([1, 2, 3, None, 5, 6, 7], pa.int32())
    data = pa.table({"k": ["a"] * 7, "t": times, "v": values})
    rows = Rows(data, times, np.zeros_like(times), np.full_like(times, 7))
    node = a_node(planned(PATTERN), {})
    matcher = Matcher(node, ENGINE)
    found = matcher.find(rows, matcher.at_once(rows), times, END)
    table = outputs(node, ENGINE, matcher.names, rows, found, np.array([0, 4]))
    assert table.schema.field("last_A_v_0").type == pa.int32()
    first, second = ([*row.values()] for row in table.to_pylist())
    assert first == ["a", 0, 3, 1, 3, 2, 1, 4, 0, None, "C"]
    assert second == ["a", 4, 6, 5, 7, 6, 5, 3, 0, 3, "B"]
