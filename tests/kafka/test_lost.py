"""T11: retention removes what was not read. Nothing is skipped in silence."""

from __future__ import annotations

from typing import Any

import pytest

from kafka.epochs import ENGINE, Run, Transaction, ended_at, values
from kafka.kit import Kit
from tidegate.connectors.kafka.consumers import Consumers
from tidegate.connectors.kafka.reader import KafkaReader
from tidegate.errors import TrustError
from tidegate.ports import SplitRange

COLUMN = ("a", "BIGINT")
GO_ON: dict[str, Any] = {"scan_fail__on__data__loss": "false"}


def standing_at_five(kafka: Kit, *, cached: bool = False, **options: Any) -> Run:
    """Five rows are read, fifteen more are there, of which the worker has fetched none.

    ``cached``: or perhaps some, since its consumer goes on.
    """
    topic = kafka.topic("lost")
    kafka.put(topic, 0, values(*range(5)))
    run = Run(kafka.source(topic, COLUMN, **options))
    assert run.epoch().column("a") == [0, 1, 2, 3, 4]
    if not cached:
        run.workers = [Consumers()]
    kafka.put(topic, 0, values(*range(5, 20)))
    return run


def split_of(run: Run) -> str:
    (split,) = run.positions
    return split


def topic_of(run: Run) -> str:
    return split_of(run).removesuffix("-0")


def test_lost_offsets_stop_the_job_with_their_range(kafka: Kit) -> None:
    run = standing_at_five(kafka)
    kafka.remove_before(topic_of(run), 0, 12)
    plans = run.plan()
    told = f"table 't': offsets 5 to 11 of partition 0 of topic '{topic_of(run)}' are lost"
    for _ in range(2):
        with pytest.raises(TrustError, match=told) as caught:
            run.read(plans)
        assert "'scan.fail-on-data-loss' = 'false'" in caught.value.hint
        assert caught.value.exit_code == 4


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8, None])
def test_a_gap_over_any_number_of_epochs_is_reported_exactly(kafka: Kit, size: int | None) -> None:
    run = standing_at_five(kafka, **GO_ON)
    kafka.remove_before(topic_of(run), 0, 12)
    epochs = [run.epoch(size) for _ in range(16)]
    lost = [gap for epoch in epochs for gap in epoch.lost.get(split_of(run), ())]
    assert [a for epoch in epochs for a in epoch.column("a")] == list(range(12, 20))
    assert [offset for begin, end in lost for offset in range(begin, end)] == list(range(5, 12))
    assert size is not None or lost == [(5, 12)]
    assert epochs[-1].lost == {}


def test_what_a_kept_consumer_had_fetched_and_what_is_lost_are_all(kafka: Kit) -> None:
    run = standing_at_five(kafka, cached=True, **GO_ON)
    kafka.remove_before(topic_of(run), 0, 12)
    epochs = [run.epoch(4) for _ in range(5)]
    lost = [gap for epoch in epochs for gap in epoch.lost.get(split_of(run), ())]
    gone = [offset for begin, end in lost for offset in range(begin, end)]
    read = [a for epoch in epochs for a in epoch.column("a")]
    assert sorted(read + gone) == list(range(5, 20))
    assert all(5 <= offset < 12 for offset in gone)


def test_a_gap_that_begins_in_the_middle_of_an_epoch(kafka: Kit) -> None:
    """The first chunk is out of the reader's hands when the rest goes away.

    What the client has fetched by then is a third of it.
    """
    topic = kafka.topic("middle")
    count = 160_000
    kafka.put(topic, 0, (b'{"a": %d, "other": "%s"}' % (n, b"x" * 200) for n in range(count)))
    run = Run(kafka.source(topic, COLUMN, **GO_ON))
    (split,) = plans = run.plan()
    reader = KafkaReader(run.table, ENGINE, consumers=run.workers[0])
    chunks = reader.read([SplitRange(split, None, plans[split].end)])
    read = next(chunks)[1].data["a"].to_pylist()
    kafka.remove_before(topic, 0, count - 10)
    for _, chunk in chunks:
        read += chunk.data["a"].to_pylist()
    (gap,) = reader.take_lost()[split]
    assert len(read) - 10 == gap[0] < gap[1] == count - 10
    assert read == [*range(gap[0]), *range(*[count - 10, count])]
    assert reader.take_lost() == {}


def test_all_that_is_left_is_lost(kafka: Kit) -> None:
    run = standing_at_five(kafka, **GO_ON)
    kafka.remove_before(topic_of(run), 0, 20)
    epoch = run.epoch()
    assert (epoch.column("a"), epoch.lost) == ([], {split_of(run): [(5, 20)]})
    kafka.put(topic_of(run), 0, values(20))
    assert run.epoch().column("a") == [20]


def test_more_is_lost_than_was_planned(kafka: Kit) -> None:
    """Retention passes the end of the epoch between plan and read."""
    run = standing_at_five(kafka, **GO_ON)
    plans = run.plan(4)
    kafka.remove_before(topic_of(run), 0, 15)
    epoch = run.read(plans)
    assert (epoch.column("a"), epoch.lost) == ([], {split_of(run): [(5, 9)]})
    run.commit(epoch)
    epoch = run.epoch()
    assert epoch.column("a") == list(range(15, 20))
    assert epoch.lost == {split_of(run): [(9, 15)]}


def test_what_is_lost_before_the_first_epoch_was_never_there(kafka: Kit) -> None:
    topic = kafka.topic("begins later")
    kafka.put(topic, 0, values(*range(10)))
    kafka.remove_before(topic, 0, 4)
    run = Run(kafka.source(topic, COLUMN))
    assert run.epoch().column("a") == [4, 5, 6, 7, 8, 9]


def test_a_start_that_retention_has_passed_is_a_loss(kafka: Kit) -> None:
    topic = kafka.topic("starts too early")
    kafka.put(topic, 0, values(*range(10)))
    kafka.remove_before(topic, 0, 4)
    options: dict[str, Any] = {
        "scan_startup_mode": "specific-offsets",
        "scan_startup_specific__offsets": "partition:0,offset:2",
    }
    with pytest.raises(TrustError, match="offsets 2 to 3 of partition 0"):
        Run(kafka.source(topic, COLUMN, **options)).epoch()
    epoch = Run(kafka.source(topic, COLUMN, **options, **GO_ON)).epoch()
    assert (epoch.column("a")[0], epoch.lost) == (4, {f"{topic}-0": [(2, 4)]})


def test_a_transaction_that_retention_cuts(kafka: Kit) -> None:
    run = standing_at_five(kafka, **GO_ON)
    topic = topic_of(run)
    transaction = Transaction(kafka)
    transaction.put(topic, 0, values(20, 21, 22))
    transaction.commit()
    ended_at(kafka, topic, 24)
    kafka.remove_before(topic, 0, 22)
    epoch = run.epoch()
    assert (epoch.column("a"), epoch.lost) == ([22], {split_of(run): [(5, 22)]})
    kafka.remove_before(topic, 0, 24)
    kafka.put(topic, 0, values(24))
    assert run.epoch().column("a") == [24]
