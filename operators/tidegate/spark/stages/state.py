"""StateTables in Spark's state store (design §2 "State").

One Spark key is one vnode, and calls to the state store cost a third of a millisecond each, so all
operators of a vnode share one value, the *index*: their small values, and for each bucket the
numbers of its runs. It is read once and written once in an epoch. Runs are entries of one map,
under (operator, number); they are written when appended and read when a bucket closes.

    index:  {"next": n, "tables": [[name, TABLE], …]}
    TABLE:  {"values": {k: base64}, "runs": {bucket: [[n, level, rows, bytes], …]}}
    runs:   n -> Arrow IPC stream

The sizes are for the metrics. Runs of a release that did not keep them count as empty. Release 0.1
has ``{name: TABLE}``, by other names (`plan.places`), and fails at a list: it would find no state.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from tidegate.phases import PHASES
from tidegate.spark.exchange.ipc import packed, unpacked


class Value(Protocol):
    """Spark's ValueState of one binary column, as far as it is used here."""

    def get(self) -> Any: ...

    def update(self, newValue: Any) -> None: ...  # noqa: N803  # Spark's own spelling


class Map(Protocol):
    """Spark's MapState from a bigint to one binary column, as far as it is used here."""

    def getValue(self, key: Any) -> Any: ...  # noqa: N802

    def updateValue(self, key: Any, value: Any) -> None: ...  # noqa: N802

    def removeKey(self, key: Any) -> None: ...  # noqa: N802


@dataclass(frozen=True, slots=True)
class Run:
    """A run in the map: its number there, its size tier, what it holds."""

    number: int
    level: int
    rows: int = 0
    bytes: int = 0


@dataclass(slots=True)
class Size:
    """What an operator keeps on a vnode; ``buckets`` ascending."""

    rows: int
    bytes: int
    runs: int
    buckets: list[int]

    def and_(self, other: Size) -> Size:
        """What both keep."""
        buckets = sorted({*self.buckets, *other.buckets})
        return Size(
            self.rows + other.rows, self.bytes + other.bytes, self.runs + other.runs, buckets
        )


class VnodeState:
    """All state of one vnode in one stage: hands out `SparkStateTable`s, saved together."""

    def __init__(self, index: Value, runs: Map, of_0_1: Callable[[str], str]) -> None:
        self._index = index
        self.runs = runs
        stored = index.get()
        self._loaded: bytes = bytes(stored[0]) if stored is not None else b"{}"
        document = json.loads(self._loaded)
        self._next: int = document.get("next", 0)
        tables = document.get("tables", [])
        if isinstance(tables, dict):
            tables = [(of_0_1(name), content) for name, content in tables.items()]
        self._tables = {name: SparkStateTable(self, content) for name, content in tables}

    def table(self, name: str) -> SparkStateTable:
        """The state table called ``name``."""
        if name not in self._tables:
            self._tables[name] = SparkStateTable(self, {})
        return self._tables[name]

    def number(self) -> int:
        """A number for a new run."""
        self._next += 1
        return self._next

    def save(self) -> None:
        """Writes the index if it changed: call once, behind the barrier."""
        contents = {name: table.content() for name, table in sorted(self._tables.items())}
        tables = [(name, content) for name, content in contents.items() if content]
        document = {"next": self._next, "tables": tables}
        encoded = json.dumps(document, separators=(",", ":")).encode()
        if encoded != self._loaded:
            with PHASES.phase("state"):
                self._index.update((encoded,))
            self._loaded = encoded

    def sizes(self, prefix: str) -> dict[str, Size]:
        """What the tables keep whose names begin with ``prefix``, by the rest of the name."""
        return {
            name.removeprefix(prefix): size
            for name, table in sorted(self._tables.items())
            if name.startswith(prefix) and (size := table.size()).runs
        }


class SparkStateTable:
    """State of one operator on one vnode."""

    def __init__(self, vnode: VnodeState, content: dict[str, Any]) -> None:
        self._vnode = vnode
        self._values = {k: base64.b64decode(v) for k, v in content.get("values", {}).items()}
        self._buckets: dict[int, list[Run]] = {
            int(bucket): [Run(*run) for run in runs]
            for bucket, runs in content.get("runs", {}).items()
        }

    def content(self) -> dict[str, Any]:
        """What the index keeps of this table."""
        content: dict[str, Any] = {}
        if self._values:
            values = {k: base64.b64encode(v).decode() for k, v in sorted(self._values.items())}
            content["values"] = values
        if self._buckets:
            content["runs"] = {
                str(bucket): [[run.number, run.level, run.rows, run.bytes] for run in runs]
                for bucket, runs in sorted(self._buckets.items())
            }
        return content

    def size(self) -> Size:
        """What the table keeps in runs."""
        runs = [run for each in self._buckets.values() for run in each]
        return Size(
            sum(run.rows for run in runs), sum(run.bytes for run in runs), len(runs), self.buckets()
        )

    def get(self, name: str) -> bytes | None:
        return self._values.get(name)

    def put(self, name: str, value: bytes) -> None:
        self._values[name] = value

    def delete(self, name: str) -> None:
        self._values.pop(name, None)

    def append(self, bucket: int, run: pa.Table, level: int = 0) -> None:
        number = self._vnode.number()
        with PHASES.phase("serialise"):
            body = packed(run, "zstd")
        with PHASES.phase("state"):
            self._vnode.runs.updateValue((number,), (body,))
        self._buckets.setdefault(bucket, []).append(Run(number, level, run.num_rows, len(body)))

    def buckets(self) -> list[int]:
        return sorted(self._buckets)

    def levels(self, bucket: int) -> list[int]:
        return [run.level for run in self._buckets.get(bucket, ())]

    def read(self, bucket: int, below: int | None = None) -> list[pa.Table]:
        return [
            self._read_run(run.number)
            for run in self._buckets.get(bucket, ())
            if below is None or run.level < below
        ]

    def _read_run(self, number: int) -> pa.Table:
        with PHASES.phase("state"):
            stored = self._vnode.runs.getValue((number,))
        with PHASES.phase("deserialise"):
            return unpacked(bytes(stored[0]))

    def replace(self, bucket: int, below: int, run: pa.Table) -> None:
        runs = self._buckets[bucket]
        for old in runs:
            if old.level < below:
                self._vnode.runs.removeKey((old.number,))
        self._buckets[bucket] = [old for old in runs if old.level >= below]
        self.append(bucket, run, below)

    def delete_until(self, bound: int) -> None:
        for bucket in [b for b in self._buckets if b < bound]:
            self.delete_bucket(bucket)

    def delete_bucket(self, bucket: int) -> None:
        for run in self._buckets.pop(bucket, ()):
            self._vnode.runs.removeKey((run.number,))
