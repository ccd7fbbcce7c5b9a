"""Messages that are bad in every way that we know of, between good ones; seeded (T13)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, Final

COLUMNS: Final = (
    ("i", "INTEGER"),
    ("a", "BIGINT"),
    ("d", "DOUBLE"),
    ("m", "DECIMAL(10, 2)"),
    ("f", "BOOLEAN"),
    ("v", "VARCHAR"),
    ("t", "TIMESTAMP"),
    ("s", "STRUCT(x BIGINT, y VARCHAR)"),
)
BOM: Final = b"\xef\xbb\xbf"

_NUMBERS: Final = (
    "0",
    "-0",
    "1.0",
    "1e3",
    "1E400",
    "-1e-400",
    "2147483647",
    "2147483648",
    "-2147483649",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "1" + "0" * 400,
    "99999999.994",
    "99999999.995",
    "-99999999.999",
    "0." + "0" * 50 + "1",
)
_NO_NUMBERS: Final = (
    *("01", "+1", ".5", "5.", "0x10", "1_000", "1e", "--1"),
    *("NaN", "Infinity", "-Infinity", "nan"),
)
"""Not in quotes: what is a number there is the format's to say."""
_TEXTS: Final = (
    "",
    " ",
    "text",
    "true",
    "null",
    "12",
    "-1.5",
    "1e2",
    "ü€𝄞",
    "\u0000",
    "\ufeff",
    '"',
    "\\",
    "{}",
    "[1]",
    "2026-01-01 00:00:00",
    "2026-01-01T00:00:00.123456Z",
    "2026-02-30 00:00:00",
    "9999-12-31 23:59:59",
    "0001-01-01 00:00:00",
    "2026-01-01 00:00:00+02:00",
    "epoch",
    "infinity",
)


def messages(seed: int, count: int) -> list[bytes | None]:
    """``count`` messages, about half of them good, and a few of 10 MB."""
    rng = random.Random(seed)
    made = [rng.choice(_KINDS)(rng) for _ in range(count)]
    for place in rng.sample(range(count), 4):
        made[place] = _large(rng, good=place % 2 == 0)
    return made


def good(rng: random.Random) -> dict[str, Any]:
    """A row that fits; a field may be missing or null."""
    row = {
        "i": rng.randrange(-(2**31), 2**31),
        "a": rng.randrange(-(2**63), 2**63),
        "d": rng.choice([0.1, -1e300, 5e-324, rng.random()]),
        "m": round(rng.uniform(-1e7, 1e7), 2),
        "f": rng.random() < 0.5,
        "v": rng.choice(["", "text", "ü€𝄞", "a\nb", '"\\']),
        "t": f"2026-01-{rng.randrange(1, 32):02} 12:00:00.{rng.randrange(1_000_000):06}",
        "s": {"x": rng.randrange(100), "y": "why"},
    }
    for name in list(row):
        if rng.random() < 0.1:
            row[name] = None
        elif rng.random() < 0.1:
            del row[name]
    return row


def _good(rng: random.Random) -> bytes:
    indent = rng.choice([None, None, None, 1])
    return json.dumps(good(rng), ensure_ascii=rng.random() < 0.5, indent=indent).encode()


def _nothing(rng: random.Random) -> bytes | None:
    return rng.choice([None, b"", b" ", b"\t\r", b"\x00", BOM, BOM + BOM])


def _with_bom(rng: random.Random) -> bytes:
    line = _good(rng)
    place = rng.choice([0, 0, 1, len(line)])
    return line[:place] + BOM + line[place:]


def _no_text(rng: random.Random) -> bytes:
    line = _good(rng)
    place = rng.randrange(len(line))
    bad = rng.choice([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\x80"])
    return rng.choice([rng.randbytes(rng.randrange(1, 60)), line[:place] + bad + line[place:]])


def _other_value(rng: random.Random) -> bytes:
    """A field, or a part of the struct, with a value of any kind."""
    value = rng.choice(
        [
            rng.choice(_NUMBERS + _NO_NUMBERS),
            json.dumps(rng.choice(_TEXTS), ensure_ascii=rng.random() < 0.5),
            '"' + rng.choice(_NUMBERS) + '"',
            rng.choice(["true", "false", "null", "True", "nul", "[]", "{}", "[1, 2]"]),
            rng.choice(['{"x": "1"}', '{"x": 1.5}', '{"y": {}}', '{"x": null, "z": [1]}']),
            rng.choice(['"\\ud800"', '"\\udc00\\ud800"', '"\\ud834\\udd1e"', '"\\x41"', '"\t"']),
        ]
    )
    name = rng.choice([name for name, _ in COLUMNS] + ["other"])
    if (name, value) == ("d", '"infinity"'):  # a number to the format, none to the oracle
        value = "infinity"
    row = good(rng)
    row.pop(name, None)
    line = json.dumps(row)[:-1]
    return f'{line}{", " if row else ""}"{name}": {value}}}'.encode()


def _deep(rng: random.Random) -> bytes:
    """As a declared field, or not even as an object. In a field that is not declared it would be
    left aside, where the oracle, which is not our format, refuses 500."""
    opened, closed = rng.choice([("[", "]"), ('{"x": ', "}")])
    depth = rng.choice([10, 100, 1_000, 5_000])
    value = opened * depth + "1" + closed * depth
    if rng.random() < 0.2:
        value = opened * 400 + "1" + closed * 400
        return f'{{"a": 1, "other": {value}}}'.encode()
    name = rng.choice(["v", "s"])
    if name == "v":  # its text is as deep
        value = opened * min(depth, 200) + "1" + closed * min(depth, 200)
    return rng.choice([f'{{"a": 1, "{name}": {value}}}', f"[{value}]", opened * depth]).encode()


def _twice(rng: random.Random) -> bytes:
    name = rng.choice([name for name, _ in COLUMNS])
    value = json.dumps(good(rng).get(name))
    return f'{{"{name}": {value}, "{name}": {value}}}'.encode()


_NO_OBJECTS: Final = (
    *(b"null", b"1", b'"text"', b"[]", b"[{}]", b"true", b"{", b"}", b"{]", b"text", b"//"),
    *(b"{} {}", b"{},", b"{'a': 1}", b"{a: 1}", b'{"a": 1,}', b'{"a" 1}', b'{"a": 1 /**/}'),
)


def _no_object(rng: random.Random) -> bytes:
    return rng.choice(_NO_OBJECTS)


def _cut(rng: random.Random) -> bytes:
    line = _good(rng)
    return line[: rng.randrange(len(line))]


def _flipped(rng: random.Random) -> bytes:
    """Not in a time: which texts are one is the format's to say."""
    row = good(rng)
    row.pop("t", None)
    line = bytearray(json.dumps(row).encode())
    for _ in range(rng.randrange(1, 4)):
        byte = rng.randrange(256)
        line[rng.randrange(len(line))] = byte if byte != ord("\n") else 0
    return bytes(line)


def _large(rng: random.Random, *, good: bool) -> bytes:
    text = rng.randbytes(5 << 20).hex()
    return f'{{"a": {rng.randrange(9)}, "other": "{text}"{"}" if good else ""}'.encode()


_BAD: Final[tuple[Callable[[random.Random], bytes | None], ...]] = (
    _nothing,
    _with_bom,
    _no_text,
    _other_value,
    _other_value,
    _deep,
    _twice,
    _no_object,
    _cut,
    _flipped,
)
_KINDS: Final = (*_BAD, *[_good] * len(_BAD))
