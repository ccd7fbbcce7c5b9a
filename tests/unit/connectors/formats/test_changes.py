from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tidegate.connectors.formats.changes import WORDS, of_column, ops_of
from tidegate.connectors.formats.json_format import Decoded
from tidegate.types import OP, Op

PUT, DELETE, BEFORE = int(Op.UPDATE_AFTER), int(Op.DELETE), int(Op.UPDATE_BEFORE)


@pytest.mark.parametrize("word", ["c", "r", "U", " i ", "+I", "+U", "Insert", "UPDATE", "upsert"])
def test_puts(word: str) -> None:
    ops, known, _ = ops_of(pa.array([word]))
    assert (ops.tolist(), known.tolist()) == ([PUT], [True])


@pytest.mark.parametrize("word", ["d", "-D", "DELETE"])
def test_deletes(word: str) -> None:
    assert ops_of(pa.array([word]))[0].tolist() == [DELETE]


def test_all_words_that_are_told_are_known() -> None:
    words = [word.strip() for part in WORDS.split(";") for word in part.split(",")]
    assert ops_of(pa.array(words))[1].all()


def test_an_envelope_has_its_own_words() -> None:
    ops, known, over = ops_of(pa.array(["c", "d", "t", "m", "+I", "C", None]), envelope=True)
    assert ops[known].tolist() == [PUT, DELETE]
    assert known.tolist() == [True, True, False, False, False, False, False]
    assert over.tolist() == [False, False, True, True, False, False, False]


def test_a_column_says_what_happens() -> None:
    data = pa.table({"k": [1, 2, 3, 4], "op": ["+I", "-U", None, "?"]})
    found = of_column(Decoded(data, np.array([True, True, False, True, True])), "op")
    assert found.good.tolist() == [True, True, False, False, False]
    assert found.data.column("k").to_pylist() == [1, 2]
    assert found.data.column(OP).to_pylist() == [PUT, BEFORE]
    assert found.passed_over is None
