"""Messages as text, so that tests of executors read as data.

One line is one message; a `Text` knows the types of the columns:

    chunk s0: 3 a 0; 7 b 1        rows of split s0, values in column order; `.` is NULL
    chunk: 10:40 x                without a split; 10:40 is that time of 2022-10-20, in UTC
    watermark t 10:30 idle        value `none` or `end`; the status is active unless said
    barrier 1
    status finished s0
    rejected: late 5 3 7 4        reason, offset, event time, watermark, lateness; one group a row
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Protocol

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.plan.nodes import Expr, Node
from tidegate.types import (
    END,
    Barrier,
    Chunk,
    Column,
    Message,
    Rejected,
    Schema,
    SplitStatus,
    Status,
    Watermark,
)

ENGINE = Engine()
DAY = dt.datetime(2022, 10, 20, tzinfo=dt.UTC)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def schema(text: str) -> Schema:
    """``"t TIMESTAMP, v BIGINT"`` as a schema (types without commas)."""
    pairs = (part.strip().split(" ", 1) for part in text.split(","))
    return tuple(Column(name, type_.replace(";", ",")) for name, type_ in pairs)


def leaf(text: str) -> Node:
    """A node with the schema ``text``: the input of the operator under test."""
    return Node(schema(text))


def expr(sql: str, type_: str, *columns: str, monotone_in: str | None = None) -> Expr:
    return Expr(sql, type_, frozenset(columns), monotone_in)


def micros(text: str) -> int:
    """``10:40`` or ``1969-12-31T23:59`` as microseconds since the Unix epoch."""
    if "T" in text:
        moment = dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)
    else:
        moment = dt.datetime.combine(DAY.date(), dt.time.fromisoformat(text), dt.UTC)
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)


def clock(value: int) -> str:
    """The inverse of `micros`."""
    moment = _EPOCH + dt.timedelta(microseconds=value)
    spec = "minutes" if value % 60_000_000 == 0 else "auto"
    if moment.date() == DAY.date():
        return moment.time().isoformat(spec)
    return moment.replace(tzinfo=None).isoformat(timespec=spec)


class Process(Protocol):
    """What takes messages: an executor or a wrapper around one."""

    def process(self, message: Message) -> Iterable[Message]: ...


class Text:
    """Reads and writes messages. ``columns``: what chunks of the input have, in order."""

    def __init__(self, columns: str, others: str = "") -> None:
        self.columns = schema(columns)
        known = (*self.columns, *(schema(others) if others else ()))
        self._types = {column.name: column.type for column in known}
        self._arrow = ENGINE.arrow_schema(self.columns)

    def chunk(self, rows: str, split: str | None = None) -> Chunk:
        """``"3 a; 7 b"`` as a chunk."""
        lines = [line.split() for line in rows.split(";") if line.strip()]
        values = [
            [_parse(line[index], column.type) for line in lines]
            for index, column in enumerate(self.columns)
        ]
        arrays = [pa.array(v, f.type) for v, f in zip(values, self._arrow, strict=True)]
        return Chunk(pa.table(arrays, schema=self._arrow), split)

    def parse(self, line: str) -> Message:
        head, _, rows = line.partition(": ") if line.startswith("chunk") else (line, "", "")
        word, *rest = head.rstrip(":").split()
        match word:
            case "chunk":
                return self.chunk(rows, rest[0] if rest else None)
            case "watermark":
                status = Status[rest[2].upper()] if len(rest) > 2 else Status.ACTIVE
                return Watermark(rest[0], _value(rest[1]), status)
            case "barrier":
                return Barrier(int(rest[0]), int(rest[0]) * 1_000_000)
            case "status":
                return SplitStatus(Status[rest[0].upper()], rest[1] if len(rest) > 1 else "")
        raise AssertionError(line)

    def show(self, message: Message) -> str:
        match message:
            case Chunk(data, split):
                rows = "; ".join(" ".join(map(_show, row.values())) for row in data.to_pylist())
                return f"chunk{'' if split is None else ' ' + split}: {rows}"
            case Watermark(column, value, status):
                shown = self._moment(column, value)
                return f"watermark {column} {shown}" + (f" {status.name.lower()}" if status else "")
            case Barrier(epoch):
                return f"barrier {epoch}"
            case SplitStatus(status, split):
                return f"status {status.name.lower()} {split}".rstrip()
            case Rejected(data):
                rows = "; ".join(_rejected(row) for row in data.to_pylist())
                return f"rejected: {rows}"

    def _moment(self, column: str, value: int | None) -> str:
        if value is None or value == END:
            return "none" if value is None else "end"
        if self._types.get(column, "BIGINT").startswith("TIMESTAMP"):
            return clock(value)
        return str(value)

    def run(self, executor: Process, *lines: str) -> list[str]:
        """What ``executor`` answers to ``lines``."""
        return [self.show(out) for line in lines for out in executor.process(self.parse(line))]


def values(chunk: Chunk) -> list[tuple[Any, ...]]:
    """The rows of a chunk as tuples."""
    return [tuple(row.values()) for row in chunk.data.to_pylist()]


def chunks(messages: Iterable[Message]) -> Sequence[Chunk]:
    return [message for message in messages if isinstance(message, Chunk)]


def _value(text: str) -> int | None:
    if text in ("none", "end"):
        return END if text == "end" else None
    return micros(text) if ":" in text else int(text)


def _parse(text: str, type_: str) -> Any:
    if text == ".":
        return None
    if type_.startswith("TIMESTAMP"):
        moment = _EPOCH + dt.timedelta(microseconds=micros(text))
        return moment if "ZONE" in type_ else moment.replace(tzinfo=None)
    if type_.startswith("DECIMAL") or type_ == "HUGEINT":
        return Decimal(text)
    if type_ == "BOOLEAN":
        return text == "true"
    if type_ in ("DOUBLE", "FLOAT"):
        return float(text)
    if type_ == "BLOB":
        return text.encode()
    return text if type_ == "VARCHAR" else int(text)


def _show(value: Any) -> str:
    if value is None:
        return "."
    if isinstance(value, dt.datetime):
        return clock((value.replace(tzinfo=dt.UTC) - _EPOCH) // dt.timedelta(microseconds=1))
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.decode() if isinstance(value, bytes) else str(value)


def _rejected(row: dict[str, Any]) -> str:
    names = ("reason", "offset", "event_time", "watermark", "lateness")
    return " ".join(_show(row[name]) for name in names)
