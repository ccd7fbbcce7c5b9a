"""The `print` connector: rows as JSON lines on standard output, ``identifier> {…}``.

Rows of a changing result have their `Op.sign` before them: ``identifier> U+ {…}``.

Writers stage lines as files, the driver prints them when the epoch commits, in order. What has been
printed cannot be taken back: a driver that dies between printing and removing a staged file prints
it again (at least once; every other sink is exactly once).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from tidegate.connectors.connector import Connector
from tidegate.connectors.formats.json_encode import encode, encode_lines, joined
from tidegate.connectors.option_types import Options
from tidegate.connectors.staging import Stager, Staging, is_file, read_staged, sink_errors
from tidegate.engine.engine import shared_engine
from tidegate.plan.tables import Table
from tidegate.ports import StagedFile, in_order
from tidegate.types import OP, Op


class PrintOptions(Options):
    """``identifier`` stands before every line; empty: the table's name."""

    identifier: str = Field("", alias="print-identifier")
    format: Literal["json"] = "json"


class PrintWriter(Stager):
    """Stages the lines of the table's rows."""

    name = "print-{}.json"

    def _encoded(self, parts: Sequence[pa.Table]) -> bytes:
        return b"".join(map(self._lines, parts))

    def _lines(self, data: pa.Table) -> bytes:
        if OP not in data.column_names:
            return encode(data, self._columns, shared_engine())
        lines = encode_lines(data, self._columns, shared_engine(), "\n")
        signs = pa.array([f"{op.sign} " for op in Op]).take(data.column(OP))
        return joined(pc.binary_join_element_wise(signs, lines, ""))


class PrintCommitter:
    """Implements `tidegate.ports.ErasingCommitter`: nobody keeps what was printed."""

    def __init__(
        self,
        table: Table,
        staging_base: str,
        output: Callable[[str], object] | None = None,
    ) -> None:
        self._identifier = table.option("print-identifier") or table.name
        self._staging = Staging(staging_base)
        self._output = output or _to_stdout

    def prepare(self, fresh: bool) -> dict[str, str]:
        del fresh
        self._staging.make()
        return {}

    def bind(self, remembered: Mapping[str, str]) -> None:
        del remembered

    def erases(self) -> bool:
        return True

    def erase(self, remembered: Mapping[str, str]) -> int:
        del remembered
        return 0

    def publish(self, epoch: int, staged: Sequence[StagedFile]) -> None:
        del epoch
        filesystem, directory = self._staging.filesystem, self._staging.directory
        for file in in_order(staged):
            with sink_errors("print from", directory):
                if not is_file(filesystem, file.path):
                    continue  # printed before the crash
                lines = read_staged(filesystem, file).decode().split("\n")[:-1]
            self._output("".join(f"{self._identifier}> {line}\n" for line in lines))
            with sink_errors("print from", directory):
                filesystem.delete_file(file.path)

    def discard_unknown(self, epoch: int) -> None:
        self._staging.discard(epoch)


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
