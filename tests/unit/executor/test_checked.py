from __future__ import annotations

from collections.abc import Iterator

import pytest

from kits.executor import Text, schema
from tidegate.errors import InvariantError
from tidegate.executor.base import Executor
from tidegate.executor.checked import Checked
from tidegate.types import Barrier, Chunk, Message, Watermark

TEXT = Text("t BIGINT, v VARCHAR")
WITH_HIDDEN = Text("t BIGINT, v VARCHAR, __offset BIGINT")


class Echo(Executor):
    """Passes everything on, and ``extra`` behind a barrier."""

    def __init__(self, *extra: Message, swallow: bool = False) -> None:
        self.schema = schema("t BIGINT, v VARCHAR")
        self._extra = extra
        self._swallow = swallow

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        yield chunk

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        if not self._swallow:
            yield barrier
        yield from self._extra


def refused(text: Text, executor: Executor, *lines: str) -> str:
    """Everything but the last line passes; gives the error of the last."""
    checked = Checked(executor)
    text.run(checked, *lines[:-1])
    with pytest.raises(InvariantError) as failure:
        text.run(checked, lines[-1])
    with pytest.raises(InvariantError) as again:
        text.run(checked, "barrier 999")
    assert again.value is failure.value  # silence after a failure
    return str(failure.value)


def test_a_sound_stream_passes() -> None:
    lines = ["chunk: 5 a", "watermark t 5", "chunk: 5 a; . b", "watermark t 5 idle", "barrier 1"]
    assert TEXT.run(Checked(Echo()), *lines) == lines
    assert WITH_HIDDEN.run(Checked(Echo()), "chunk: 5 a 7") == ["chunk: 5 a 7"]


def test_a_row_below_the_watermark() -> None:
    error = refused(TEXT, Echo(), "watermark t 5", "chunk: 6 a; 4 b; 3 c")
    assert "Echo: 2 rows are below the watermark of t" in error
    assert "watermark 5, lowest 3, first 4" in error


def test_a_row_behind_the_end() -> None:
    assert "below the watermark of t" in refused(TEXT, Echo(), "watermark t end", "chunk: 6 a")


def test_a_watermark_that_falls() -> None:
    error = refused(TEXT, Echo(), "watermark t 5", "watermark t 4")
    assert "Echo: the watermark of t fell" in error
    assert "from 5 to 4" in error
    assert "from 5 to None" in refused(TEXT, Echo(), "watermark t 5", "watermark t none")


def test_watermarks_of_columns_apart() -> None:
    lines = ["watermark t 5", "watermark u 4", "chunk: 5 a"]
    assert TEXT.run(Checked(Echo()), *lines) == lines


@pytest.mark.parametrize("epoch", [1, 2])
def test_epochs_rise(epoch: int) -> None:
    assert f"epoch {epoch} after 2" in refused(TEXT, Echo(), "barrier 2", f"barrier {epoch}")


def test_other_columns_than_declared() -> None:
    other = Text("v VARCHAR, t BIGINT")
    assert "other columns than declared" in refused(other, Echo(), "chunk: a 5")
    assert "['t']" in refused(Text("t BIGINT"), Echo(), "chunk: 5")


def test_a_column_that_changes_its_type() -> None:
    checked = Checked(Echo())
    TEXT.run(checked, "chunk: 5 a")
    with pytest.raises(InvariantError, match="v changed its type"):
        Text("t BIGINT, v BIGINT").run(checked, "chunk: 5 5")


def test_a_barrier_that_is_swallowed() -> None:
    assert "not passed on" in refused(TEXT, Echo(swallow=True), "barrier 1")


def test_a_message_behind_the_barrier() -> None:
    assert "Watermark behind the barrier" in refused(TEXT, Echo(Watermark("t", 5)), "barrier 1")


def test_inner_is_the_executor() -> None:
    echo = Echo()
    assert Checked(echo).inner is echo
    assert Checked(echo).schema == echo.schema
