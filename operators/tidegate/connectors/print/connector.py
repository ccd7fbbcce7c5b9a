"""The `print` connector: rows as JSON lines on standard output, ``identifier> {…}``.

Rows of a changing result have their `Op.sign` before them: ``identifier> U+ {…}``.

Writers stage lines as files, the driver prints them when the epoch commits, in order. What has been
printed cannot be taken back: a driver that dies between printing and removing a staged file prints
it again (at least once; every other sink is exactly once).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from tidegate.connectors.connector import Connector
from tidegate.connectors.formats.json_encode import encode, encode_lines, joined
from tidegate.connectors.locations import open_location
from tidegate.connectors.option_types import Options
from tidegate.connectors.staging import (
    delete_staged,
    is_file,
    make_directory,
    sink_errors,
    unique_token,
    write_durable,
)
from tidegate.engine.engine import shared_engine
from tidegate.plan.nodes import Table
from tidegate.ports import Stage, StagedFile, in_order, order_of
from tidegate.types import OP, Op


class PrintOptions(Options):
    """``identifier`` stands before every line; empty: the table's name."""

    identifier: str = Field("", alias="print-identifier")
    format: Literal["json"] = "json"


class PrintWriter:
    """Implements `tidegate.ports.SinkWriter`."""

    def __init__(self, table: Table, stage: Stage) -> None:
        self._table = table
        self._filesystem, root = open_location(stage.staging)
        self._path = f"{root}/print-{stage.epoch}-{stage.writer}-{unique_token()}.json"
        self._directory = root
        self._writer = stage.writer
        self._pieces: list[bytes] = []
        self._rows = 0

    def write(self, data: pa.Table) -> None:
        if OP in data.column_names:
            lines = encode_lines(data, self._table.columns, shared_engine(), "\n")
            signs = pa.array([f"{op.sign} " for op in Op]).take(data.column(OP))
            self._pieces.append(joined(pc.binary_join_element_wise(signs, lines, "")))
        else:
            self._pieces.append(encode(data, self._table.columns, shared_engine()))
        self._rows += data.num_rows

    def close(self) -> list[StagedFile]:
        if self._rows == 0:
            return []
        content = b"".join(self._pieces)
        with sink_errors("write to", self._directory):
            make_directory(self._filesystem, self._directory)
            write_durable(self._filesystem, self._path, content)
        return [StagedFile(self._path, order_of(self._writer, 0), self._rows, len(content))]

    def abort(self) -> None:
        self._pieces.clear()
        self._rows = 0
        with suppress(OSError):  # what went wrong before says more
            if is_file(self._filesystem, self._path):
                self._filesystem.delete_file(self._path)


class PrintCommitter:
    """Implements `tidegate.ports.SinkCommitter`."""

    def __init__(
        self,
        table: Table,
        staging_base: str,
        output: Callable[[str], object] | None = None,
    ) -> None:
        self._identifier = table.option("print-identifier") or table.name
        self._filesystem, self._directory = open_location(staging_base)
        self._output = output or _to_stdout

    def prepare(self, fresh: bool) -> dict[str, str]:
        del fresh
        with sink_errors("write to", self._directory):
            make_directory(self._filesystem, self._directory)
        return {}

    def bind(self, remembered: Mapping[str, str]) -> None:
        del remembered

    def publish(self, epoch: int, staged: Sequence[StagedFile]) -> None:
        del epoch
        for path in in_order(staged):
            with sink_errors("print from", self._directory):
                if not is_file(self._filesystem, path):
                    continue  # printed before the crash
                with self._filesystem.open_input_file(path) as source:
                    text = source.read().decode()
            lines = text.split("\n")[:-1]
            self._output("".join(f"{self._identifier}> {line}\n" for line in lines))
            with sink_errors("print from", self._directory):
                self._filesystem.delete_file(path)

    def discard_unknown(self, epoch: int) -> None:
        with sink_errors("clean", self._directory):
            delete_staged(self._filesystem, self._directory, epoch)


def _to_stdout(text: str) -> None:
    with sink_errors("print to", "the standard output"):
        sys.stdout.write(text)
        sys.stdout.flush()


CONNECTOR = Connector(
    name="print",
    sink=PrintOptions,
    writer=PrintWriter,
    committer=PrintCommitter,
    takes_changes=lambda _: True,
    is_shown=True,
)
