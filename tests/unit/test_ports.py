from __future__ import annotations

import pytest

from tidegate.ports import StagedFile, order_of


def test_writers_are_ordered_by_number() -> None:
    orders = [order_of(writer, index) for writer in ("2", "w10") for index in (0, 1)]
    assert orders == sorted(orders)
    assert order_of("only", 3) == 3


@pytest.mark.parametrize("index", [0, 7])
@pytest.mark.parametrize("writer", ["0", "2", "131"])
def test_a_staged_file_knows_its_writer(writer: str, index: int) -> None:
    assert StagedFile("path", order_of(writer, index), 1, 1).writer == writer
