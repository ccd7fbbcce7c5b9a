"""Reads `*.slt`: a whole job as data, in the manner of sqllogictest.

    # a comment, between sections
    job
    CREATE SOURCE orders (…) WITH (…, path = '$DIRECTORY/in/orders') …;
    CREATE SINK revenue AS … WITH (…, path = '$DIRECTORY/out/revenue') …;
    ----
    split orders/p0
    {"id": 1, "order_time": "2024-01-01 10:00:00"}
    ----
    sink revenue
    window_end          | total        | customer
    TIMESTAMP           | DECIMAL(9,2) | VARCHAR
    2024-01-01 10:01:00 | 12.50        | NULL
    ----
    ledger TIMESTAMP
    table | split | offset | event_time | watermark | lateness | reason
    ----
    counts read=1 used=1

A section ends at a line of four dashes. ``split`` again with the same name is the split's next
file; its lines are taken as they are, but for ``\\xNN`` (a byte) and ``\\e`` (nothing: it keeps a
line of blanks visible). ``sink NAME ordered``: the rows' order counts; ``sink NAME empty``: no row
may come. ``ledger TYPE`` names the type of the time column. Counts that are not named are 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from oracle import Column, Counts, LedgerRow, Output, micros

LEDGER_HEADER = ("table", "split", "offset", "event_time", "watermark", "lateness", "reason")
_END = "----"


@dataclass
class Case:
    """One file. ``splits``: table, then split, then the bytes of its files."""

    sql: str = ""
    splits: dict[str, dict[str, list[bytes]]] = field(default_factory=dict)
    sinks: dict[str, Output] = field(default_factory=dict)
    time_type: str = ""
    ledger: list[LedgerRow] | None = None
    counts: Counts | None = None


class SltError(Exception):
    """The file is not in the format; names the line."""


def read_case(file: Path) -> Case:
    """The case in ``file``. Raises SltError."""
    case = Case()
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    for number, line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        word, *rest = line.split()
        try:
            if word == "counts":
                case.counts = Counts(**{k: int(v) for k, v in (item.split("=") for item in rest)})
            else:
                _section(case, word, rest, list(_until_end(lines)))
        except (ValueError, TypeError, KeyError) as error:
            raise SltError(f"{file.name}:{number}: {error}") from error
    if not (case.sql and case.splits and case.sinks and case.ledger is not None and case.counts):
        raise SltError(f"{file.name}: needs job, split, sink, ledger and counts")
    return case


def _until_end(lines: Iterator[tuple[int, str]]) -> Iterator[str]:
    for _, line in lines:
        if line == _END:
            return
        yield line
    raise ValueError("the section has no ----")


def _section(case: Case, word: str, rest: list[str], body: list[str]) -> None:
    match word, rest:
        case "job", []:
            case.sql = "\n".join(body) + "\n"
        case "split", [name]:
            table, split = name.split("/")
            case.splits.setdefault(table, {}).setdefault(split, []).append(_bytes(body))
        case "sink", [name]:
            case.sinks[name] = _table(body)
            if not case.sinks[name].rows:
                raise ValueError("a sink without rows must be called empty")
        case "sink", [name, "ordered"]:
            case.sinks[name] = _table(body)
            case.sinks[name].ordered = True
        case "sink", [name, "empty"]:
            case.sinks[name] = _table(body)
            if case.sinks[name].rows:
                raise ValueError("an empty sink has no rows")
        case "ledger", [time_type]:
            case.time_type, case.ledger = time_type, _ledger(body, time_type)
        case _:
            raise ValueError(f"unknown section: {word} {' '.join(rest)}")


def _bytes(body: list[str]) -> bytes:
    text = "".join(line + "\n" for line in body).replace("\\e", "")
    parts = re.split(r"\\x([0-9a-f]{2})", text)
    return b"".join(
        bytes.fromhex(part) if place % 2 else part.encode() for place, part in enumerate(parts)
    )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def _table(body: list[str]) -> Output:
    names, types, *rows = [_cells(line) for line in body]
    columns = tuple(Column(name, type_) for name, type_ in zip(names, types, strict=True))
    return Output(
        columns,
        [
            {
                column.name: _value(cell, column.type)
                for column, cell in zip(columns, row, strict=True)
            }
            for row in rows
        ],
    )


def _ledger(body: list[str], time_type: str) -> list[LedgerRow]:
    header, *rows = [_cells(line) for line in body]
    if tuple(header) != LEDGER_HEADER:
        raise ValueError(f"the ledger's header is {' | '.join(LEDGER_HEADER)}")
    return [
        LedgerRow(
            table,
            split,
            int(offset),
            _value(event_time, time_type),
            _value(watermark, time_type),
            _value(lateness, "BIGINT"),
            "",
            reason,
        )
        for table, split, offset, event_time, watermark, lateness, reason in rows
    ]


def _value(cell: str, type_: str) -> Any:
    if cell == "NULL":
        return None
    if type_.endswith("[]"):
        values = cell.removeprefix("[").removesuffix("]").split(", ")
        return [_value(value, type_.removesuffix("[]")) for value in values]
    if type_.startswith("DECIMAL"):
        return Decimal(cell)
    match type_:
        case "BIGINT" | "INT":
            return int(cell)
        case "DOUBLE":
            return float(cell)
        case "BOOLEAN":
            return {"true": True, "false": False}[cell]
        case "VARCHAR":
            return cell
        case "TIMESTAMP" | "TIMESTAMPTZ":
            return micros(cell)
    raise ValueError(f"unknown type {type_}")
