"""Every format in and out, several tables in one job, print and blackhole: all the same rows."""

from __future__ import annotations

import csv
import json
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from spark.orders import ledger_of
from spark.processes import Warm

FORMATS = ("json", "csv", "parquet")
NAMES = ("id", "order_time", "price", "name", "weight", "flag")
DECLARED = (
    "id BIGINT, order_time TIMESTAMP, price DECIMAL(10, 2), name VARCHAR, weight DOUBLE,"
    " flag BOOLEAN, WATERMARK FOR order_time AS order_time"
)
ROWS = 120


def _rows(first: int) -> list[tuple[Any, ...]]:
    begin = datetime(2024, 5, 1, 8, 0, 0, 250_000)
    names = ["plain", "with, comma", 'with "quotes"', "ünïcode", "1", None]
    return [
        (
            number,
            begin + timedelta(seconds=number),
            None if number % 7 == 0 else Decimal(number * 13 % 10_000) / 100,
            names[number % len(names)],
            None if number % 5 == 0 else number / 3,
            (True, False, None)[number % 3],
        )
        for number in range(first, first + ROWS)
    ]


def _write(directory: Path, format_: str, rows: list[tuple[Any, ...]]) -> None:
    directory.mkdir(parents=True)
    path = directory / f"data.{format_}"
    match format_:
        case "json":
            documents = [dict(zip(NAMES, row, strict=True)) for row in rows]
            path.write_text("".join(json.dumps(d, default=_plain) + "\n" for d in documents))
        case "csv":
            with path.open("w", newline="") as file:
                texts = [
                    [
                        ""
                        if v is None
                        else str(v).lower()
                        if v in (True, False) and isinstance(v, bool)
                        else v
                        for v in row
                    ]
                    for row in rows
                ]
                csv.writer(file, lineterminator="\n").writerows(texts)
        case _:
            types = [pa.int64(), pa.timestamp("us"), pa.decimal128(10, 2), pa.string()]
            types += [pa.float64(), pa.bool_()]
            columns = [pa.array(c, t) for c, t in zip(zip(*rows, strict=True), types, strict=True)]
            pq.write_table(pa.table(columns, names=list(NAMES)), path)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else str(value)


def _read(directory: Path, format_: str) -> Counter[tuple[Any, ...]]:
    """The rows of a sink's committed files."""
    found: list[tuple[Any, ...]] = []
    for path in sorted(directory.glob("part-*")):
        assert path.suffix == f".{format_}"
        match format_:
            case "json":
                for line in path.read_text().split("\n")[:-1]:
                    document = json.loads(line, parse_float=Decimal)
                    found.append(tuple(document[name] for name in NAMES))
            case "csv":
                with path.open(newline="") as file:
                    found += [tuple(v or None for v in row) for row in csv.reader(file)]
            case _:
                found += [
                    tuple(row[name] for name in NAMES) for row in pq.read_table(path).to_pylist()
                ]
    return Counter(_typed(row) for row in found)


def _typed(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row of any format with Python's types."""
    id_, time, price, name, weight, flag = row
    return (
        int(id_),
        datetime.fromisoformat(time) if isinstance(time, str) else time,
        None if price is None else Decimal(str(price)),
        name,
        None if weight is None else float(weight),
        flag == "true" if isinstance(flag, str) else flag,
    )


def _sql(sources: dict[str, tuple[str, Path]], directory: Path) -> str:
    """Each source into a sink of every format, and into `print` and `blackhole`."""
    statements = []
    for source, (format_, path) in sources.items():
        statements.append(
            f"CREATE TABLE {source} ({DECLARED}) WITH ('connector' = 'filesystem',"
            f" 'path' = '{path}', 'format' = '{format_}');"
        )
        sinks = {
            f"{source}_{f}": f"connector = 'filesystem', path = '{directory}/{source}_{f}'"
            for f in FORMATS
        }
        for sink, options in sinks.items():
            statements.append(
                f"CREATE SINK {sink} AS SELECT {', '.join(NAMES)} FROM {source} WITH ({options})"
                f" FORMAT PLAIN ENCODE {sink.rpartition('_')[2].upper()};"
            )
        statements.append(
            f"CREATE SINK {source}_shown AS SELECT id FROM {source} WITH (connector = 'print');"
        )
        statements.append(
            f"CREATE SINK {source}_gone AS SELECT id FROM {source} WITH (connector = 'blackhole');"
        )
    return "\n".join(statements)


def _run(
    warm: Warm,
    directory: Path,
    sources: dict[str, tuple[str, Path]],
    rows: dict[str, list[tuple[Any, ...]]],
) -> None:
    directory.mkdir()
    file, checkpoint = directory / "job.sql", directory / "checkpoint"
    file.write_text(_sql(sources, directory))
    ran = warm.run(
        "run",
        file,
        "--checkpoint",
        checkpoint,
        "--set",
        "tidegate.epoch.rows.max=70",
        cwd=directory,
    )
    assert ran.code == 0, ran.err
    for source, wanted in rows.items():
        for format_ in FORMATS:
            found = _read(directory / f"{source}_{format_}", format_)
            assert found == Counter(wanted), f"{source} to {format_}"
        shown = [line for line in ran.out.splitlines() if line.startswith(f"{source}_shown> ")]
        assert [json.loads(line.partition("> ")[2]) for line in shown] == [
            {"id": row[0]} for row in wanted
        ]
    document = ledger_of(checkpoint)
    assert document["counts"] == {
        "read": ROWS * len(rows),
        "used": ROWS * len(rows),
        "filtered": 0,
        "late": 0,
        "quarantined": 0,
    }
    assert document["rows"] == []


def test_all_formats(warm: Warm, tmp_path: Path) -> None:
    rows = {f"from_{format_}": _rows(1 + 1000 * n) for n, format_ in enumerate(FORMATS)}
    for format_ in FORMATS:
        _write(tmp_path / "in" / format_, format_, rows[f"from_{format_}"])
    sources = {f"from_{format_}": (format_, tmp_path / "in" / format_) for format_ in FORMATS}
    _run(warm, tmp_path / "first", sources, rows)

    # What was written can be read, in every format.
    sources = {f"again_{f}": (f, tmp_path / "first" / f"from_json_{f}") for f in FORMATS}
    _run(warm, tmp_path / "second", sources, {f"again_{f}": rows["from_json"] for f in FORMATS})
