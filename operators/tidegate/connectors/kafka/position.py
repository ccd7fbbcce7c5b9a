"""Where a split of a topic stands: ``[offset, topic id, stop, begin]``, JSON.

``offset`` is the next one to be read. The topic's id tells it from another topic of the same name,
shorter or longer. ``stop`` is where a bounded table ends, fixed when the split joins; None for one
without end. ``begin`` is the offset at which the split joined.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.errors import TrustError
from tidegate.ports import Position


@dataclass(frozen=True, slots=True)
class KafkaPosition:
    """A `Position` of a split of a topic."""

    offset: int
    topic_id: str
    stop: int | None
    begin: int

    @property
    def is_finished(self) -> bool:
        """Whether a bounded table has been read to its end here."""
        return self.stop is not None and self.offset >= self.stop

    @property
    def json(self) -> Position:
        # A list of what JSON can hold; -1 stands for no stop, since offsets are not negative.
        stop = -1 if self.stop is None else self.stop
        return [self.offset, self.topic_id, stop, self.begin]


def kafka_position(position: Position) -> KafkaPosition | None:
    """Reads a `Position`. Raises TrustError on anything that this connector did not write."""
    match position:
        case None:
            return None
        case [int(offset), str(topic_id), int(stop), int(begin)]:
            return KafkaPosition(offset, topic_id, None if stop < 0 else stop, begin)
    raise TrustError(f"the checkpoint holds an unreadable position in a topic: {position!r}")


def split_name(topic: str, partition: int) -> str:
    """``topic-partition`` (S7)."""
    return f"{topic}-{partition}"


def topic_partition(split: str) -> tuple[str, int]:
    """The inverse of `split_name`: a topic's name may have dashes, a partition has none.

    Raises TrustError on a name that is none of ours.
    """
    topic, _, partition = split.rpartition("-")
    if not topic or not partition.isdecimal():
        raise TrustError(f"the checkpoint names '{split}', which is not a partition of a topic")
    return topic, int(partition)
