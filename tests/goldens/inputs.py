"""What the goldens' jobs read, made from seeds: files by path, first those that the checkpoint has
seen, then those that appear before it is resumed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

_BEGIN: Final = datetime(2024, 5, 1, 10, tzinfo=UTC)

Row = dict[str, Any]
Times = Iterator[tuple[int, datetime]]


@dataclass(frozen=True)
class Inputs:
    """Files by their paths. ``later`` are added to ``first`` or take their places."""

    first: Mapping[str, bytes]
    later: Mapping[str, bytes] = field(default_factory=dict)
    removed: tuple[str, ...] = ()


def _times(seed: int, rows: int, step_s: float, disorder_s: float, late: float = 0.02) -> Times:
    """(number, event time) of rows that are up to ``disorder_s`` out of order, some by far more."""
    rng = Random(seed)
    for number in range(rows):
        back = rng.uniform(0, disorder_s) * (6 if rng.random() < late else 1)
        yield number, _BEGIN + timedelta(seconds=round(number * step_s - back, 3))


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")


def _lines(rows: Iterable[Row | str]) -> bytes:
    """JSON lines; a text is a line as it stands."""
    texts = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    return "".join(f"{text}\n" for text in texts).encode()


def _parquet(rows: list[Row]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


def _some_wrong(rows: list[Row], time: str, every: int = 61) -> list[Row | str]:
    """Among ``rows`` such as go to the ledger: no JSON, no time, and one of a far future."""
    found: list[Row | str] = []
    for number, row in enumerate(rows):
        found.append(row)
        if number % every == every - 1:
            found.append('{"id": 1, ')
            found.append({**row, time: None})
    return [*found[:50], {**rows[50], time: "2999-01-01 00:00:00"}, *found[50:]]


def nothing() -> Inputs:
    """Of jobs that read no files."""
    return Inputs({})


def windows() -> Inputs:
    """Orders in two directories, one of which goes on in its last file, the other in a new one;
    a third one joins behind the watermark."""

    def orders(seed: int, rows: int, first_id: int) -> list[Row]:
        rng = Random(seed)
        return [
            {
                "id": first_id + number,
                "order_time": _text(moment),
                "customer_id": rng.choice([1, 2, 2, 3, 3, 3, 4, None]),
                "price": round(rng.uniform(1, 99), 2),
                "note": rng.choice(["a", "b", "c", "d", None]),
                "paid": rng.random() < 0.7,
            }
            for number, moment in _times(seed, rows, 0.9, 5)
        ]

    a, b = orders(1, 560, 1000), orders(2, 600, 2000)
    begun, whole = _lines(_some_wrong(a[:330], "order_time")), _lines(a[330:])
    return Inputs(
        {
            # A writer is in the middle of its last line.
            "in/orders/a/0001.json": begun + whole[:40],
            "in/orders/b/0001.json": _lines(b[:200]),
            "in/orders/b/0002.json": _lines(_some_wrong(b[200:320], "order_time")),
        },
        {
            "in/orders/a/0001.json": begun + whole,
            "in/orders/b/0003.json": _lines(b[320:]),
            "in/orders/c/0001.json": _lines(orders(3, 600, 3000)[230:]),
        },
        removed=("in/orders/b/0001.json",),
    )


def filters() -> Inputs:
    """A directory for each kind of filter; each goes on."""
    first: dict[str, bytes] = {}
    later: dict[str, bytes] = {}

    def add(
        name: str, files: Mapping[str, list[Row]], encode: Callable[[list[Row]], bytes]
    ) -> None:
        for number, (file, rows) in enumerate(files.items()):
            cut = len(rows) * (5 + number % 2) // 10
            suffix = "parquet" if encode is _parquet else "json"
            first[f"in/{name}/{file}/0001.{suffix}"] = encode(rows[:cut])
            later[f"in/{name}/{file}/0002.{suffix}"] = encode(rows[cut:])

    def rows(
        seed: int, count: int, form: Callable[[datetime], Any], disorder_s: float = 8
    ) -> list[Row]:
        rng = Random(seed)
        return [
            {"id": 10_000 * seed + number, "at": form(moment), "k": rng.randrange(4)}
            for number, moment in _times(seed, count, 0.5, disorder_s)
        ]

    def seconds(moment: datetime) -> float:
        return round(moment.timestamp(), 3)

    def wrong(rows: list[Row]) -> bytes:
        return _lines(_some_wrong(rows, "at"))

    add("fixed", {"a": rows(1, 240, _text), "b": rows(2, 260, _text)}, wrong)
    later["in/fixed/c/0001.json"] = _lines(rows(3, 240, _text)[70:])
    millis = rows(4, 260, lambda moment: int(seconds(moment) * 1000), 20)
    add("adaptive", {"a": millis, "b": rows(5, 230, lambda m: int(seconds(m) * 1000), 3)}, _parquet)
    add("per_key", {"a": _per_key(6), "b": _per_key(7)}, _lines)
    add("periodic", {"a": rows(8, 250, seconds), "b": rows(9, 200, seconds)}, _lines)
    paid = Random(10)
    twice = [
        {
            "id": row["id"],
            "at": row["at"],
            "paid_at": _text(moment + timedelta(seconds=paid.uniform(0, 4))),
        }
        for row, (_, moment) in zip(rows(11, 240, _text), _times(11, 240, 0.5, 8), strict=True)
    ]
    add("twice", {"a": twice[:130], "b": twice[110:]}, _lines)
    clocked = [{"id": number, "k": Random(number).randrange(3)} for number in range(300)]
    add("clocked", {"a": clocked[:150], "b": clocked[150:]}, _lines)

    def csv(rows: list[Row]) -> bytes:
        lines = [f"{row['id']},{row['at']}+00,{row['k']}" for row in rows]
        return "".join(f"{line}\n" for line in ["id,at,k", *lines]).encode()

    files = {name: rows(seed, 130, _text) for name, seed in (("x", 12), ("y", 13), ("z", 14))}
    first["in/by_file/x.csv"] = csv(files["x"][:60])
    first["in/by_file/y.csv"] = csv(files["y"])
    later["in/by_file/x.csv"] = csv(files["x"])
    later["in/by_file/z.csv"] = csv(files["z"])
    return Inputs(first, later)


def _per_key(seed: int) -> list[Row]:
    """Keys that are far apart from each other, some of which fall silent."""
    rng = Random(seed)
    found = []
    for number, moment in _times(seed, 260, 0.5, 4):
        k = rng.randrange(6) if number % 80 < 50 else rng.randrange(3)
        found.append(
            {"id": 10_000 * seed + number, "at": _text(moment - timedelta(seconds=7 * k)), "k": k}
        )
    return found


def joins() -> Inputs:
    """Orders, their payments, rates and customers: more than the epochs before the kill read."""
    rng = Random(1)

    def millis(moment: datetime) -> str:
        return _text(moment)[:-3]

    orders = [
        {
            "id": number,
            "currency": rng.choice(["EUR", "USD", "YEN", None]),
            "amount": round(rng.uniform(1, 99), 2),
            "t": millis(moment),
            "customer_id": rng.randrange(6),
        }
        for number, moment in _times(1, 720, 0.4, 5)
    ]
    payments = [
        f"{5000 + number};{rng.randrange(number, number + 12) if number % 5 else ''};"
        f"{rng.uniform(1, 99):.2f};{millis(moment)}"
        for number, moment in _times(2, 700, 0.41, 8)
    ]
    rates = [
        {
            "currency": rng.choice(["EUR", "USD", "GBP"]),
            "rate": f"{rng.uniform(0.5, 2):.4f}",
            "since": (moment - timedelta(seconds=30)).replace(tzinfo=None),
        }
        for _, moment in _times(3, 640, 0.45, 2)
    ]
    customers = "".join(f"{number},name {number}\n" for number in range(5))
    places = [{"customer_id": number, "place": f"place {number}"} for number in range(480)]
    texts = ["".join(f"{line}\n" for line in payments[at::2]).encode() for at in range(2)]
    return Inputs(
        {
            "in/orders/a/2024-1.json": _lines(_some_wrong(orders[:400:2], "t")),
            "in/orders/a/2024-2.json": _lines(orders[400::2]),
            "in/orders/b/2024-1.json": _lines(orders[1::2]),
            "in/orders/b/other.json": b"not to be read\n",
            "in/payments/one.csv": texts[0],
            "in/payments/two.csv": b"5,x,1,2024-05-01 10:00:00\n" + texts[1],
            "in/rates/0001.parquet": _parquet(rates[:330]),
            "in/rates/0002.parquet": _parquet(rates[330:]),
            "in/customers/all.csv": ("id,name\n" + customers).encode(),
            "in/places/all.json": _lines(list(places)),
        }
    )


def frames() -> Inputs:
    """Rows of three splits, one file an epoch; what appears later is one more."""

    def rows(seed: int, count: int, topic: str, part: int) -> list[Row]:
        rng = Random(seed)
        return [
            {
                "topic": topic,
                "part": part,
                "offset": number,
                "at": _text(moment) if rng.random() > 0.02 else None,
                "ms": int(moment.timestamp() * 1000),
                "device": rng.randrange(5),
            }
            for number, moment in _times(seed, count, 0.5, 9)
        ]

    splits = [rows(1, 240, "a", 0), rows(2, 240, "a", 1), rows(3, 240, "b", 0)]

    def part(begin: int, end: int) -> bytes:
        return _lines([row for split in splits for row in split[begin:end]])

    first = {"in/000.json": part(0, 70), "in/001.json": part(70, 150)}
    return Inputs(first, {"in/002.json": part(150, 240)})
