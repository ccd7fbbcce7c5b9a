from __future__ import annotations

import pyarrow as pa
import pytest

from kits.executor import ENGINE
from kits.join import Said, a_join
from tidegate.executor.joins.joining import Joining
from tidegate.plan.joins import JoinKind


class Kept(Joining):
    """Notes what it is told to keep."""

    def __init__(self, kind: JoinKind) -> None:
        super().__init__(a_join(kind), ENGINE)
        self.rows: list[tuple[int, list[object]]] = []

    def keep(self, port: int, rows: pa.Table) -> None:
        self.rows.append((port, rows.column(1).to_pylist()))

    def words(self) -> list[int | None]:
        return list(self._passed)


@pytest.mark.parametrize(
    ("kind", "alone"),
    [(JoinKind.INNER, []), (JoinKind.LEFT, ["a . 1 . . ."]), (JoinKind.ANTI, ["a . 1"])],
)
def test_rows_without_a_time_do_not_wait(kind: JoinKind, alone: list[str]) -> None:
    join = Kept(kind)
    assert Said(join).rows("0| chunk: a . 1; b 5 3; c 6 4", "1| chunk: a 7 4") == alone
    assert join.rows == [(0, [5, 6]), (1, [7])]


def test_the_last_watermark_of_each_time_counts() -> None:
    join = Kept(JoinKind.INNER)
    said = Said(join)
    assert said("0| watermark t 5", "0| watermark t 7", "0| watermark u 9") == []
    assert join.words() == [7, None]
    assert said("1| watermark u 3") == []
    assert join.words() == [7, 3]
