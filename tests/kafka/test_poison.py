"""T13: the malformed messages, and only those, are set aside; the oracle is the judge."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

import pytest

from kafka.epochs import Run
from kafka.kit import Kit, Put
from kafka.poison import COLUMNS, messages
from oracle.decode import BadRow, Column, Row, Table, read_split
from tidegate.types import OFFSET, RECORD

TABLE = Table(
    "t",
    (
        Column("i", "INT"),
        Column("a", "BIGINT"),
        Column("d", "DOUBLE"),
        Column("m", "DECIMAL(10,2)"),
        Column("f", "BOOLEAN"),
        Column("v", "VARCHAR"),
        Column("t", "TIMESTAMP"),
        Column("s", "STRUCT", (Column("x", "BIGINT"), Column("y", "VARCHAR"))),
    ),
)
COUNT = 10_000


def judged(message: bytes | None) -> dict[str, Any] | None:
    """The row that the oracle sees in a message; None: it is malformed.

    The oracle reads lines. A line end that is left in a message stands between two tokens.
    """
    line = (message or b"").replace(b"\n", b" ")
    rows = list(read_split(TABLE, "split", [line]))
    assert len(rows) <= 1
    match rows:
        case [Row() as row]:
            return row.values
        case [BadRow()] | []:
            return None
    raise AssertionError(rows)


@pytest.mark.parametrize("seed", [1, 2])
def test_poison_between_good_messages(kafka: Kit, seed: int) -> None:
    topic = kafka.topic("poison", settings={"max.message.bytes": str(20 << 20)})
    poison = messages(seed, COUNT // 2)
    kafka.put(topic, 0, [Put(message) for message in poison])
    run = Run(kafka.source(topic, *COLUMNS))
    rng = random.Random(seed)
    good: dict[int, dict[str, Any]] = {}
    bad: dict[int, bytes | None] = {}
    while len(good) + len(bad) < len(poison):
        epoch = run.epoch(rng.choice([1, 100, 3_000]))
        for read in epoch.rows[f"{topic}-0"]:
            offset = read.pop(OFFSET)
            assert read.pop(RECORD) == poison[offset]
            good[offset] = read
        bad |= dict(epoch.malformed[f"{topic}-0"])
    wanted = [judged(message) for message in poison]
    for offset, row in enumerate(wanted):
        told = f"seed {seed}, offset {offset}: {(poison[offset] or b'')[:300]!r}"
        if row is None:
            assert offset in bad, f"{told} was read as {good[offset]}"
            assert bad[offset] == poison[offset]
        else:
            assert offset in good, f"{told} is not malformed: {row}"
            assert same(good[offset]) == row, told
    assert 0.3 < len(bad) / len(poison) < 0.7


def same(row: dict[str, Any]) -> dict[str, Any]:
    """A row of ours in the oracle's values: timestamps are microseconds."""
    moment = row["t"]
    if moment is None:
        return row
    return row | {"t": (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)}
