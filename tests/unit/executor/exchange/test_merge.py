from __future__ import annotations

import pytest

from kits.executor import Text
from tidegate.errors import InvariantError
from tidegate.executor.exchange.merge import Merge
from tidegate.state import MemoryStateTable
from tidegate.types import END, Rejected, SplitStatus, Status

TEXT = Text("t BIGINT")


def a_merge(
    inputs: str = "a b", state: MemoryStateTable | None = None, columns: str = "t"
) -> Merge:
    merge = Merge(tuple(columns.split()), state or MemoryStateTable())
    merge.open(inputs.split())
    return merge


def say(merge: Merge, *lines: str) -> list[str]:
    """Each line is ``input: message``."""
    result = []
    for line in lines:
        upstream, _, message = line.partition("| ")
        result += [TEXT.show(m) for m in merge.process(upstream.strip(), TEXT.parse(message))]
    return result


def test_the_minimum_once_every_input_has_spoken() -> None:
    merge = a_merge()
    assert say(merge, "a| watermark t 5", "a| watermark t 7") == []
    assert say(merge, "b| watermark t 6") == ["watermark t 6"]
    assert say(merge, "b| watermark t 9") == ["watermark t 7"]
    assert say(merge, "b| watermark t 10") == []
    assert say(merge, "a| watermark t 8") == ["watermark t 8"]


def test_an_input_without_a_watermark_yet_holds_the_minimum() -> None:
    merge = a_merge()
    assert say(merge, "a| watermark t 5", "b| watermark t none") == []
    assert say(merge, "a| barrier 1", "b| barrier 1") == ["watermark t none", "barrier 1"]


def test_chunks_and_rejected_rows_pass_at_once_and_statuses_end() -> None:
    merge = a_merge()
    assert say(merge, "b| chunk s: 5", "a| chunk: 1") == ["chunk s: 5", "chunk: 1"]
    rejected = Rejected(None)
    assert list(merge.process("a", rejected)) == [rejected]
    assert list(merge.process("a", SplitStatus(Status.IDLE, "s"))) == []


def test_the_barrier_waits_for_all_inputs_and_the_watermark_is_repeated() -> None:
    merge = a_merge()
    say(merge, "a| watermark t 5", "b| watermark t 6")
    assert say(merge, "b| barrier 1", "a| watermark t 6") == ["watermark t 6"]
    assert say(merge, "a| barrier 1") == ["watermark t 6", "barrier 1"]


def test_idle_inputs_leave_the_minimum() -> None:
    merge = a_merge("a b c")
    assert say(merge, "a| watermark t 3 idle", "b| watermark t 8") == []
    assert say(merge, "c| watermark t 9") == ["watermark t 8"]
    barriers = say(merge, "a| barrier 1", "b| barrier 1", "c| barrier 1")
    assert barriers == ["watermark t 8", "barrier 1"]


def test_an_input_that_wakes_up_behind_holds_but_nothing_falls() -> None:
    merge = a_merge()
    say(merge, "a| watermark t 3 idle", "b| watermark t 8", "a| barrier 1", "b| barrier 1")
    # In the next epoch it must be heard before the others may go on.
    assert say(merge, "b| watermark t 20") == []
    assert say(merge, "a| watermark t 4") == []
    assert say(merge, "a| watermark t 9") == ["watermark t 9"]


def test_all_idle_is_the_maximum() -> None:
    merge = a_merge()
    assert say(merge, "a| watermark t 3 idle") == []
    assert say(merge, "b| watermark t 8 idle") == ["watermark t 8 idle"]
    assert say(merge, "a| barrier 1", "b| barrier 1") == ["watermark t 8 idle", "barrier 1"]


def test_all_idle_and_none_has_a_watermark() -> None:
    got = say(
        a_merge(),
        "a| watermark t none idle",
        "b| watermark t none idle",
        "a| barrier 1",
        "b| barrier 1",
    )
    assert got == ["watermark t none idle", "barrier 1"]


def test_finished_inputs_leave_and_when_all_are_the_stream_ends() -> None:
    merge = a_merge()
    assert say(merge, "a| watermark t end finished", "b| watermark t 4") == ["watermark t 4"]
    assert say(merge, "b| watermark t end finished") == ["watermark t end finished"]
    assert say(merge, "a| barrier 1", "b| barrier 1") == ["watermark t end finished", "barrier 1"]


def test_idle_beside_finished_is_not_the_end() -> None:
    merge = a_merge()
    got = say(merge, "a| watermark t end finished", "b| watermark t 4 idle")
    assert got == ["watermark t 4 idle"]


def test_columns_are_merged_apart_and_unknown_ones_end() -> None:
    merge = a_merge(columns="t u")
    assert say(merge, "a| watermark t 5", "b| watermark u 6", "a| watermark x 1") == []
    assert say(merge, "b| watermark t 7") == ["watermark t 5"]
    assert say(merge, "a| barrier 1", "b| barrier 1") == [
        "watermark t 5",
        "watermark u none",
        "barrier 1",
    ]
    assert merge.merged == {"t": 5, "u": None}


def test_new_inputs_hold_the_minimum_and_gone_ones_do_not() -> None:
    merge = a_merge()
    say(merge, "a| watermark t 5", "b| watermark t 6")
    merge.open(["b", "c"])
    assert say(merge, "b| watermark t 9") == []
    assert say(merge, "c| watermark t 8") == ["watermark t 8"]
    with pytest.raises(InvariantError, match="'a', which is no input"):
        say(merge, "a| watermark t 9")


def test_the_merged_watermark_survives_a_restart_and_does_not_fall() -> None:
    state = MemoryStateTable()
    say(a_merge(state=state), "a| watermark t 5", "b| watermark t 6")
    assert state.get("merged:t") is None  # not before the barrier
    merge = a_merge(state=state)
    say(merge, "a| watermark t 5", "b| watermark t 6", "a| barrier 1", "b| barrier 1")
    again = a_merge(state=state)
    assert again.merged == {"t": 5}
    assert say(again, "a| watermark t 2", "b| watermark t 3") == []
    assert say(again, "a| barrier 2", "b| barrier 2") == ["watermark t 5", "barrier 2"]


def test_the_end_survives_a_restart() -> None:
    state = MemoryStateTable()
    say(a_merge("a", state), "a| watermark t end finished", "a| barrier 1")
    assert a_merge("a", state).merged == {"t": END}


def test_without_columns_it_aligns_barriers() -> None:
    merge = a_merge(columns="")
    assert say(merge, "a| watermark t 5", "a| barrier 1", "b| barrier 1") == ["barrier 1"]
    assert say(merge, "b| barrier 2", "a| barrier 2") == ["barrier 2"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a| barrier 1", "a| barrier 1"], "Barrier from 'a' behind its barrier"),
        (["a| barrier 1", "a| chunk: 1"], "Chunk from 'a' behind its barrier"),
        (["a| barrier 1", "b| barrier 2"], "epoch 2 from 'b' while that of epoch 1 aligns"),
        (["x| barrier 1"], "a message from 'x', which is no input"),
    ],
)
def test_what_breaks_the_contract(lines: list[str], message: str) -> None:
    with pytest.raises(InvariantError, match=message):
        say(a_merge(), *lines)


def test_inputs_do_not_change_while_barriers_align() -> None:
    merge = a_merge()
    say(merge, "a| barrier 1")
    with pytest.raises(InvariantError, match="while barriers align"):
        merge.open(["a"])
