"""A world: what a seed gives to read, and how it should be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from hostile import csv_line, json_line, spellings
from hostile.account import Account, Rule, Values, lines_of
from hostile.declared import Columns, Entries, Fields, Items, Type, quoted, sql_of
from hostile.hand import Hand
from hostile.kinds import Stored
from hostile.parquet import parquet_file, stored_of
from hostile.texts import Misfit

NOW_US: Final = 1_700_000_000_000_000
"""When all epochs are read."""
SIMPLE: Final = (
    *("TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL(10, 2)", "DECIMAL(38, 10)", "DECIMAL(4, 4)"),
    *("DOUBLE", "REAL", "BOOLEAN", "STRING", "TIMESTAMP", "TIMESTAMPTZ", "DATE", "TIME", "BYTES"),
)
_NAMES: Final = (
    *("a", "b", "c d", "x.y", "q'uote", 'dou"ble', "a/b", "~1", "é", "😀", "select", "v0", "t_s"),
    *("record", "offset", "line", "good", "parts", "B2", "$x", "%s", "[0]", "{}", "\\", "n"),
)
_HARM: Final = (
    *(b"\xff", b"\x00", b"\xc3", b"\xed\xa0\x80", b"\r", b" ", b",", b'"', b"}", b"\\", b"NaN"),
    *(b"\xef\xbb\xbf", b"\n", b"\t", b"'", b"[", b"\x0c", b"\xc2\xa0"),
)
_BOM: Final = b"\xef\xbb\xbf"
_UNITS: Final = {"ms": 1000, "s": 1_000_000, "us": 1, "none": 0}


@dataclass(frozen=True)
class World:
    """A table, its files by split and name, and what is to come of them."""

    seed: int
    form: str
    columns: Columns
    files: dict[str, dict[str, bytes]]
    options: dict[str, str]
    delay: str
    rule: Rule
    rows_max: int
    account: Account
    records: dict[tuple[str, int], bytes] = field(default_factory=dict)
    """Of text files: each row's line."""

    def sql(self, place: str) -> str:
        """The job, whose files are in ``in`` of ``place``, to write to ``out``."""
        declared = ", ".join(f"{quoted(name)} {sql_of(type_)}" for name, type_ in self.columns)
        options = "".join(f", '{key}' = '{_literal(value)}'" for key, value in self.options.items())
        time = quoted(self.columns[self.rule.time][0])
        names = ", ".join(quoted(name) for name, _ in self.columns)
        refused = self.rule.refused
        where = f" WHERE id % {refused} <> 0 OR id IS NULL" if refused else ""
        return (
            f"CREATE SOURCE t ({declared}, WATERMARK FOR {time} AS {time} - {self.delay}) WITH"
            f" (connector = 'filesystem', path = '{place}/in', format = '{self.form}'{options});"
            f" CREATE SINK o AS SELECT {names} FROM t{where} WITH (connector = 'filesystem',"
            f" path = '{place}/out') FORMAT PLAIN ENCODE PARQUET;"
        )


@dataclass(frozen=True)
class _Frame:
    """What worlds of all formats have: columns, and how time is judged."""

    columns: Columns
    options: dict[str, str]
    delay: str
    rule: Rule


def world(seed: int) -> World:
    """What ``seed`` gives."""
    rng = Hand(seed)
    rng.calm = rng.choice((0.0, 0.5, 0.8, 0.95, 0.99, 1.0))
    form = rng.choice(("json", "json", "csv", "csv", "parquet", "parquet"))
    return {"json": _of_json, "csv": _of_csv, "parquet": _of_parquet}[form](seed, rng)


def _frame(rng: Hand, types: Callable[[Hand], Type]) -> _Frame:
    names = iter(rng.sample(_NAMES, len(_NAMES)))
    columns = [(next(names), types(rng)) for _ in range(rng.randrange(1, 6))]
    time = rng.choice(("BIGINT", "TIMESTAMP", "TIMESTAMPTZ"))
    at = 1 + rng.randrange(len(columns) + 1)
    columns.insert(at - 1, (next(names), time))
    options, unit, delay, scale = {}, 1, "INTERVAL '1' DAY", 86_400_000_000
    if time == "BIGINT":
        name = rng.choice(tuple(_UNITS))
        options["scan.watermark.unit"], unit = name, _UNITS[name]
        scale = 86_400_000_000 // (unit or 1000)
        delay = str(scale)
    skew = 0 if rng.random() < 0.05 else rng.choice((3_600, 86_400))
    options["scan.watermark.max-future-skew"] = f"{skew} s"
    rule = Rule(at, scale, unit, skew * 1_000_000, rng.choice((0, 0, 3, 7)))
    return _Frame((("id", "BIGINT"), *columns), options, delay, rule)


def _time_text(frame: _Frame, rng: Hand) -> str | None:
    """An event time that may well be on time; None for one that nobody means."""
    if rng.random() < 0.08 and not rng.is_calm:
        return None
    moment = NOW_US - rng.randrange(2 * 86_400_000_000)
    if frame.columns[frame.rule.time][1] == "BIGINT":
        return str(moment // (frame.rule.unit_us or 1000))
    seconds, micros = divmod(moment, 1_000_000)
    days, second = divmod(seconds, 86_400)
    day = f"2023-11-{14 + days - 19_675:02}"
    fraction = f".{micros:06}" if rng.random() < 0.5 else ""
    return f"{day} {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}{fraction}"


def _files(
    seed: int, rng: Hand, make: Callable[[int], tuple[bytes, list[bytes], list[Values | None]]]
) -> tuple[dict[str, dict[str, bytes]], dict[str, tuple[list[bytes], list[Values | None]]]]:
    """Files by split, and each split's records and rows; ``make`` gets the number of rows."""
    del seed
    files: dict[str, dict[str, bytes]] = {}
    rows: dict[str, tuple[list[bytes], list[Values | None]]] = {}
    for split in rng.sample(("a", "b", "é x", "p=1"), rng.randint(1, 3)):
        records: list[bytes] = []
        values: list[Values | None] = []
        files[split] = {}
        for number in range(rng.randint(1, 2)):
            content, lines, read = make(rng.choice((0, 1, 20, 100, 150)))
            files[split][f"{number}"] = content
            records += lines
            values += read
        rows[split] = records, values
    return files, rows


def _world(seed: int, rng: Hand, form: str, frame: _Frame, made: Any) -> World:
    files, rows = made
    account, records = Account(), dict[tuple[str, int], bytes]()
    for split, (lines, values) in rows.items():
        account.add(split, values, frame.rule, NOW_US)
        records |= {(split, at): line for at, line in enumerate(lines)}
    rows_max = rng.choice((10, 50, 1000, 1000, 1000))
    return World(
        *(seed, form, frame.columns, files, frame.options, frame.delay, frame.rule),
        *(rows_max, account, records),
    )


def _read_all(lines: list[bytes], read: Callable[[bytes], Values]) -> list[Values | None]:
    found: list[Values | None] = []
    for line in lines:
        try:
            found.append(read(line))
        except Misfit:
            found.append(None)
    return found


def _text_file(lines: list[bytes], blank: tuple[bytes, ...], rng: Hand) -> bytes:
    """Lines as a file: ends of both kinds, blank lines between, a byte order mark before."""
    if rng.random() < 0.3:
        for _ in range(3):
            lines.insert(rng.randrange(len(lines) + 1), rng.choice(blank))
    ends = rng.choice(((b"\n",), (b"\r\n",), (b"\n", b"\r\n")))
    content = b"".join(line + rng.choice(ends) for line in lines)
    if rng.random() < 0.2:
        content = content.removesuffix(b"\n")
    return _BOM + content if rng.random() < 0.15 else content


def harmed(line: bytes, rng: Hand) -> bytes:
    """A line with a byte or two changed, cut, or put in twice."""
    at = rng.randrange(len(line) + 1)
    roll = rng.random()
    if roll < 0.3:
        return line[:at]
    if roll < 0.6:
        return line[:at] + rng.choice(_HARM) + line[at:]
    if roll < 0.8:
        return line + line[at:]
    return line[:at] + line[at + 1 :]


def type_of_json(rng: Hand, depth: int = 2) -> Type:
    """A type of a column, lists and such among them."""
    roll = rng.random()
    if depth and roll < 0.08:
        return Items(type_of_json(rng, depth - 1))
    if depth and roll < 0.14:
        key = "STRING" if rng.random() < 0.5 else rng.choice(SIMPLE)
        return Entries(type_of_json(rng, depth - 1), key)
    if depth and roll < 0.24:
        names = rng.sample(_NAMES, rng.randint(1, 3))
        return Fields(tuple((name, type_of_json(rng, depth - 1)) for name in names))
    return rng.choice(SIMPLE)


def _of_json(seed: int, rng: Hand) -> World:
    frame = _frame(rng, type_of_json)
    columns = frame.columns

    def line(number: int) -> bytes:
        written = spellings.json_object(
            columns[: frame.rule.time] + columns[frame.rule.time + 1 :], rng
        )
        time = _time_text(frame, rng)
        name = columns[frame.rule.time][0].replace("\\", "\\\\").replace('"', '\\"')
        if rng.random() < 0.97:
            value = time or spellings.json_value(columns[frame.rule.time][1], rng)
            is_text = time and columns[frame.rule.time][1] != "BIGINT"
            pair = f'"{name}":' + (f'"{value}"' if is_text else value)
            written = f"{{{pair}{',' * (written != '{}')}{written[1:]}"
        if rng.random() < 0.9 and '"id"' in written:
            written = written.replace('"id"', f'"id_{number}"', 1)
            written = f'{{"id":{number},{written[1:]}'
        coded = written.encode("utf-8", "surrogatepass")
        return harmed(coded, rng) if rng.random() < 0.05 and not rng.is_calm else coded

    def make(count: int) -> tuple[bytes, list[bytes], list[Values | None]]:
        content = _text_file([line(at) for at in range(count)], (b"", b" \t", b"  "), rng)
        (lines,) = lines_of([content], b" \t", header=False)
        return content, lines, _read_all(lines, partial(json_line.read_line, columns=columns))

    return _world(seed, rng, "json", frame, _files(seed, rng, make))


def _of_csv(seed: int, rng: Hand) -> World:
    frame = _frame(rng, type_of_json)
    delimiter, quote = rng.choice((",", ",", ";", "\t", "|", " ")), rng.choice(('"', '"', "'"))
    dialect = csv_line.Dialect(delimiter, quote, rng.choice(("", "", "NULL", "\\N")))
    has_header = rng.random() < 0.4
    options = {
        "csv.field-delimiter": {"\t": "\\t"}.get(delimiter, delimiter),
        "csv.quote-character": quote,
        "csv.null-literal": dialect.null,
        **({"csv.header": "true"} if has_header else {}),
    }
    frame = replace(frame, options={**frame.options, **options})
    names = [name for name, _ in frame.columns]

    def make(count: int) -> tuple[bytes, list[bytes], list[Values | None]]:
        header = list(names)
        if has_header:
            rng.shuffle(header)
            header = header[: rng.randint(max(1, len(header) - 1), len(header))]
            if rng.random() < 0.3:
                header.insert(rng.randrange(len(header) + 1), rng.choice(("other", "")))
        lines = [_csv_line(header, frame, dialect, number, rng) for number in range(count)]
        content = _text_file(lines, (b"", b" ") if dialect.blanks else (b"",), rng)
        if has_header:
            named = dialect.delimiter.join(spellings.csv_field(n, dialect, rng) for n in header)
            mark = _BOM * content.startswith(_BOM)
            content = mark + named.encode() + b"\r\n" + content.removeprefix(_BOM)
        (found,) = lines_of([content], dialect.blanks, header=False)
        of_file = replace(dialect, header=tuple(header) if has_header else None)
        if has_header:
            found = found[1:]
        read = partial(csv_line.read_line, columns=frame.columns, dialect=of_file)
        return content, found, _read_all(found, read)

    return _world(seed, rng, "csv", frame, _files(seed, rng, make))


def _csv_line(
    header: list[str], frame: _Frame, dialect: csv_line.Dialect, number: int, rng: Hand
) -> bytes:
    types = dict(frame.columns)
    fields = []
    for name in header:
        text: str | None = spellings.text(types.get(name, "STRING"), rng)
        if name == "id" and rng.random() < 0.9:
            text = str(number)
        elif name == frame.columns[frame.rule.time][0]:
            text = _time_text(frame, rng) or text
        assert text is not None
        fields.append(
            dialect.null if rng.random() < 0.04 else spellings.csv_field(text, dialect, rng)
        )
    if rng.random() < 0.03 and not rng.is_calm:
        fields.append("x") if rng.random() < 0.5 else fields.pop()
    line = dialect.delimiter.join(fields).encode("utf-8", "surrogatepass")
    return harmed(line, rng) if rng.random() < 0.05 and not rng.is_calm else line


def _of_parquet(seed: int, rng: Hand) -> World:
    stored: dict[str, Stored] = {}
    int96 = rng.random() < 0.3
    frame = _frame(rng, lambda rng: rng.choice((*SIMPLE, "nested", "as text")))
    columns = []
    for at, (name, type_) in enumerate(frame.columns):
        is_plain = at in (0, frame.rule.time)
        declared, kept = stored_of(str(type_), rng, int96=int96, is_plain=is_plain)
        stored[name] = kept
        columns.append((name, declared))
    frame = replace(frame, columns=tuple(columns))

    def make(count: int) -> tuple[bytes, list[bytes], list[Values | None]]:
        times = [_time_text(frame, rng) for _ in range(count)]
        content, read = parquet_file(frame.columns, frame.rule.time, times, stored, int96, rng)
        return content, [], read

    return _world(seed, rng, "parquet", frame, _files(seed, rng, make))


def _literal(text: str) -> str:
    return text.replace("'", "''")
