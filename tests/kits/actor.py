"""What the tests of actors share: plans of small jobs, actors in memory, decoded rows."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from kits.executor import ENGINE, Text
from tidegate.executor.actor import Actor, Emission
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import Plan, cut
from tidegate.ports import SourceChunk
from tidegate.state import MemoryStateTable, StateTable
from tidegate.types import OFFSET, RECORD, Barrier, Chunk, Rejected

_FILES = "WITH (connector = 'filesystem', path = '/p') FORMAT PLAIN ENCODE JSON;\n"
_OUT = _FILES.replace("/p", "/o")
TABLES = (
    f"CREATE SOURCE marked (t BIGINT, v BIGINT, WATERMARK FOR t AS t - 2) {_FILES}"
    f"CREATE SOURCE plain (t BIGINT, v BIGINT) {_FILES}"
)
TEXT = Text("t BIGINT, v BIGINT", "window_end BIGINT")


def plan(*queries: str, vnodes: int = 2, pushdown: bool = True) -> Plan:
    """The plan of a job with a sink for each of ``queries``."""
    sinks = [f"CREATE SINK s{i} AS {query} {_OUT}" for i, query in enumerate(queries)]
    return cut(compile_sql(TABLES + "".join(sinks), "f.sql", {}), vnodes, pushdown)


class States:
    """The state tables of one actor."""

    def __init__(self) -> None:
        self.tables: dict[str, MemoryStateTable] = {}

    def __call__(self, name: str) -> StateTable:
        return self.tables.setdefault(name, MemoryStateTable())


def actor(of: Plan, fragment: int, states: States | None = None, instance: int = 0) -> Actor:
    parts = of.fragments[fragment], of.vnodes, ENGINE, states or States(), instance
    return Actor(*parts, checks=True)


def rows(text: str, first: int = 0, malformed: int = 0) -> SourceChunk:
    """``"3 0; 7 1"`` as decoded rows from offset ``first``, then ``malformed`` broken ones."""
    data = TEXT.chunk(text).data
    stop = first + data.num_rows
    offsets = list(range(first, stop))
    records = [f"record {offset}".encode() for offset in offsets]
    bad = list(range(stop, stop + malformed))
    return SourceChunk(
        data.append_column(OFFSET, pa.array(offsets, pa.int64())).append_column(
            RECORD, pa.array(records, pa.binary())
        ),
        pa.table(
            {
                "offset": pa.array(bad, pa.int64()),
                "record": pa.array([b"?"] * len(bad), pa.binary()),
            }
        ),
        stop + malformed,
    )


def barrier(epoch: int) -> Barrier:
    return Barrier(epoch, epoch * 1_000_000)


def shown(emissions: Iterable[Emission]) -> list[str]:
    """Emissions as text: ``output>vnode message``; `*` is all vnodes, `ledger` the ledger."""
    lines = []
    for emission in emissions:
        place = "ledger" if emission.output is None else str(emission.output)
        if emission.output is not None:
            place += f">{'*' if emission.vnode is None else emission.vnode}"
        message = emission.message
        if isinstance(message, Chunk):
            data = message.data.drop_columns(
                [name for name in message.data.column_names if name.startswith("__")]
            )
            message = Chunk(data, message.split)
        lines.append(f"{place} {TEXT.show(message)}")
    return lines


def records(emissions: Iterable[Emission]) -> list[bytes | None]:
    """The raw records of the rows that went to the ledger."""
    return [
        record
        for emission in emissions
        if isinstance(emission.message, Rejected)
        for record in emission.message.data.column("record").to_pylist()
    ]
