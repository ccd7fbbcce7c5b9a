"""Runs a world's job as a user's is, but for Spark, and says what is wrong with what it gives."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hostile.messages import ANY, SCHEMA_ID, Messages
from hostile.worlds import NOW_US, World
from kits.executor import ENGINE
from kits.on_disk import METADATA, Files
from kits.plain import numbers
from tidegate.clock import ManualClock
from tidegate.connectors.formats.causes import causes_of
from tidegate.connectors.formats.schema_registry import WriterSchema
from tidegate.connectors.kafka import decode
from tidegate.connectors.kafka.batch import Batch
from tidegate.connectors.kafka.options import KafkaSourceOptions
from tidegate.connectors.option_types import parsed
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import Entry
from tidegate.epochs.ledger import ledger_files, read_parquet
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut
from tidegate.simulator.local import ONCE, Local
from tidegate.store.local import LocalStore
from tidegate.types import OFFSET

_SHOWN = 5


def faults(world: World) -> list[str]:
    """What is wrong with the product's reading of a world; nothing, where the two are equal."""
    with _directory() as place:
        for split, files in world.files.items():
            (place / "in" / split).mkdir(parents=True)
            for name, content in files.items():
                (place / "in" / split / f"{name}.{world.form}").write_bytes(content)
        return _faults(world, place)


def _faults(world: World, place: Path) -> list[str]:
    plan = cut(compile_sql(world.sql(place.as_posix()), "job.sql", {}), vnodes=2)
    checkpoint = Checkpoint(str(place / "checkpoint"))
    options = replace(ONCE, rows_max=world.rows_max)
    local = Local(plan, options=options, clock=ManualClock(NOW_US), engine=ENGINE)
    for folder in ("offsets", "commits"):
        checkpoint.store.below(f"spark/{folder}").prepare()
    checkpoint.store.write("spark/metadata", METADATA)
    local.store = LocalStore(checkpoint.uri)
    local.outputs = Files(plan, checkpoint)
    last = local.run().last
    names = ledger_files(checkpoint, 0, 2**62)
    ledger = [row for name in names for row in read_parquet(checkpoint, name).to_pylist()]
    (table,) = plan.tables
    return [
        *_of_account(world, last),
        *_of_ledger(world, ledger),
        *_of_causes(world, ledger, table),
        *_of_rows(world, place / "out"),
    ]


def message_faults(given: Messages) -> list[str]:
    """What is wrong with how a table of Kafka decodes its messages."""
    (table,) = cut(compile_sql(given.sql(), "job.sql", {}), vnodes=2).tables
    registry = SimpleNamespace(
        schema=lambda number: WriterSchema(given.writer) if number == SCHEMA_ID else None
    )
    size = len(given.values)
    values = pa.array(given.values, pa.binary())
    batch = Batch(np.arange(size), values, sum(len(each or b"") for each in given.values))
    with patch.object(decode, "registry_of", lambda _: registry):
        decoder = decode.Decoder(table, parsed(KafkaSourceOptions, table.options), ENGINE)
        (chunk,) = decoder.chunks([decode.Part("t", 0, batch)])
    data = chunk.data.select([name for name, _ in given.columns])
    rows = zip(*map(_plain, data.columns), strict=True)
    found = dict(zip(chunk.data[OFFSET].to_pylist(), rows, strict=True))
    refused = dict.fromkeys(chunk.malformed["offset"].to_pylist())
    if found.keys() & refused.keys() or found.keys() | refused.keys() != set(range(size)):
        return ["a message is lost, or there twice"]
    return [
        f"{given.form}, {given.columns}: {given.values[at]!r} is {got!r}, and not {wanted!r}"
        for at, wanted in enumerate(given.wanted)
        if repr(got := found.get(at)) != repr(wanted) and wanted != ANY
    ][:_SHOWN]


@contextmanager
def _directory() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        yield place
    finally:
        shutil.rmtree(place)


def _of_account(world: World, last: Entry) -> Iterator[str]:
    """Counts by split, and that they balance."""
    counts = last.accounts.counts.get("t", {})
    for split, wanted in world.account.counts.items():
        found = counts.get(split)
        there = {} if found is None else {name: getattr(found, name) for name in _COUNTS}
        if any(there.get(name, 0) != wanted[name] for name in _COUNTS):
            yield f"split {split!r} has {there}, and should have {dict(wanted)}"
    if strange := counts.keys() - world.account.counts.keys():
        yield f"splits of nobody: {sorted(strange)}"


_COUNTS = ("read", "used", "filtered", "late", "quarantined")


def _of_ledger(world: World, ledger: list[dict[str, Any]]) -> Iterator[str]:
    """Each refused row once, with its reason and its record."""
    found = Counter((row["split"], row["offset"], row["reason"]) for row in ledger)
    wanted = Counter((*place, reason) for place, reason in world.account.ledger.items())
    for place in list((wanted - found).elements())[:_SHOWN]:
        yield f"not in the ledger: {place}: {world.records.get(place[:2])!r}"
    for place in list((found - wanted).elements())[:_SHOWN]:
        yield f"in the ledger: {place}: {world.records.get(place[:2])!r}"
    for row in ledger:
        line = world.records.get((row["split"], row["offset"]))
        if row["table"] != "t" or (line is not None and row["record"] != line):
            yield f"the ledger has {row['record']!r} of {row['table']}, for {line!r}"


def _of_causes(world: World, ledger: list[dict[str, Any]], table: Any) -> Iterator[str]:
    """A malformed row has a cause; not one of a file with a header: a line alone does not tell."""
    refused = [row["record"] for row in ledger if row["reason"] == "malformed"]
    causes = causes_of(refused, table, ENGINE)
    if "csv.header" not in world.options:
        for record, cause in zip(refused, causes, strict=True):
            if not cause and (world.form != "parquet"):
                yield f"no cause: {record!r}"


def _of_rows(world: World, out: Path) -> Iterator[str]:
    """What is accepted, to the bit; rows in any order."""
    tables = [pq.read_table(path) for path in out.glob("part-*")]
    rows = (row for table in tables for row in zip(*map(_plain, table.columns), strict=True))
    found, wanted = Counter(map(repr, rows)), Counter(map(repr, world.account.accepted))
    for row in list((wanted - found).elements())[:_SHOWN]:
        yield f"missing: {row}"
    for row in list((found - wanted).elements())[:_SHOWN]:
        yield f"accepted: {row}"


def _plain(column: pa.ChunkedArray) -> list[Any]:
    """Values as the reading has them: times are numbers, rows tuples."""
    return [_value(each) for each in column.cast(numbers(column.type)).to_pylist()]


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(_value(part) for part in value.values())
    if isinstance(value, list):
        return [_value(part) for part in value]
    return tuple(_value(part) for part in value) if isinstance(value, tuple) else value
