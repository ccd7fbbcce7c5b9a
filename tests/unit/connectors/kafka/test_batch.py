"""Messages to arrays: the parts that are wanted, and the broker's stamps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, Message

from tidegate.connectors.kafka.batch import Wanted, batch_of, joined
from unit.connectors.kafka.kafka_kit import message

CREATED, STAMPED = TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME
ALL = Wanted(keys=True, times=True, headers=True, epochs=True)


def messages(*kinds: int, first: int = 0) -> list[Message]:
    return [
        message(first + n, b"%d" % n, key=b"k", timestamp=(kind, 10 + n), leader_epoch=n)
        for n, kind in enumerate(kinds)
    ]


def test_what_is_not_wanted_is_not_there() -> None:
    batch = batch_of(messages(CREATED, CREATED), Wanted())
    assert (batch.offsets.tolist(), batch.values.to_pylist()) == ([0, 1], [b"0", b"1"])
    assert (batch.keys, batch.times, batch.headers, batch.epochs) == (None, None, None, None)
    assert (batch.rows, batch.bytes > 0) == (2, True)


def test_what_is_wanted() -> None:
    parts: dict[str, Any] = {"headers": [("a", b"1"), ("a", None)], "timestamp": (CREATED, 5)}
    batch = batch_of([message(7, None, **parts), *messages(CREATED, first=9)], ALL)
    assert batch.offsets.tolist() == [7, 9]
    assert batch.values.to_pylist() == [None, b"0"]
    assert batch.keys is not None
    assert batch.keys.to_pylist() == [None, b"k"]
    assert batch.times is not None
    assert batch.times.tolist() == [[CREATED, 5], [CREATED, 10]]
    assert batch.headers == [[("a", b"1"), ("a", None)], None]
    assert batch.epochs == [None, 0]


@pytest.mark.parametrize(
    ("kinds", "asked"),
    [
        ((CREATED,), False),
        ((CREATED, CREATED, CREATED), False),
        ((STAMPED,), True),
        ((STAMPED, CREATED), True),
        ((CREATED, CREATED, STAMPED), True),
        ((STAMPED, STAMPED, STAMPED), True),
    ],
)
def test_times_are_taken_where_the_broker_stamps(kinds: tuple[int, ...], asked: bool) -> None:
    times = batch_of(messages(*kinds), Wanted()).times
    assert (times is not None) is asked
    if times is not None:
        assert times.tolist() == [[kind, 10 + n] for n, kind in enumerate(kinds)]


def test_joined_batches_are_one() -> None:
    parts = [messages(CREATED), messages(CREATED, CREATED, first=5), messages(CREATED, first=9)]
    whole = batch_of([message for part in parts for message in part], ALL)
    found = joined([batch_of(part, ALL) for part in parts])
    assert found.offsets.tolist() == whole.offsets.tolist() == [0, 5, 6, 9]
    assert found.values.equals(whole.values)
    assert found.keys is not None
    assert found.keys.equals(whole.keys)
    assert found.times is not None
    assert whole.times is not None
    assert np.array_equal(found.times, whole.times)
    assert (found.headers, found.epochs) == (whole.headers, whole.epochs)


def test_of_pieces_of_which_some_are_stamped_the_others_are_not() -> None:
    pieces = [batch_of(messages(kind, first=n), Wanted()) for n, kind in enumerate((1, 2, 1))]
    times = joined(pieces).times
    assert times is not None
    assert times[:, 0].tolist() == [CREATED, STAMPED, CREATED]
    assert times[1].tolist() == [STAMPED, 10]
    assert joined([pieces[0], pieces[2]]).times is None
    assert joined(pieces[:1]) is pieces[0]
