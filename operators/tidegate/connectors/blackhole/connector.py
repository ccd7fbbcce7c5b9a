"""The `blackhole` connector: takes rows and changes, counts them, forgets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import pyarrow as pa

from tidegate.connectors.connector import Connector
from tidegate.connectors.option_types import Options
from tidegate.ports import StagedFile


class BlackholeOptions(Options):
    """Of its tables."""

    format: Literal["json"] = "json"


class BlackholeWriter:
    """Implements `tidegate.ports.SinkWriter`."""

    def __init__(self) -> None:
        self.rows = 0
        self.bytes = 0

    def write(self, data: pa.Table) -> None:
        self.rows += data.num_rows
        self.bytes += data.nbytes

    def close(self) -> list[StagedFile]:
        return [StagedFile("", 0, self.rows, self.bytes)] if self.rows else []

    def abort(self) -> None:
        self.rows = self.bytes = 0


class BlackholeCommitter:
    """Implements `tidegate.ports.ErasingCommitter`."""

    def prepare(self, fresh: bool) -> dict[str, str]:
        del fresh
        return {}

    def bind(self, remembered: Mapping[str, str]) -> None:
        del remembered

    def publish(self, epoch: int, staged: Sequence[StagedFile]) -> None:
        del epoch, staged

    def discard_unknown(self, epoch: int) -> None:
        """Nothing is ever staged."""
        del epoch

    def erases(self) -> bool:
        return True

    def erase(self, remembered: Mapping[str, str]) -> int:
        """Nothing is ever kept."""
        del remembered
        return 0


CONNECTOR = Connector(
    name="blackhole",
    sink=BlackholeOptions,
    writer=lambda _, __: BlackholeWriter(),
    committer=lambda _, __: BlackholeCommitter(),
    takes_changes=lambda _: True,
)
