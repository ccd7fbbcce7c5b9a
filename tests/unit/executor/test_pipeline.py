"""Executors wired as the plan's nodes are."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.executor.base import Executor
from tidegate.executor.pipeline import Pipeline
from tidegate.types import LEDGER_SCHEMA, Barrier, Chunk, Message, Rejected, Watermark


class Plus(Executor):
    """Adds to each watermark, and says so in a log."""

    def __init__(self, add: int, log: list[str]) -> None:
        self.schema = ()
        self._add, self._log = add, log

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        yield chunk

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        self._log.append(f"+{self._add}")
        assert watermark.value is not None
        yield Watermark(watermark.column, watermark.value + self._add)
        yield Watermark(watermark.column, watermark.value + self._add + 1)


def _pipeline(log: list[str], exits: list[int]) -> Pipeline:
    """0 is the entry; 1 and 3 read it, 2 reads 1."""
    executors = {1: Plus(10, log), 2: Plus(100, log), 3: Plus(1000, log)}
    return Pipeline(executors, [[], [0], [1], [0]], exits)


def test_depth_first_before_the_next_message() -> None:
    log: list[str] = []
    out = _pipeline(log, [2, 3]).push_behind(0, Watermark("t", 0))
    assert [(node, m.value) for node, m in out if isinstance(m, Watermark)] == [
        (2, 110),
        (2, 111),
        (2, 111),
        (2, 112),
        (3, 1000),
        (3, 1001),
    ]
    assert log == ["+10", "+100", "+100", "+1000"]


def test_an_exit_may_also_be_read() -> None:
    out = _pipeline([], [0, 1]).push_behind(0, Watermark("t", 0))
    assert [node for node, _ in out] == [0, 1, 1]


def test_what_is_pushed_behind_a_node_skips_what_is_before_it() -> None:
    log: list[str] = []
    barrier = Barrier(1, 1)
    assert list(_pipeline(log, [2]).push_behind(1, barrier)) == [(2, barrier)]


def test_refused_rows_come_out_at_once() -> None:
    log: list[str] = []
    rejected = Rejected(LEDGER_SCHEMA.empty_table())
    assert list(_pipeline(log, [2]).push_behind(1, rejected)) == [(1, rejected)]
    assert log == []
