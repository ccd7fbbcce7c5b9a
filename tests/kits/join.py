"""What the tests of operators with several inputs share: messages by port, and a small join.

A line is ``port| message`` in the words of `executor_kit`; ``*|`` is all ports, one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from kits.executor import Text, leaf
from tidegate.executor.base import Executor
from tidegate.executor.checked import Checked
from tidegate.plan.joins import Join, JoinKind
from tidegate.plan.nodes import Expr
from tidegate.state import MemoryStateTable
from tidegate.types import Message

LEFT, RIGHT = "k VARCHAR, t BIGINT, v BIGINT", "q VARCHAR, u BIGINT, w BIGINT"
SIDES = Text(LEFT, RIGHT), Text(RIGHT, LEFT)
KINDS = tuple(JoinKind)


def a_join(
    kind: JoinKind = JoinKind.INNER,
    lower: int = 0,
    upper: int = 0,
    *,
    condition: Expr | None = None,
    keys: tuple[tuple[str, str], ...] = (("k", "q"),),
    follow: tuple[tuple[str, int, int], ...] = (("t", 0, 0), ("u", 1, 0)),
) -> Join:
    """``k = q AND u - t BETWEEN lower AND upper``."""
    left, right = leaf(LEFT), leaf(RIGHT)
    schema = (*left.schema, *right.schema) if kind.has_right else left.schema
    return Join(schema, left, right, kind, keys, ("t", "u"), lower, upper, condition, follow)


class States:
    """The state of both sides, which outlives executors."""

    def __init__(self) -> None:
        self.tables = (MemoryStateTable(), MemoryStateTable())

    def __call__(self, port: int) -> MemoryStateTable:
        return self.tables[port]

    @property
    def rows(self) -> tuple[int, int]:
        """How many rows each side keeps."""
        return self.tables[0].rows, self.tables[1].rows


class Said:
    """``executor`` behind `Checked`, spoken to by port."""

    def __init__(self, executor: Executor, texts: Sequence[Text] = SIDES) -> None:
        self._checked = Checked(executor)
        self._texts = texts

    def __call__(self, *lines: str) -> list[str]:
        """All answers; rows that follow each other are one chunk, in the order of their text."""
        shown = []
        for line in lines:
            answers = map(self._texts[0].show, self._answers(line))
            for is_rows, group in groupby(answers, lambda text: text.startswith("chunk")):
                if is_rows:
                    rows = "; ".join(text.removeprefix("chunk: ") for text in group).split("; ")
                    shown.append(f"chunk: {'; '.join(sorted(rows))}")
                else:
                    shown += group
        return shown

    def rows(self, *lines: str) -> list[str]:
        """The answers without watermarks and barriers: the rows, one by one."""
        chunks = [line for line in self(*lines) if line.startswith("chunk")]
        return [row for chunk in chunks for row in chunk.removeprefix("chunk: ").split("; ")]

    def _answers(self, line: str) -> Iterator[Message]:
        named, _, text = line.partition("| ")
        for port in range(self._checked.ports) if named == "*" else [int(named)]:
            yield from self._checked.process(self._texts[port].parse(text), port)
