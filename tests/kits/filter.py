"""What a watermark filter and the oracle make of one split, so that they can be compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from oracle import Judgement
from tidegate.types import BROKER_TIME, OFFSET, Chunk, Message, Rejected


@dataclass
class Outcome:
    """(offset, time, watermark before it) of accepted rows; refused ones; the last watermark.

    The column of times is ``n``, that of the watermark before the row ``w``.
    """

    accepted: list[tuple[Any, ...]]
    refused: list[tuple[Any, ...]]
    watermark: int | None

    @classmethod
    def of(cls, judgement: Judgement) -> Outcome:
        """The oracle's, of split ``s``."""
        return cls(
            [(row.offset, row.values["n"], row.values["w"]) for row in judgement.rows],
            [(row.offset, row.reason, row.watermark, row.lateness) for row in judgement.ledger],
            judgement.watermarks["s"]["n"],
        )

    def add(self, messages: Iterable[Message]) -> None:
        """The rows among what a filter says."""
        for message in messages:
            if isinstance(message, Chunk):
                assert BROKER_TIME not in message.data.column_names
                rows = message.data.to_pylist()
                self.accepted += [(row[OFFSET], row["n"], row["w"]) for row in rows]
            elif isinstance(message, Rejected):
                self.refused += [
                    (row["offset"], row["reason"], row["watermark"], row["lateness"])
                    for row in message.data.to_pylist()
                ]
