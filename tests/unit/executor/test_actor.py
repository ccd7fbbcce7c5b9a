"""Actors: splits merged, exchanges by split, branches of one account."""

from __future__ import annotations

from kits.actor import States, actor, barrier, plan, rows, shown
from tidegate.executor.actor import NO_SPLIT, Actor
from tidegate.types import Chunk, Message, SplitStatus, Status, Watermark

ACTIVE, FINISHED = Status.ACTIVE, Status.FINISHED
TUMBLE = (
    "SELECT window_end, count(*) AS n FROM TUMBLE(marked, t, 10)"
    " GROUP BY window_end EMIT ON WINDOW CLOSE"
)


def test_the_splits_of_a_reader_are_merged() -> None:
    reader = actor(plan("SELECT t, v FROM marked"), 0)
    reader.open_splits(["a", "b"], 1)
    assert shown(reader.on_source("a", rows("3 0; 7 1; 4 2", malformed=1))) == [
        "0>* chunk: 3 0; 7 1",
        "ledger rejected: late 2 4 5 1",
        "ledger rejected: malformed 3 . . .",
    ]
    assert shown(reader.on_source("b", rows("1 0; 5 1"))) == [
        "0>* chunk: 1 0; 5 1",
        "0>* watermark t 3",
    ]
    assert shown(reader.close_splits({"a": ACTIVE, "b": ACTIVE}, barrier(1))) == [
        "0>* watermark t 3",
        "0>* barrier 1",
    ]


def test_a_reader_without_splits_speaks_and_holds_nobody() -> None:
    reader = actor(plan(TUMBLE), 0)
    reader.open_splits([], 1)
    assert shown(reader.close_splits({NO_SPLIT: Status.IDLE}, barrier(1))) == [
        "0>* watermark window_end none idle",
        "0>* barrier 1",
    ]


def test_a_reader_whose_splits_have_ended() -> None:
    reader = actor(plan("SELECT t FROM marked"), 0)
    reader.open_splits(["a"], 1)
    assert shown(reader.close_splits({"a": FINISHED}, barrier(1)))[-2:] == [
        "0>* watermark t end finished",
        "0>* barrier 1",
    ]


def test_two_branches_of_one_account_count_each_row_once() -> None:
    reader = actor(
        plan("SELECT t FROM marked WHERE v > 1", "SELECT t FROM marked WHERE v < 3 AND v > 0"), 0
    )
    reader.open_splits(["a", "b"], 1)
    assert shown(reader.on_source("a", rows("3 0; 4 2; 5 4; 6 9"))) == [
        "0>* chunk: 4; 5; 6",
        "1>* chunk: 4",
    ]
    list(reader.on_source("b", rows("3 1; 4 2")))
    list(reader.close_splits({"a": ACTIVE, "b": ACTIVE}, barrier(1)))
    assert {report.split: report.counts.used for report in reader.reports()} == {"a": 3, "b": 2}


# Behind an exchange by split


def _from(split: str, text: str, first: int = 0) -> Chunk:
    return Chunk(rows(text, first).data, split)


def _says(actor_: Actor, upstream: str, *messages: Message) -> list[str]:
    return [line for m in messages for line in shown(actor_.on_message(0, upstream, m))]


def _by_split(states: States | None = None) -> Actor:
    one = actor(plan("SELECT t, v FROM marked", pushdown=False), 1, states)
    one.open_upstreams(0, ["0", "1"])
    one.begin_epoch(1)
    return one


def test_a_split_that_is_announced_late_holds_the_watermark() -> None:
    one = _by_split()
    announced = SplitStatus(ACTIVE, "a"), barrier(1)
    assert _says(one, "0", _from("a", "3 0; 9 1"), *announced) == ["0>* chunk: 3 0; 9 1"]
    # Had the 7 of split a gone out by now, this row would be below it.
    assert _says(one, "1", _from("b", "5 0"), SplitStatus(ACTIVE, "b")) == ["0>* chunk: 5 0"]
    said = _says(one, "1", barrier(1))
    assert list(dict.fromkeys(said)) == ["0>* watermark t 3", "0>* barrier 1"]


def test_a_split_without_rows_holds_the_watermark() -> None:
    one = _by_split()
    _says(one, "0", _from("a", "3 0; 9 1"), SplitStatus(ACTIVE, "a"), barrier(1))
    said = _says(one, "1", SplitStatus(ACTIVE, "empty"), barrier(1))
    assert said == ["0>* watermark t none", "0>* barrier 1"]


def _in_its_second_epoch() -> Actor:
    """Split a has stood in it alone, and has brought it to 7."""
    one = _by_split()
    _says(one, "0", _from("a", "3 0; 9 1"), SplitStatus(ACTIVE, "a"), barrier(1))
    assert "0>* watermark t 7" in _says(one, "1", barrier(1))
    one.open_upstreams(0, ["0"])
    one.begin_epoch(2)
    return one


def test_a_split_that_joins_later_holds_the_watermark() -> None:
    """The merge behind the exchange keeps what it had reached; it may have reached less."""
    one = _in_its_second_epoch()
    said = _says(one, "0", _from("a", "20 0", 2), SplitStatus(ACTIVE, "c"), barrier(2))
    assert said == ["0>* chunk: 20 0", "0>* watermark t none", "0>* barrier 2"]


def test_a_split_that_joins_below_those_beside_it_is_heard() -> None:
    """An upstream of another actor had held all back: nobody was past the row at 4."""
    one = _in_its_second_epoch()
    _says(one, "0", _from("c", "4 0"), SplitStatus(Status.IDLE, "a"), SplitStatus(ACTIVE, "c"))
    assert "0>* watermark t 2" in _says(one, "0", barrier(2))


def test_an_actor_behind_an_exchange_that_has_no_split() -> None:
    one = _by_split()
    assert _says(one, "0", barrier(1)) == []
    assert _says(one, "1", barrier(1)) == ["0>* watermark t none idle", "0>* barrier 1"]


def test_a_restart_goes_on_from_the_barrier() -> None:
    states = States()
    one = _by_split(states)
    _says(one, "0", _from("a", "3 0; 9 1"), SplitStatus(ACTIVE, "a"), barrier(1))
    _says(one, "1", barrier(1))
    again = _by_split(states)
    assert _says(again, "0", _from("a", "6 0; 8 0", 2)) == [
        "0>* chunk: 8 0",
        "ledger rejected: late 2 6 7 1",
    ]
    assert again.merged_watermarks() == {"t": None}, "it is said when all splits have spoken"


# Behind an exchange by hash


def test_windows_close_when_all_upstreams_have_passed_them() -> None:
    of = plan(TUMBLE)
    readers = [actor(of, 0, instance=number) for number in range(2)]
    final = actor(of, 1)
    final.open_upstreams(0, ["0", "1"])
    final.begin_epoch(1)
    said = []
    for number, text in enumerate(("3 0; 17 1; 33 0", "4 0; 12 0")):
        split = f"s{number}"
        readers[number].open_splits([split], 1)
        emissions = list(readers[number].on_source(split, rows(text)))
        emissions += readers[number].close_splits({split: ACTIVE}, barrier(1))
        for emission in emissions:
            # All vnodes' rows to one actor: it does not know better.
            said.append(shown(final.on_message(0, str(number), emission.message)))
    closed = [line for lines in said for line in lines]
    assert closed[:1] == ["0>* chunk: 10 2"]
    assert closed[-2:] == ["0>* watermark window_end 20", "0>* barrier 1"]


def test_nothing_is_said_while_an_upstream_is_silent() -> None:
    final = actor(plan(TUMBLE), 1)
    final.open_upstreams(0, ["0", "1"])
    final.begin_epoch(1)
    assert shown(final.on_message(0, "0", Watermark("window_end", 40))) == []
