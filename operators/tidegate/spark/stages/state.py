"""StateTables in Spark's state store (design §2 "State").

One Spark key is one vnode, and calls to the state store cost a third of a millisecond each, so all
operators of a vnode share one value, the *index*: their small values, and for each bucket the
numbers of its runs. It is read once and written once in an epoch. Runs are entries of one map,
under (operator, number); they are written when appended and read when a bucket closes.

    index:  {"at": [stage, vnode, epoch], "next": n, "tables": [[name, TABLE], …]}
    TABLE:  {"values": {k: base64}, "runs": {bucket: [[n, level, rows, bytes], …]}}
            a keyed run has its hashes and its digest besides: […, low, high, digest]
    runs:   n -> Arrow IPC stream

``at`` says whose state it is and when it was last written (see `tidegate.epochs.state_versions`).
The sizes are for the metrics. Runs of a release that did not keep them count as empty. Release 0.1
has ``{name: TABLE}``, by other names (`plan.places`), and fails at a list: it would find no state.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final, Protocol

import pyarrow as pa

from tidegate.epochs.task_reports import StateVersion
from tidegate.errors import RESTORE, TrustError
from tidegate.phases import PHASES
from tidegate.spark.exchange.ipc import packed, unpacked
from tidegate.spark.stages.run_cache import RunCache
from tidegate.state import Run, StateTable

_PLAIN: Final = 4
"""Fields of a run that is read as a whole."""


class Value(Protocol):
    """Spark's ValueState of one binary column, as far as it is used here."""

    def get(self) -> Any: ...

    def update(self, newValue: Any) -> None: ...  # noqa: N803  # Spark's own spelling


class Map(Protocol):
    """Spark's MapState from a bigint to one binary column, as far as it is used here."""

    def getValue(self, key: Any) -> Any: ...  # noqa: N802

    def updateValue(self, key: Any, value: Any) -> None: ...  # noqa: N802

    def removeKey(self, key: Any) -> None: ...  # noqa: N802


class VnodeState:
    """All state of one vnode in one stage: hands out `SparkStateTable`s, saved together.

    ``place`` is the folder of its files. Raises TrustError when it is of another stage or vnode.
    """

    def __init__(
        self,
        index: Value,
        runs: Map,
        stage: int,
        vnode: int,
        place: str,
        of_0_1: Callable[[str], str],
        cache: RunCache,
    ) -> None:
        self._index = index
        self.runs = runs
        self.cache = cache
        stored = index.get()
        document = json.loads(bytes(stored[0])) if stored is not None else {}
        *whose, epoch = document.pop("at", (stage, vnode, 0))
        if whose != [stage, vnode]:
            raise TrustError(
                f"{place} is not what was written: it has the state of vnode {whose[1]} in stage"
                f" {whose[0]} for vnode {vnode} in stage {stage}",
                hint=RESTORE,
            )
        self.version = StateVersion(stage, vnode, epoch, epoch, place)
        self._loaded: dict[str, Any] = document
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

    def save(self, epoch: int) -> None:
        """Writes the index if ``epoch`` has changed it: call once, behind the barrier."""
        contents = {name: table.content() for name, table in sorted(self._tables.items())}
        tables = [[name, content] for name, content in contents.items() if content]
        document = {"next": self._next, "tables": tables}
        if document == self._loaded:
            return
        self.version = self.version._replace(left=epoch)
        at = [self.version.stage, self.version.vnode, epoch]
        encoded = json.dumps({"at": at, **document}, separators=(",", ":")).encode()
        with PHASES.phase("state"):
            self._index.update((encoded,))
        self._loaded = document

    def kept(self, prefix: str) -> dict[str, list[tuple[int, Run]]]:
        """The runs of each table whose name begins with ``prefix``, with their buckets, by the rest
        of the name; of those that have any."""
        return {
            name.removeprefix(prefix): [(b, run) for b in table.buckets() for run in table.runs[b]]
            for name, table in sorted(self._tables.items())
            if name.startswith(prefix) and table.runs
        }


class SparkStateTable(StateTable):
    """State of one operator on one vnode."""

    def __init__(self, vnode: VnodeState, content: dict[str, Any]) -> None:
        super().__init__()
        self._vnode = vnode
        self.values = {k: base64.b64decode(v) for k, v in content.get("values", {}).items()}
        self.runs = {
            int(bucket): [Run(*run) for run in runs]
            for bucket, runs in content.get("runs", {}).items()
        }

    def content(self) -> dict[str, Any]:
        """What the index keeps of this table."""
        content: dict[str, Any] = {}
        if self.values:
            values = {k: base64.b64encode(v).decode() for k, v in sorted(self.values.items())}
            content["values"] = values
        if self.runs:
            content["runs"] = {
                str(bucket): [list(run if run.digest else run[:_PLAIN]) for run in runs]
                for bucket, runs in sorted(self.runs.items())
            }
        return content

    def write_run(self, run: pa.Table, age: int, low: int, high: int) -> Run:
        with PHASES.phase("serialise"):
            body = packed(run, "zstd")
        digest = _digest(body)
        with PHASES.phase("state"):
            self._vnode.cache.keep(digest, run)
        return Run(self._stored(body), age, run.num_rows, len(body), low, high, digest)

    def read_run(self, run: Run) -> pa.Table:
        found = self._vnode.cache.find(run.digest)
        if found is not None:
            return found
        body = self._body(run.number)
        if _digest(body) != run.digest:
            place = self._vnode.version.place
            raise TrustError(f"{place} has another run {run.number} than it had", hint=RESTORE)
        with PHASES.phase("deserialise"):
            return self._vnode.cache.keep(run.digest, unpacked(body))

    def forget_run(self, run: Run) -> None:
        super().forget_run(run)
        if run.digest:
            self._vnode.cache.drop(run.digest)

    def _write(self, run: pa.Table) -> tuple[int, int]:
        with PHASES.phase("serialise"):
            body = packed(run, "zstd")
        return self._stored(body), len(body)

    def _stored(self, body: bytes) -> int:
        number = self._vnode.number()
        with PHASES.phase("state"):
            self._vnode.runs.updateValue((number,), (body,))
        return number

    def _read(self, number: int) -> pa.Table:
        body = self._body(number)
        with PHASES.phase("deserialise"):
            return unpacked(body)

    def _body(self, number: int) -> bytes:
        with PHASES.phase("state"):
            stored = self._vnode.runs.getValue((number,))
        if stored is None:
            place = self._vnode.version.place
            raise TrustError(f"{place} lacks run {number} of its state", hint=RESTORE)
        return bytes(stored[0])

    def _remove(self, number: int) -> None:
        self._vnode.runs.removeKey((number,))


def _digest(body: bytes) -> str:
    return blake2b(body, digest_size=16).hexdigest()
