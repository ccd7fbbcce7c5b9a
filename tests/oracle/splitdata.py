"""The files of random splits: disorder, lateness, and everything that can be wrong with a row."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from oracle.vocabulary import SECOND_US, TimeColumn

_BOM = b"\xef\xbb\xbf"
FUTURES_US = (7_258_118_400_000_000, 253_402_300_799_999_999)
"""The year 2200, and the end of 9999 (whose window ends in a year that no text can say)."""

_BROKEN_LINES = (
    b"{",
    b"no json at all",
    b"[]",
    b'"text"',
    b"null",
    b'{"id": 1, "id": 2}',
    b'{"id": NaN}',
    b'{"customer": "\xff\xfe"}',
    b'{"id": 1}}',
    b"{'id': 1}",
)
_BROKEN_FIELDS: tuple[tuple[str, Any], ...] = (
    ("id", 1.5),
    ("id", 2**63),
    ("id", "seven"),
    ("customer", ["a"]),
    ("region", 2**31),
    ("price", "dear"),
    ("price", 1e9),
    ("weight", True),
    ("flag", "true"),
    ("flag", 1),
)


@dataclass(frozen=True)
class DataPlan:
    """What the splits of a job look like; event time begins at ``base_us``."""

    time: TimeColumn
    delay_s: int
    base_us: int
    rows_max: int
    splits_max: int
    futures_us: tuple[int, ...]


def random_splits(rng: Random, plan: DataPlan) -> dict[str, list[bytes]]:
    """Split name to the bytes of its files; one split may be empty, files may be too."""
    splits = {}
    for number in range(rng.randint(1, plan.splits_max)):
        rows = 0 if rng.random() < 0.05 else rng.randint(1, plan.rows_max)
        lines = _lines(rng, plan, number, rows)
        splits[f"split-{number}"] = _files(rng, lines)
    return splits


def _files(rng: Random, lines: list[bytes]) -> list[bytes]:
    cuts = sorted(rng.randint(0, len(lines)) for _ in range(rng.choice([0, 0, 1, 2])))
    files = []
    for begin, end in zip([0, *cuts], [*cuts, len(lines)], strict=True):
        line_end = b"\r\n" if rng.random() < 0.1 else b"\n"
        content = line_end.join(lines[begin:end])
        if content and rng.random() < 0.8:
            content += line_end
        files.append((_BOM if rng.random() < 0.1 else b"") + content)
    return files


def _lines(rng: Random, plan: DataPlan, split: int, rows: int) -> list[bytes]:
    lines = []
    clock_us = plan.base_us + rng.randint(0, 3) * SECOND_US
    tick_us = rng.choice([250_000, 1000, 1_000_000])
    previous_us = clock_us
    for number in range(rows):
        clock_us += rng.randint(0, 8) * tick_us if rng.random() < 0.8 else 3 * SECOND_US
        time_us = _time(rng, plan, clock_us, previous_us, tick_us)
        previous_us = time_us
        if rng.random() < 0.04:
            lines.append(rng.choice(_BROKEN_LINES))
        else:
            lines.append(_record(rng, plan, split * 1_000_000 + number, time_us))
        if rng.random() < 0.03:
            lines.append(rng.choice([b"", b" \t"]))
    return lines


def _time(rng: Random, plan: DataPlan, clock_us: int, previous_us: int, tick_us: int) -> int:
    """Mostly in order, else out of order, equal, at the watermark, just below it, late, future."""
    delay_us = plan.delay_s * SECOND_US
    kind = rng.random()
    if kind < 0.45:
        return clock_us
    if kind < 0.70:
        return clock_us - rng.randint(0, max(1, delay_us // tick_us)) * tick_us
    if kind < 0.80:
        return previous_us
    if kind < 0.86:
        return clock_us - delay_us
    if kind < 0.90:
        return clock_us - delay_us - plan.time.unit_us
    if kind < 0.98:
        return clock_us - delay_us - rng.randint(0, 20) * SECOND_US
    return rng.choice(plan.futures_us)


def _record(rng: Random, plan: DataPlan, id_: int, time_us: int) -> bytes:
    row: dict[str, Any] = {
        "id": str(id_) if rng.random() < 0.05 else id_,
        "customer": rng.choice(["ann", "bob", "cé", "dora", 7, None]),
        "region": rng.choice([1, 2, 3, -4, None]),
        "price": rng.choice([rng.randint(0, 100), rng.randint(0, 10_000) / 100, "12.345", None]),
        "weight": rng.choice([rng.random() * 10, rng.randint(0, 3), "2.5e1", None]),
        "flag": rng.choice([True, False, False, None]),
    }
    if rng.random() < 0.1:
        del row[rng.choice(["customer", "region", "price", "weight", "flag"])]
    if rng.random() < 0.05:
        row["extra"] = {"deep": [1, {"x": None}]}
    _put_time(rng, plan.time, row, time_us)
    if rng.random() < 0.03:
        name, value = rng.choice(_BROKEN_FIELDS)
        row[name] = value
    items = list(row.items())
    if rng.random() < 0.2:
        rng.shuffle(items)
    return json.dumps(dict(items), ensure_ascii=rng.random() < 0.5).encode()


def _put_time(rng: Random, time: TimeColumn, row: dict[str, Any], time_us: int) -> None:
    value: Any = _text(rng, time_us, plain=time.kind == "computed")
    if time.kind == "bigint":
        value = time_us // time.unit_us
    fate = rng.random()
    if fate < 0.02:
        value = None
    elif fate < 0.03:
        value = "soon"
    match time.kind:
        case "nested":
            row["event"] = {"message": "m", "log_ts": value}
            if value is None:
                row["event"] = rng.choice([None, {}, {"log_ts": None}])
        case "computed" | "bigint":
            row["ts"] = value
        case _:
            row["order_time"] = value
            if value is None and rng.random() < 0.5:
                del row["order_time"]


def _text(rng: Random, time_us: int, *, plain: bool) -> str:
    """A timestamp as JSON may write it; ``plain``: as TO_TIMESTAMP reads it without a format."""
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us)
    text = time.strftime("%Y-%m-%d %H:%M:%S")
    if time.microsecond:
        text += f".{time.microsecond:06d}".rstrip("0")
    style = rng.random()
    if plain:
        return text
    if style < 0.2:
        text = text.replace(" ", "T")
    if style < 0.1:
        text += "Z"
    elif style < 0.15 and time.year < 9999:
        later = time + timedelta(hours=2)
        text = later.strftime("%Y-%m-%dT%H:%M:%S") + f".{time.microsecond:06d}+02:00"
    return text
