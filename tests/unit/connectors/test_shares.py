"""Equal parts first, then what others leave over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.connectors.shares import share_rows


@pytest.mark.slow
@given(st.integers(1, 50), st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 30)))
def test_shares(rows_max: int, available: dict[str, int]) -> None:
    given_rows = share_rows(rows_max, list(available), lambda s, rows: min(rows, available[s]))
    assert sum(given_rows.values()) == min(rows_max, sum(available.values()))
    part = rows_max // max(1, len(available))
    for split, rows in available.items():
        assert min(rows, part) <= given_rows[split] <= rows
