"""Texts of values: those that everybody writes, those at and beyond a bound, and those that nobody
means."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Final

from hostile.csv_line import Dialect
from hostile.declared import Entries, Fields, Items, Type
from hostile.hand import Hand
from hostile.texts import ZONES, decimal_type

_BITS: Final = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_TEXTS: Final = (
    *(
        "",
        " ",
        "a",
        "null",
        "NULL",
        "true",
        "é",
        "😀",
        "a,b",
        'say ""',
        '"',
        "'",
        "\\",
        "\\n",
        "a\tb",
    ),
    *("\x00", "a\x00b", "\x7f", "\u2028", "\ufeff", "\ufffe", "e\u0301", "\U0010ffff", "[1,2]"),
    *('{"a":1}', "%s", "$", "NaN", "\\N", ";", "|", "\u202eabc", "\x1b[31m", "\x0b", "x" * 300),
)
_NUMBERS: Final = (
    *(
        "0",
        "-0",
        "1",
        "-1",
        "+1",
        "1.5",
        "1.",
        ".5",
        "-.5",
        "1e3",
        "1E+2",
        "1e-2",
        "00012",
        "1_000",
    ),
    *("1__0", "_1", "1_", "0x1F", "0X1f", "-0x1", "0b101", "0o17", "１", "1,000", "1 000", "--1"),
    *("+-1", "-", "+", ".", "e5", "1e", "1e+", "0x", "1f", "1d", "1L", "$1", "1%", "0.1", "1/2"),
    *("1e400", "-1e400", "1e-400", "0e99", "1e99999999999999999999", "5e-324", "2e-324"),
    *("1.7976931348623157e308", "1.7976931348623159e308", "3.4028235e38", "3.4028236e38", "7e-46"),
    *("9007199254740993", "16777217", "0.30000000000000004", "123456789012345678901234567890"),
    *("NaN", "nan", "-NaN", "Infinity", "-Infinity", "inf", "+inf", "1.0", "2.50", "1e0", "1e00"),
    *("9" * 38, "-" + "9" * 39, "0." + "0" * 60 + "1", "1" + "0" * 400, "0." + "9" * 50, "1.0e1"),
    *("12345e-5", "0.5e-1", "1.25e-2", "5e-3", "4.9e-3", "1_0.5", "1.5_0", "1._5", "true", ""),
)
_DATES: Final = (
    *("0001-01-01", "0000-12-31", "9999-12-31", "10000-01-01", "1969-12-31", "1970-01-01"),
    *("2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "2024-13-01", "2024-00-10"),
    *(
        "2024-01-32",
        "2024-1-2",
        "2024/1/2",
        "2024/1-2",
        "-0044-03-15",
        "0044-03-15 (BC)",
        "+2024-05-06",
    ),
    *("294247-01-10", "294248-01-01", "290308-12-21 (BC)", "999999-01-01", "224-05-01", "99-1-1"),
    *("20240501", "05/01/2024", "01.05.2024", "2024", "2024-05", "2024-W18-3", "1582-10-10"),
)
_CLOCKS: Final = (
    *("00:00:00", "24:00:00", "24:00:01", "23:59:59.999999", "23:59:59.9999999", "23:59:60"),
    *("10:00", "1:2", "1:2:3.4", "10", "10:60", "25:00", "10:00:00.", "10:00:00,5", "010:00"),
    *("12:00 AM", "12:00 pm", "01:30PM", "13:00 PM", "0:15 AM", "10:00:00.123456789", "-10:00"),
)
_OFFSETS: Final = (
    *("Z", "z", " Z", "+02", "+0230", "+02:30", " -03:30", "+02:30:15", "+15:59", "+16", "-99"),
    *("+02:60", "+2", "+", " UTC", " utc", "Z+02", "[UTC]", " BC", " AD", " PDT", " Europe/Berln"),
    *(" europe/berlin", " AM Z", "PMZ", " (BC)", " +02 BC", "\u00a0Z", "Z ", "\n"),
    *(f" {zone}" for zone in ZONES),
)
_ODD_TIMES: Final = (
    *("infinity", "-infinity", "epoch", "now", "today", "", " ", "1714557600", "0", "10:00", "NaT"),
    *("294247-01-10 04:00:54.775806", "294247-01-10 04:00:54.775807", "290309-12-22 (BC) 00:00:00"),
    *("290309-12-21 (BC)", "2024-03-31 02:30:00 Europe/Berlin", "2024-10-27 02:30 Europe/Berlin"),
    *("2024-05-01T10:00:00+02:00[Europe/Berlin]", "2024-05-01 10:00:00" + "0" * 200),
)
_BYTES: Final = (
    *("", "YQ==", "YWI=", "YWJj", "YQ", "YQ=", "YR==", "Y===", "YQ==YQ==", " YQ==", "YQ==\n"),
    *("-_8=", "+/8=", "\\x41", "\\xC3", "abcd", "abc", "é", "====", "YQ\u0000=", "0x41"),
)
_BOOLEANS: Final = (
    *("true", "false", "TRUE", "True", "t", "F", "1", "0", "yes", "NO", "y", "n", "on", "off"),
    *("2", " true", "tru", "", "-1", "1.0", "truefalse"),
)


def text(type_: Type, rng: Hand) -> str:
    """A text that may be meant for ``type_``: JSON where it is no simple one."""
    if isinstance(type_, str) and rng.is_calm:
        return _plain(type_, rng)
    roll = rng.random()
    if roll < 0.03:
        return rng.choice(_TEXTS)
    match type_:
        case Items() | Entries() | Fields():
            return json_value(type_, rng)
        case "BYTES":
            return rng.choice(_BYTES) if roll < 0.4 else _base64(rng)
        case "BOOLEAN":
            return rng.choice(_BOOLEANS) if roll < 0.6 else rng.choice(("true", "false"))
        case "STRING":
            if roll < 0.5:
                return rng.choice(_TEXTS)
            return "".join(rng.choice("ab ,\"'\\\t\x01é😀{[") for _ in range(rng.randrange(12)))
        case "TIMESTAMP" | "TIMESTAMPTZ" | "DATE":
            return _moment(rng, roll)
        case "TIME":
            return _clock(rng) if roll < 0.7 else _moment(rng, roll)
    return _number(str(type_), rng, roll)


def _plain(type_: Type, rng: Hand) -> str:
    """As everybody writes it."""
    moment = f"20{rng.randint(10, 29)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    clock = f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"
    clock += rng.choice(("", "", f".{rng.randrange(10**6):06}", f".{rng.randrange(10**9):09}"))
    match type_:
        case "BOOLEAN":
            return rng.choice(("true", "false"))
        case "BYTES":
            return _base64(rng)
        case "STRING":
            return "".join(rng.choice("abc é😀-") for _ in range(rng.randrange(9)))
        case "TIMESTAMP":
            return f"{moment}{rng.choice('T ')}{clock}"
        case "TIMESTAMPTZ":
            return f"{moment}{rng.choice('T ')}{clock}{rng.choice(('', 'Z', '+02:00', '-0330'))}"
        case "DATE":
            return moment
        case "TIME":
            return clock
        case "DOUBLE" | "REAL":
            return repr(rng.gauss(0, 1000))
        case str() if type_.startswith("DECIMAL"):
            precision, scale = decimal_type(type_)
            whole = rng.randrange(10 ** (precision - scale))
            return f"{whole}.{rng.randrange(10**scale):0{scale}}"
    limit = 1 << (_BITS[str(type_)] - 1)
    return str(rng.randrange(-limit, limit))


def _base64(rng: Hand) -> str:
    return base64.b64encode(rng.randbytes(rng.randrange(9))).decode()


def json_number(type_: Type, rng: Hand) -> str:
    """What may stand in JSON for a number; often it is one."""
    if rng.is_calm:
        return _plain(type_, rng)
    return rng.choice(_NUMBERS) if rng.random() < 0.5 else _number(str(type_), rng, 1.0)


def any_json(rng: Hand, depth: int = 3) -> str:
    """A document of any kind, for a field that is not declared, or is of another type."""
    roll = rng.random()
    if depth and roll < 0.15:
        parts = (any_json(rng, depth - 1) for _ in range(rng.randrange(4)))
        return f"[{rng.choice((', ', ',')).join(parts)}]"
    if depth and roll < 0.3:
        names = ("a", "b", "a b", "", "\\u0061", "é")
        pairs = (
            f'"{rng.choice(names)}": {any_json(rng, depth - 1)}' for _ in range(rng.randrange(4))
        )
        return f"{{{','.join(pairs)}}}"
    if roll < 0.32:
        deep = rng.choice((10, 100, 900))
        return "[" * deep + "]" * deep
    if roll < 0.6:
        return rng.choice((*_NUMBERS[:60], "null", "true", "false", "nul", "True"))
    return string(text("STRING", rng), rng)


def string(value: str, rng: Hand) -> str:
    """A string of JSON, escaped in one of the ways that there are, or hardly."""
    roll, parts = rng.random(), []
    if roll < 0.01 and not rng.is_calm:
        return f'"{value}"'
    for character in value:
        code = ord(character)
        if code < 32 or character in '"\\' or (roll < 0.1 and code < 2**16):
            parts.append(f"\\u{code:04x}")
        elif roll < 0.15 and code >= 2**16:
            high, low = divmod(code - 2**16, 2**10)
            parts.append(f"\\u{0xD800 + high:04X}\\u{0xDC00 + low:04X}")
        else:
            parts.append("\\/" if character == "/" and roll < 0.3 else character)
    if roll > 0.99 and not rng.is_calm:
        parts.append(rng.choice(("\\ud800", "\\udc00x", "\\x", "\\u12", "\\u0000", "\\")))
    return f'"{"".join(parts)}"'


def json_value(type_: Type, rng: Hand) -> str:
    """A value of JSON that may be meant for ``type_``."""
    roll = 0.5 if rng.is_calm else rng.random()
    if roll < 0.05:
        return "null"
    if roll < 0.08:
        return any_json(rng)
    match type_:
        case Items(inner):
            parts = (json_value(inner, rng) for _ in range(rng.randrange(4)))
            return f"[{_comma(rng).join(parts)}]"
        case Entries(inner, key):
            names = rng.sample(("a", "b", "", "é", "a b", "\\u0041"), rng.randrange(4))
            names += ["a"] * (rng.random() < 0.05 and not rng.is_calm)
            if key != "STRING":
                names = [string(text(key, rng), rng)[1:-1] for _ in names]
            return _object(((name, json_value(inner, rng)) for name in names), rng)
        case Fields(fields):
            return json_object(fields, rng)
        case "BOOLEAN":
            words = ("true", "false", "1", '"true"', "True")
            return rng.choice(words[:2] if rng.is_calm else words)
        case "STRING" if roll < 0.85:
            return string(text(type_, rng), rng)
        case "STRING":
            return any_json(rng)
        case "TIMESTAMP" | "TIMESTAMPTZ" | "DATE" | "TIME" | "BYTES":
            return string(text(type_, rng), rng) if roll < 0.97 else json_number("BIGINT", rng)
    return json_number(type_, rng) if roll < 0.8 else string(text(type_, rng), rng)


def json_object(fields: tuple[tuple[str, Type], ...], rng: Hand) -> str:
    """An object with most of ``fields``, in any order, some others, seldom one twice."""
    pairs = [(_escaped(name), json_value(of, rng)) for name, of in fields if rng.random() > 0.05]
    if rng.random() < 0.2:
        other = rng.choice(("zz", "", "A", "__raw", "a.b", "/", "~"))
        if other not in [name for name, _ in fields]:
            pairs.append((other, any_json(rng)))
    if pairs and rng.random() < 0.03 and not rng.is_calm:
        pairs.append((pairs[0][0], any_json(rng)))
    if rng.random() < 0.2:
        rng.shuffle(pairs)
    return _object(pairs, rng)


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')


def _object(pairs: Iterable[tuple[str, str]], rng: Hand) -> str:
    colon = rng.choice((":", ": ", " :\t"))
    listed = (f'"{name}"{colon}{value}' for name, value in pairs)
    return f"{{{_comma(rng).join(listed)}}}"


def _comma(rng: Hand) -> str:
    return rng.choice((",", ", ", " ,"))


def _number(type_: str, rng: Hand, roll: float) -> str:
    if roll < 0.4:
        return rng.choice(_NUMBERS)
    if type_ in _BITS:
        limit = 1 << (_BITS[type_] - 1)
        if roll < 0.6:
            return str(rng.choice((limit, -limit)) + rng.randint(-2, 2))
        return str(rng.randrange(-limit, limit) >> rng.randrange(_BITS[type_]))
    if type_.startswith("DECIMAL"):
        precision, scale = decimal_type(type_)
        most = 10 ** (precision - scale)
        whole = rng.choice((most - 1, most, 0, rng.randrange(most)))
        behind = "".join(rng.choice("0459") for _ in range(rng.randrange(scale + 4)))
        return f"{rng.choice(('', '-'))}{whole}{'.' * bool(behind)}{behind}"
    mantissa = rng.choice((repr(rng.uniform(-10, 10)), str(rng.randrange(-(10**18), 10**18))))
    return mantissa if rng.random() < 0.5 else f"{mantissa}e{rng.randint(-330, 310)}"


def _clock(rng: Hand) -> str:
    if rng.random() < 0.4:
        return rng.choice(_CLOCKS)
    fraction = rng.choice(("", "", f".{rng.randrange(10 ** rng.randint(1, 9))}"))
    return f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}{fraction}"


def _moment(rng: Hand, roll: float) -> str:
    if roll < 0.08:
        return rng.choice(_ODD_TIMES)
    plain = f"{rng.randint(1990, 2035)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    offset = rng.choice(_OFFSETS) if rng.random() < 0.3 else ""
    named = offset.strip().lower() in {zone.lower() for zone in ZONES}
    date = plain if roll > 0.4 or named else rng.choice(_DATES)
    if rng.random() < 0.1:
        return date + (offset if rng.random() < 0.1 else "")
    return f"{date}{rng.choice(('T', ' ', ' ', 't', '  '))}{_clock(rng)}{offset}"


def csv_field(text: str, dialect: Dialect, rng: Hand) -> str:
    """A field of CSV, in quotes where it must be, but for now and then."""
    special = {dialect.delimiter, dialect.quote, "\r", "\n"}
    if special & set(text) or text == dialect.null or rng.random() < 0.1:
        if rng.random() < 0.02:
            return text
        return dialect.quote + text.replace(dialect.quote, dialect.quote * 2) + dialect.quote
    return text
