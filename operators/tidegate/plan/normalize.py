"""Normalize: the rows of a changing table, by what its records say (S13)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tidegate.plan.nodes import Node, Sink, Unary
from tidegate.plan.texts import by


@dataclass(frozen=True, slots=True)
class Normalize(Unary):
    """The rows that a changing table has, by ``keys``, of what its splits put and delete (S13).

    What leaves is what the table has really lost and got. A key that comes from another split than
    its row is refused, unless ``version`` says which is newer. ``account`` is that of the scan of
    ``table``. ``history`` names a time column: then all that a row was leaves, with `BEFORE` of it,
    and not only what has become of it at the barrier.
    """

    stateful: ClassVar[bool] = True
    gives_splits: ClassVar[bool] = False

    keys: tuple[str, ...]
    version: tuple[str, ...]
    table: str
    account: str
    history: str = ""

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        return (wanted | {*self.keys, *self.version},)

    @property
    def title(self) -> str:
        newest = f", the greatest {', '.join(self.version)} counts" if self.version else ""
        return f"Normalize {self.table}{by(self.keys)}{newest}"

    @property
    def state(self) -> Iterator[str]:
        yield "state: the row of each key"
        if self.version:
            yield "state: the version at which a key was deleted"


def with_one_history(sinks: Sequence[Sink]) -> list[Sink]:
    """``sinks``, of which a table that somebody reads with its history is read so by all: it is
    kept once, and what is refused is told once."""
    told = {
        replace(node, history=""): node
        for sink in sinks
        for node in sink.walk()
        if isinstance(node, Normalize) and node.history
    }

    def shared(node: Node) -> Node:
        node = node.on([shared(below) for below in node.inputs])
        return told.get(node, node) if isinstance(node, Normalize) else node

    return [replace(sink, input=shared(sink.input)) for sink in sinks] if told else list(sinks)
