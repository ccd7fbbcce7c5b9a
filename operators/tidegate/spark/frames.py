"""A watermark filter on a PySpark user's DataFrame: a fragment of its own, keyed by split (design
§2 "Source").

    user's rows ─► packed by split ─► group by split ─► filter, its state in the store ─► unpacked

Between the ends a Spark row is one split's part of an Arrow batch, so no user row passes through
Python by itself. The first step sends each split's rows on as they come; the filter takes all that
an epoch has of a split, sorts it, judges it and keeps the split's watermark in Spark's state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from tidegate.engine.engine import shared_engine
from tidegate.errors import OptionsError, RunError
from tidegate.executor.columns import event_times
from tidegate.executor.watermarks.marks import mark
from tidegate.executor.watermarks.saved import state_name
from tidegate.plan.nodes import WatermarkFilter
from tidegate.spark.exchange.ipc import packed, unpacked
from tidegate.spark.launch.gateway import REQUIRED
from tidegate.spark.launch.given import PROVIDER
from tidegate.state import MemoryStateTable

Frame: TypeAlias = DataFrame

_TIME: Final = "__epoch_time"
_FAT: Final = "split string, body binary"
_BODY_BYTES_MAX: Final = 8 << 20
_NO_ORDER: Final = (ArrayType, MapType, VariantType)
_NO_SPLIT: Final = (*_NO_ORDER, StructType)
_SQL_TYPES: Final = {
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "bigint": "BIGINT",
    "int": "INTEGER",
    "smallint": "SMALLINT",
    "double": "DOUBLE",
    "float": "FLOAT",
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
}
"""Of Spark's types, by their names: those that a strategy may read."""


@dataclass(frozen=True, slots=True)
class Marking:
    """What is done to a frame: ``node`` is of `marks.marking`, ``names`` are of its two columns.

    ``zone`` is the time zone of the strategy.
    """

    node: WatermarkFilter
    split: tuple[str, ...]
    order: tuple[str, ...]
    names: tuple[str, str]
    zone: str = "UTC"


def sql_columns(frame: Frame) -> list[tuple[str, str]]:
    """The columns of ``frame`` that a strategy may read, with their types in SQL."""
    typed = ((field.name, _sql_type(field.dataType)) for field in frame.schema.fields)
    return [(name, type_) for name, type_ in typed if type_]


def check_state(frame: Frame) -> None:
    """Raises OptionsError for a session whose state store cannot keep the filter's state."""
    wanted, found = REQUIRED[PROVIDER], frame.sparkSession.conf.get(PROVIDER, None)
    if frame.isStreaming and found != wanted:
        raise OptionsError(
            f"{PROVIDER} is {found or 'not set'}: the state of with_watermark needs RocksDB",
            hint=f"before the query starts: spark.conf.set('{PROVIDER}', '{wanted}')",
        )


def check_columns(frame: Frame, split: Sequence[str], order: Sequence[str]) -> None:
    """Raises OptionsError for columns that Arrow cannot take along, and for what cannot be told
    apart, of ``split``, or sorted, of ``order``."""
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    for name, kind in kinds.items():
        try:
            to_arrow_type(kind, timezone="UTC")
        except PySparkException:
            raise OptionsError(
                f"with_watermark: column '{name}' is {kind.simpleString()}, which Spark does not"
                " give to Python",
                hint="cast it before, or leave it out",
            ) from None
    for what, names, unfit in (("split", split, _NO_SPLIT), ("order", order, _NO_ORDER)):
        for name in names:
            if isinstance(kinds[name], unfit):
                raise OptionsError(
                    f"with_watermark: '{what}' cannot be column '{name}', which is"
                    f" {kinds[name].simpleString()}",
                    hint="name columns of plain values: numbers, texts, times",
                )


def zone_of(frame: Frame) -> str:
    """The time zone of the frame's session."""
    zone = frame.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"
    return "UTC" if zone == "Z" else zone


def marked(frame: Frame, how: Marking) -> Frame:
    """``frame`` with a column for the watermark before each row, and one for its reason."""
    time = frame.schema[how.node.column].dataType
    added = [StructField(how.names[0], time), StructField(how.names[1], StringType())]
    schema = StructType([*frame.schema.fields, *added])
    timed = frame.select("*", sql.current_timestamp().alias(_TIME))
    parts = timed.mapInArrow(_packer(how.split), _FAT)
    groups = parts.groupBy("split")
    if frame.isStreaming:
        found = groups.transformWithState(Marker(how), _FAT, "append", "None")
    else:  # all that there ever is of a split, at once
        found = groups.applyInArrow(_whole(how), _FAT)
    return found.mapInArrow(_unpack, schema)


def _sql_type(kind: DataType) -> str:
    if isinstance(kind, DecimalType):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    return _SQL_TYPES.get(kind.simpleString(), "")


Batches: TypeAlias = Iterable[pa.RecordBatch]


def _packer(split: tuple[str, ...]) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def pack(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            parts = list(parts_of(pa.Table.from_batches([batch]), split))
            yield _fat([name for name, _ in parts], [packed(part, "lz4") for _, part in parts])

    return pack


def parts_of(data: pa.Table, split: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each split, in their order: its name is the JSON of its values."""
    if not data.num_rows:
        return
    numbers = np.zeros(data.num_rows, np.int64)
    for name in split:
        encoded = data.column(name).combine_chunks().dictionary_encode(null_encoding="encode")
        codes = encoded.indices.to_numpy().astype(np.int64)
        # Numbered anew after each column, so that no product of many overflows.
        _, numbers = np.unique(numbers * len(encoded.dictionary) + codes, return_inverse=True)
    for number in range(int(numbers.max()) + 1):
        part = data.filter(pa.array(numbers == number))
        values = [part.column(name)[0].as_py() for name in split]
        yield json.dumps(values, default=str, ensure_ascii=False), part


def _whole(how: Marking) -> Callable[[pa.Table], pa.Table]:
    def judge_all(parts: pa.Table) -> pa.Table:
        split = parts.column("split")[0].as_py()
        _, found = judged(how, split, parts.column("body").to_pylist(), None)
        bodies = list(found)
        return pa.Table.from_batches([_fat([split] * len(bodies), bodies)])

    return judge_all


class Marker(StatefulProcessor):
    """The filter of each split."""

    def __init__(self, how: Marking) -> None:
        self._how = how

    def init(self, handle: Any) -> None:
        self._kept = handle.getValueState("filter", "state binary")

    def handleInputRows(  # noqa: N802  # Spark's name
        self,
        key: Any,
        rows: Iterable[Any],
        timerValues: Any,  # noqa: N803, ARG002
    ) -> Iterator[Any]:
        (split,) = key
        kept = self._kept.get()
        state, bodies = judged(
            self._how, split, [bytes(row.body) for row in rows], kept and bytes(kept[0])
        )
        self._kept.update((state,))
        for body in bodies:
            yield Row(split=split, body=body)

    def close(self) -> None:
        pass


def judged(
    how: Marking, split: str, bodies: Sequence[bytes], kept: bytes | None
) -> tuple[bytes, Iterator[bytes]]:
    """One epoch of a split: its state behind it, and its rows with their marks.

    Raises RunError for a row without an order.
    """
    data = pa.concat_tables(map(unpacked, bodies)).combine_chunks()
    for name in how.order:
        if data.column(name).null_count:
            raise RunError(
                f"with_watermark: split {split} has a row whose '{name}' is NULL, and rows are"
                " judged in the order of that column",
                hint=f"filter such rows before: df.where(df['{name}'].isNotNull())",
            )
    order = pc.sort_indices(data, sort_keys=[(name, "ascending") for name in how.order])
    data = data.take(order)
    times, _ = event_times(data.column(_TIME))
    state, name = MemoryStateTable(), state_name(split)
    if kept is not None:
        state.put(name, kept)
    time_us, engine = int(times.max()), shared_engine(how.zone)
    found = mark(data.drop_columns([_TIME]), split, how.node, time_us, state, engine, how.names)
    after = state.get(name)
    assert after is not None
    return after, _sliced(found)


def _sliced(data: pa.Table) -> Iterator[bytes]:
    rows = max(1, data.num_rows * _BODY_BYTES_MAX // max(1, data.nbytes))
    for start in range(0, data.num_rows, rows):
        yield packed(data.slice(start, rows), "lz4")


def _unpack(batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for body in batch.column("body"):
            yield from unpacked(body.as_py()).to_batches()


def _fat(splits: list[str], bodies: list[bytes]) -> pa.RecordBatch:
    arrays = [pa.array(splits, pa.string()), pa.array(bodies, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, ["split", "body"])
