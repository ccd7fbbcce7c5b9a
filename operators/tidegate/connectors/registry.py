"""Connectors by name: which class plans, reads, writes and commits a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeVar

from tidegate.connectors.blackhole import BlackholeCommitter, BlackholeWriter
from tidegate.connectors.delta.sink import DeltaCommitter
from tidegate.connectors.delta.types import check_delta
from tidegate.connectors.filesystem.overlap import overlaps
from tidegate.connectors.filesystem.planner import FilesystemPlanner
from tidegate.connectors.filesystem.reader import FilesystemReader
from tidegate.connectors.filesystem.sink import FilesystemCommitter, FilesystemWriter
from tidegate.connectors.generators.datagen import DatagenPlanner, DatagenReader
from tidegate.connectors.generators.nexmark import NexmarkPlanner, NexmarkReader, check_nexmark
from tidegate.connectors.kafka import options as kafka
from tidegate.connectors.kafka.fits import check_sink, check_source
from tidegate.connectors.kafka.fits import columns_of_key_alone as of_key_alone
from tidegate.connectors.kafka.options import KafkaSinkOptions, KafkaSourceOptions
from tidegate.connectors.kafka.overlap import reads_what_it_writes
from tidegate.connectors.kafka.planner import KafkaPlanner
from tidegate.connectors.kafka.position import kafka_position, topic_partition
from tidegate.connectors.kafka.reader import KafkaReader
from tidegate.connectors.kafka.sink import KafkaCommitter, KafkaWriter
from tidegate.connectors.kafka.topics import Topics
from tidegate.connectors.locations import absolute
from tidegate.connectors.option_types import AlignedOptions, list_of
from tidegate.connectors.options import (
    DatagenOptions,
    DeltaOptions,
    FilesystemSourceOptions,
    NexmarkOptions,
    PostgresOptions,
    connector_name,
    parsed,
    plain_name,
)
from tidegate.connectors.postgres import options as postgres
from tidegate.connectors.postgres.types import check_postgres
from tidegate.connectors.print_sink import PrintCommitter, PrintWriter
from tidegate.connectors.staged_parquet import ParquetStager
from tidegate.engine.engine import Engine
from tidegate.errors import OptionsError
from tidegate.plan.nodes import Table
from tidegate.ports import (
    Position,
    SinkCommitter,
    SinkWriter,
    SourcePlanner,
    SourceReader,
)

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a writer stands: in which ``epoch``, as which ``writer`` of it.

    ``writer`` tells the tasks of an epoch apart (its number orders their files); ``staging`` is a
    directory for sinks that have no place of their own; ``remembered`` is what the sink's committer
    gave to the checkpoint (`tidegate.ports.SinkCommitter.prepare`) and to writers
    (`FencingCommitter.fence`); ``known`` is the last epoch that the epoch log says this writer has
    written, 0 where it says nothing.
    """

    staging: str
    epoch: int
    writer: str
    remembered: tuple[tuple[str, str], ...] = ()
    known: int = 0


def _postgres(table: Table, staging: str) -> SinkCommitter:
    # Its client library is loaded by drivers that write there, not by whoever checks a file.
    from tidegate.connectors.postgres.sink import PostgresCommitter

    return PostgresCommitter(table, staging)


_PLANNERS: Final[Mapping[str, Callable[[Table, bool], SourcePlanner]]] = {
    "filesystem": FilesystemPlanner,
    "datagen": DatagenPlanner,
    "nexmark": NexmarkPlanner,
    "kafka": KafkaPlanner,
}
_READERS: Final[Mapping[str, Callable[[Table, Engine], SourceReader]]] = {
    "filesystem": FilesystemReader,
    "datagen": DatagenReader,
    "nexmark": NexmarkReader,
    "kafka": KafkaReader,
}
_WRITERS: Final[Mapping[str, Callable[[Table, Stage], SinkWriter]]] = {
    "filesystem": lambda table, at: FilesystemWriter(table, at.epoch, at.writer, at.staging),
    "print": lambda table, at: PrintWriter(table, at.staging, at.epoch, at.writer),
    "delta": lambda table, at: ParquetStager(table, at.staging, at.epoch, at.writer),
    "postgres": lambda table, at: ParquetStager(table, at.staging, at.epoch, at.writer),
    "blackhole": lambda _table, _at: BlackholeWriter(),
    "kafka": lambda table, at: KafkaWriter(
        table, at.epoch, at.writer, dict(at.remembered), at.known
    ),
}
_COMMITTERS: Final[Mapping[str, Callable[[Table, str], SinkCommitter]]] = {
    "filesystem": FilesystemCommitter,
    "print": PrintCommitter,
    "delta": DeltaCommitter,
    "postgres": _postgres,
    "blackhole": lambda _table, _staging: BlackholeCommitter(),
    "kafka": KafkaCommitter,
}


def source_planner(table: Table, available_now: bool) -> SourcePlanner:
    """The driver side of a source."""
    return _of(_PLANNERS, table, "source")(table, available_now)


def source_reader(table: Table, engine: Engine) -> SourceReader:
    """The worker side of a source."""
    return _of(_READERS, table, "source")(table, engine)


def sink_writer(table: Table, stage: Stage) -> SinkWriter:
    """The worker side of a sink."""
    return _of(_WRITERS, table, "sink")(table, stage)


def sink_committer(table: Table, staging_base: str) -> SinkCommitter:
    """The driver side of a sink; ``staging_base`` is what its writers get as ``staging``."""
    return _of(_COMMITTERS, table, "sink")(table, staging_base)


def check_columns(table: Table, role: Literal["source", "sink"]) -> None:
    """Raises OptionProblem when the columns of ``table`` don't fit its options."""
    if table.connector == "nexmark":
        check_nexmark(table)
    if table.connector == "delta":
        check_delta(table)
    if table.connector == "postgres" and role == "sink":
        check_postgres(table, parsed(PostgresOptions, table.connector, table.options))
    if table.connector != "kafka":
        return
    if role == "source":
        check_source(table, parsed(KafkaSourceOptions, table.connector, table.options))
    else:
        check_sink(table, parsed(KafkaSinkOptions, table.connector, table.options))


_WITH_KEYS: Final[Mapping[str, type[KafkaSinkOptions | DeltaOptions | PostgresOptions]]] = {
    "kafka": KafkaSinkOptions,
    "delta": DeltaOptions,
    "postgres": PostgresOptions,
}


def takes_changes(table: Table) -> bool:
    """Whether a sink can take back what it was given (S5)."""
    if table.connector == "kafka":
        options: KafkaSinkOptions = parsed(KafkaSinkOptions, table.connector, table.options)
        return options.type == "upsert"
    if table.connector == "postgres":
        return table.option("type").strip().lower() != "append-only"
    return table.connector in ("print", "blackhole", "delta")


def upsert_key(table: Table) -> tuple[str, ...] | None:
    """The columns by which a sink tells rows apart; None where it keeps all that comes.

    Empty where it was not told: `with_key` does.
    """
    model = _WITH_KEYS.get(table.connector)
    if model is None or not takes_changes(table):
        return None
    fields: tuple[str, ...] = parsed(model, table.connector, table.options).key_fields
    return fields


def has_keys(connector: str) -> bool:
    """Whether a table of ``connector`` has a primary key of its own. It need not be told: of
    results that change, the query says what tells them apart."""
    return plain_name(connector) in ("delta", "postgres")


def with_key(table: Table, key: tuple[str, ...]) -> Table:
    """``table``, whose rows ``key`` tells apart."""
    options = {**dict(table.options), "key.fields": list_of(key)}
    return replace(table, options=tuple(sorted(options.items())))


def is_bounded(table: Table) -> bool:
    """Whether a source ends by itself."""
    if table.connector in ("datagen", "nexmark"):
        return any(table.option(name) for name in ("number-of-rows", "nexmark.event.num"))
    if table.connector == "kafka":
        return table.option("scan.bounded.mode", "unbounded") != "unbounded"
    return not table.option("source.monitor-interval")


@dataclass(frozen=True, slots=True)
class Liveness:
    """How a source that is read live treats its splits (S8, S9), in microseconds.

    ``idle_timeout_us`` 0: a split is never idle. ``group`` empty: the source is not aligned.
    """

    idle_timeout_us: int = 0
    group: str = ""
    max_drift_us: int = 0
    update_interval_us: int = 0


_ALIGNED: Final[Mapping[str, type[AlignedOptions]]] = {
    "kafka": KafkaSourceOptions,
    "filesystem": FilesystemSourceOptions,
    "datagen": DatagenOptions,
    "nexmark": NexmarkOptions,
}


def liveness(table: Table) -> Liveness:
    """The options of ``table`` about idleness and alignment."""
    model = _ALIGNED.get(table.connector)
    if model is None:
        return Liveness()
    options = parsed(model, table.connector, table.options)
    return Liveness(
        options.idle_timeout_us,
        options.alignment_group,
        options.max_drift_us or 0,
        options.alignment_interval_us,
    )


def ends_now(table: Table, splits: Sequence[str]) -> dict[str, int]:
    """The offset behind the last row of each split, where the source knows it without reading.

    Raises a TidegateError when the source does not answer.
    """
    if table.connector != "kafka" or not splits:
        return {}
    options: KafkaSourceOptions = parsed(KafkaSourceOptions, table.connector, table.options)
    partitions = {topic_partition(split): split for split in splits}
    found = Topics(table.name, options).latest(partitions)
    return {partitions[partition]: end for partition, end in found.items()}


def offset_at(table: Table, position: Position) -> int | None:
    """The offset at ``position``, of sources whose positions are offsets."""
    at = kafka_position(position) if table.connector == "kafka" else None
    return None if at is None else at.offset


def columns_of_key_alone(table: Table) -> tuple[str, ...]:
    """The columns of a source that are not in its records' values, but in their keys."""
    if table.connector != "kafka":
        return ()
    options: KafkaSourceOptions = parsed(KafkaSourceOptions, table.connector, table.options)
    return of_key_alone(table, options)


_HOW_IT_IS_READ: Final = (
    "properties.",
    "scan.startup.",
    "scan.topic-partition-discovery.",
    "scan.fail-on-data-loss",
    "scan.watermark.idle-timeout",
    "scan.watermark.alignment.",
    "sink.transaction-timeout",
)
"""Options, most of them kafka's, that may change from run to run: where brokers are, who we are to
them, what to do when rows are lost, how long to wait for a split. Where a job began, it has begun.
"""
_MAY_CHANGE: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(_ALIGNED, _HOW_IT_IS_READ),
    "postgres": postgres.HOW_IT_IS_REACHED,
}


def same_table(table: Table) -> Table:
    """``table`` with those options alone that make it another table for a checkpoint."""
    return _without(table, _MAY_CHANGE.get(table.connector, ()))


_AS_WHOM: Final[Mapping[str, tuple[str, ...]]] = {
    "kafka": kafka.AS_WHOM,
    "postgres": postgres.AS_WHOM,
}


def same_target(table: Table) -> Table:
    """``table`` with those options alone that make it another one to replay into: where it is,
    not as whom one goes there. Another server is another target, which has none of the rows."""
    return _without(table, _AS_WHOM.get(table.connector, ()), but=(kafka.SERVERS,))


def _without(table: Table, prefixes: tuple[str, ...], but: tuple[str, ...] = ()) -> Table:
    """``table`` without the options whose names begin with one of ``prefixes``."""
    kept = [pair for pair in table.options if pair[0] in but or not pair[0].startswith(prefixes)]
    return replace(table, options=tuple(kept))


def feeds(sink: Table, source: Table) -> bool:
    """Whether ``source`` would read what ``sink`` writes."""
    if sink.connector == source.connector == "kafka":
        return reads_what_it_writes(source, sink)
    if not sink.connector == source.connector == "filesystem":
        return False
    return overlaps(sink.option("path"), sink.format, source.option("path"))


def resolved(table: Table) -> Table:
    """``table`` with a relative ``path`` made absolute: executors have other directories."""
    if table.connector not in ("filesystem", "delta") or not table.option("path"):
        return table
    options = {**dict(table.options), "path": absolute(table.option("path"))}
    return replace(table, options=tuple(sorted(options.items())))


def _of(adapters: Mapping[str, _T], table: Table, role: str) -> _T:
    name = connector_name(table.connector)
    if name not in adapters:
        raise OptionsError(f"connector '{name}' of table '{table.name}' cannot be a {role}")
    return adapters[name]
