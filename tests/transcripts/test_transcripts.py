"""Transcripts: an operator, what comes in, what must come out, and nothing more.

A file holds ``operator``, its ``config``, the ``columns`` of its input, and ``steps``; each step is
one input message and *all* messages that it must lead to, as text (see `kits.executor`). An
operator with several inputs has them in ``inputs``, and its messages begin with ``input|``. Every
other operator runs inside `Checked`.

``must_fail: <text>`` says that `Checked` (or the operator) refuses the last step with an error that
holds the text, and stays silent from then on; operator ``recorded`` gives the step's ``out`` as it
stands, which stands for an operator that is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kits.executor import ENGINE, Text, expr, leaf, schema
from tidegate.errors import InvariantError
from tidegate.executor.aggregation.final_aggregate import FinalAggregateExecutor
from tidegate.executor.aggregation.partial_aggregate import PartialAggregateExecutor
from tidegate.executor.base import Executor
from tidegate.executor.checked import Checked
from tidegate.executor.exchange.merge import Merge
from tidegate.executor.sorting.merge_sort import MergeSortExecutor
from tidegate.executor.sorting.sort import SortExecutor
from tidegate.executor.watermarks.watermark_filter import WatermarkFilterExecutor
from tidegate.executor.windows.tumble import TumbleExecutor
from tidegate.plan import aggregates, nodes, physical, strategies, windows
from tidegate.state import MemoryStateTable
from tidegate.types import Barrier, Chunk, Message

FILES = sorted(Path(__file__).parent.glob("*.yaml"))
Config = dict[str, Any]


class Recorded(Executor):
    """Gives what the transcript says, whatever comes in."""

    def __init__(self, columns: str) -> None:
        self.schema = schema(columns)
        self.answers: list[Message] = []

    def process(self, message: Message, port: int = 0) -> Iterator[Message]:
        del message, port
        yield from self.answers

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        return self.process(chunk)


def _watermark_filter(config: Config, columns: str) -> Executor:
    below = leaf(columns)
    column = config["column"]
    strategy = expr(config["strategy"], below.column_of(column).type, column)
    skew, unit = config.get("skew_us", 0), config.get("unit_us", 1)
    adaptive = config.get("adaptive")
    if adaptive is not None:
        margins = tuple(adaptive.get("margins", {}).items())
        adaptive = strategies.Adaptive(**{**adaptive, "margins": margins})
    periodic, before = config.get("periodic_us", 0), config.get("before", "")
    output = schema(config["output"]) if before else below.schema
    node = nodes.WatermarkFilter(
        output, below, "f", "acc", column, strategy, skew, unit, adaptive, periodic, before
    )
    executor = WatermarkFilterExecutor(
        node, "table", config.get("split", "s0"), ENGINE, MemoryStateTable()
    )
    executor.begin_epoch(config.get("epoch_time_us", 0))
    return executor


def _tumble(config: Config, columns: str) -> Executor:
    below = leaf(columns)
    column = below.column_of(config["column"])
    added = schema(f"window_start {column.type}, window_end {column.type}")
    return TumbleExecutor(
        windows.Tumble((*below.schema, *added), below, column.name, config["size"])
    )


def _sort_node(config: Config, columns: str) -> nodes.Sort:
    below = leaf(columns)
    return nodes.Sort(below.schema, below, config["column"], tuple(config.get("ties", ())))


def _sort(config: Config, columns: str) -> Executor:
    hidden = tuple(config.get("hidden", ()))
    sort = _sort_node(config, columns)
    runs = physical.SortRuns(sort.schema, sort.input, sort, hidden)
    return SortExecutor(runs, ENGINE, MemoryStateTable())


def _merge_sort(config: Config, columns: str) -> Executor:
    return MergeSortExecutor(_sort_node(config, columns), tuple(config.get("drop", ())), ENGINE)


def _aggregate(config: Config) -> aggregates.Aggregate:
    below = leaf(config["input"])
    keys = tuple(config["keys"].split())
    calls = tuple(
        aggregates.AggregateCall(schema(call["output"])[0], call["function"], call.get("argument"))
        for call in config["calls"]
    )
    outputs = tuple(call.output for call in calls)
    columns = tuple(below.column_of(key) for key in keys)
    return aggregates.Aggregate((*columns, *outputs), below, keys, calls, config["closing_key"])


def _final_aggregate(config: Config, _: str) -> Executor:
    derived = tuple(config.get("derived", {}).items())
    node = _aggregate(config)
    final = physical.FinalAggregate(node.schema, node.input, node, derived)
    return FinalAggregateExecutor(final, ENGINE, MemoryStateTable())


def _partial_aggregate(config: Config, _: str) -> Executor:
    return PartialAggregateExecutor(_aggregate(config), ENGINE)


OPERATORS: dict[str, Callable[[Config, str], Executor]] = {
    "watermark_filter": _watermark_filter,
    "tumble": _tumble,
    "sort": _sort,
    "merge_sort": _merge_sort,
    "partial_aggregate": _partial_aggregate,
    "final_aggregate": _final_aggregate,
}


class Transcript:
    """A transcript being played."""

    def __init__(self, script: Config) -> None:
        columns = script["columns"]
        hidden = script.get("hidden", "")
        self.text = Text(f"{columns}, {hidden}" if hidden else columns, script.get("others", ""))
        self.recorded: Recorded | None = None
        self.play: Callable[[str], list[str]]
        if script["operator"] == "merge":
            self._merge = Merge(tuple(script["config"]["columns"].split()), MemoryStateTable())
            self._merge.open(script["inputs"].split())
            self.play = self._play_merge
            return
        if script["operator"] == "recorded":
            executor: Executor = Recorded(columns)
            assert isinstance(executor, Recorded)
            self.recorded = executor
        else:
            executor = OPERATORS[script["operator"]](script.get("config", {}), columns)
        self._checked = Checked(executor)
        self.play = lambda line: self.text.run(self._checked, line)

    def _play_merge(self, line: str) -> list[str]:
        upstream, _, message = line.partition("| ")
        found = self._merge.process(upstream, self.text.parse(message))
        return [self.text.show(answer) for answer in found]

    def step(self, step: Config) -> list[str]:
        if self.recorded is not None:
            self.recorded.answers = [self.text.parse(line) for line in step.get("out", [])]
        return self.play(step["in"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    script = yaml.safe_load(path.read_text())
    must_fail = script.get("must_fail")
    transcript = Transcript(script)
    steps = script["steps"]
    for number, step in enumerate(steps[:-1] if must_fail else steps, 1):
        found = transcript.step(step)
        assert found == step.get("out", []), f"{path.name}, step {number}: {step['in']}"
    if must_fail:
        with pytest.raises(InvariantError) as failure:
            transcript.step(steps[-1])
        assert must_fail in str(failure.value)
        if script["operator"] != "merge":
            with pytest.raises(InvariantError, match=failure.value.message.split("(")[0]):
                list(transcript._checked.process(Barrier(10**6, 0)))


def test_there_are_transcripts_of_both_kinds() -> None:
    failing = [path for path in FILES if "must_fail:" in path.read_text()]
    assert failing
    assert len(FILES) > len(failing)
