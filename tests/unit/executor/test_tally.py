from __future__ import annotations

import numpy as np
import pytest

from kits.executor import Text, leaf
from tidegate.errors import InvariantError
from tidegate.executor.split_rows import SplitRows
from tidegate.executor.tally import Branch, TallyExecutor, filtered_by_split, used_by_split
from tidegate.plan.physical import Tally

TEXT = Text("v BIGINT, __offset BIGINT, __record BLOB")


def a_tally(*keep: str, shared: bool = True, repeats: bool = False) -> TallyExecutor:
    below = leaf("v BIGINT")
    return TallyExecutor(Tally(below.schema, below, "t", keep, repeats), shared=shared)


def test_hidden_columns_and_the_split_end_here() -> None:
    assert TEXT.run(a_tally(), "chunk s0: 1 7 a; 2 8 b") == ["chunk: 1; 2"]


def test_what_is_kept_stays_and_the_split_becomes_a_column() -> None:
    (out,) = a_tally("__split", "__offset").process(TEXT.chunk("1 7 a; 2 8 b", "s0"))
    assert out.data.to_pydict() == {  # type: ignore[union-attr]
        "v": [1, 2],
        "__offset": [7, 8],
        "__split": ["s0", "s0"],
    }


def test_survivors_by_split() -> None:
    tally = a_tally()
    TEXT.run(tally, "chunk s0: 1 7 a; 2 8 b", "chunk s1: 1 7 a", "chunk s0: 2 9 b")
    count, offsets = tally.survivors("s0")
    assert (count, offsets.tolist()) == (3, [7, 8, 9])
    assert used_by_split([tally]) == {"s0": 3, "s1": 1}
    assert tally.survivors("s2")[0] == 0


def test_branches_of_one_account_are_united() -> None:
    one, other = a_tally(), a_tally()
    TEXT.run(one, "chunk s0: 1 7 a; 2 8 b")
    TEXT.run(other, "chunk s0: 2 8 b; 2 9 b", "chunk s1: 1 7 a")
    assert used_by_split([one, other]) == {"s0": 3, "s1": 1}
    assert used_by_split([]) == {}


def test_counts_are_of_one_epoch() -> None:
    tally = a_tally()
    assert TEXT.run(tally, "chunk s0: 1 7 a", "barrier 1")[1:] == ["barrier 1"]
    assert used_by_split([tally]) == {"s0": 1}  # still there behind the barrier
    TEXT.run(tally, "chunk s0: 1 8 a; 2 9 b")
    assert used_by_split([tally]) == {"s0": 2}
    TEXT.run(tally, "barrier 2", "barrier 3")
    assert used_by_split([tally]) == {}


def test_without_sharing_only_the_count_is_kept() -> None:
    tally = a_tally(shared=False)
    TEXT.run(tally, "chunk s0: 1 7 a")
    assert used_by_split([tally]) == {"s0": 1}
    with pytest.raises(InvariantError, match="shared"):
        used_by_split([tally, tally])


def test_a_chunk_without_split_breaks_the_contract() -> None:
    with pytest.raises(InvariantError, match="without a split"):
        TEXT.run(a_tally(), "chunk: 1 7 a")


def test_watermarks_pass_and_statuses_end() -> None:
    assert TEXT.run(a_tally(), "watermark v 5", "status idle s0") == ["watermark v 5"]


def test_a_row_that_repeats_counts_once() -> None:
    alone = a_tally(shared=False, repeats=True)
    one, other = a_tally(repeats=True), a_tally()
    for tally in (alone, one):
        TEXT.run(tally, "chunk s0: 1 7 a; 1 7 a; 2 8 b; 2 8 b", "chunk s0: 3 9 c")
    TEXT.run(other, "chunk s0: 2 8 b; 4 10 d")
    assert used_by_split([alone]) == {"s0": 3}
    assert used_by_split([one, other]) == {"s0": 4}


def refused(*offsets: int, named: bool = True) -> SplitRows:
    rows = SplitRows(named=named)
    rows.add("s0", len(offsets), np.array(offsets, dtype=np.int64))
    return rows


def test_filtered_is_what_all_filters_of_a_branch_count() -> None:
    tally = a_tally(shared=False)
    TEXT.run(tally, "chunk s0: 1 7 a")
    filters = [refused(8, 9, named=False), refused(3, named=False)]
    assert filtered_by_split([Branch(tally, filters)]) == {"s0": 3}
    assert filtered_by_split([Branch(tally, [])]) == {}


def test_filtered_is_what_every_branch_refuses() -> None:
    one, other = a_tally(), a_tally()
    TEXT.run(one, "chunk s0: 1 7 a; 2 8 b")
    TEXT.run(other, "chunk s0: 2 8 b; 2 9 b")
    branches = [Branch(one, [refused(9, 10), refused(11)]), Branch(other, [refused(7, 10, 11)])]
    assert filtered_by_split(branches) == {"s0": 2}
    assert filtered_by_split([branches[0], Branch(other, [])]) == {"s0": 0}


def test_a_row_of_which_a_window_is_left_is_not_filtered() -> None:
    tally = a_tally(repeats=True)
    TEXT.run(tally, "chunk s0: 1 7 a; 1 7 a; 2 8 b")
    assert filtered_by_split([Branch(tally, [refused(7, 8, 9, 9), refused(9, 10)])]) == {"s0": 2}
