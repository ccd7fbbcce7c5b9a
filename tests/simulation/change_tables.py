"""Tables of changes for random jobs (S13): records that put and delete rows, and what they mean.

The meaning is a fold in Python, from the records that were read: it shares no code with Tidegate.
Among the records are some that say nothing (truncates, changes without a key, broken ones), some
that come again, deletes of nothing, and puts that are late.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final, Literal, NamedTuple, TypeAlias

Row: TypeAlias = tuple[int | None, int | None, int]
Form: TypeAlias = Literal["debezium", "wrapped", "column"]

_JUNK: Final = (
    '{"before": null, "after": null, "op": "t"}',
    '{"before": null, "after": {"id": 1, "w": 99',
    '{"before": null, "after": {"k": 1, "w": 99}, "op": "c"}',
    '{"before": null, "after": {"id": 1, "w": 99}, "op": "x"}',
    '{"before": null, "after": null, "op": "u"}',
    '{"before": null, "after": null, "op": "d"}',
    '{"ddl": "ALTER TABLE t", "tableChanges": []}',
    "[]",
)
_PLAIN_JUNK: Final = (
    '{"op": "x", "id": 1, "w": 99}',
    '{"id": 1, "w": 99}',
    '{"op": "-U", "id": 1}',
)
_TABLE: Final = """
CREATE TABLE {name} (id BIGINT PRIMARY KEY, k BIGINT, v BIGINT, w BIGINT, ver BIGINT, ts TIMESTAMP,
  {op}WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH (connector = 'filesystem', path = '{path}', {options});
"""


class Record(NamedTuple):
    """A put of ``row``, a delete where there is none; or ``junk``, a line that says nothing.

    ``old``: the id that the row had before.
    """

    id: int
    row: Row | None
    version: int
    second: int
    junk: str = ""
    old: int | None = None


@dataclass(frozen=True)
class ChangeTable:
    """Records by split. ``versioned``: the greatest version of an id counts, wherever it is."""

    splits: list[list[Record]]
    form: Form
    versioned: bool

    @property
    def lines(self) -> list[list[str]]:
        """The records of each split, as they are written."""
        return [[self._line(record) for record in records] for records in self.splits]

    def sql(self, name: str, path: Path) -> str:
        """Its declaration."""
        options, op = ["format = 'debezium-json'"], ""
        if self.form == "column":
            options, op = ["format = 'json', 'scan.changes.op' = 'op'"], "op STRING, "
        if self.versioned:
            options.append("'scan.changes.version' = 'ver'")
        return _TABLE.format(name=name, path=path, options=", ".join(options), op=op)

    def rows(self, read: Sequence[int]) -> list[Row]:
        """What it holds when so many records of each split are read."""
        newest: dict[int, tuple[tuple[int, ...], Row | None]] = {}
        for split, (records, count) in enumerate(zip(self.splits, read, strict=True)):
            watermark: int | None = None
            for at, record in enumerate(records[:count]):
                if record.junk:
                    continue
                if record.row is not None:
                    if watermark is not None and record.second < watermark:
                        continue
                    watermark = max(watermark or 0, record.second - 1)
                place = (record.version, split, at) if self.versioned else (at,)
                said = [(record.id, record.row)]
                if record.old not in (None, record.id):
                    said.append((record.old, None))
                for id_, row in said:
                    if id_ not in newest or newest[id_][0] <= place:
                        newest[id_] = place, row
        return [row for _, row in newest.values() if row is not None]

    def settled(self, size: int, *, of_rows: bool = False) -> list[tuple[int, Row]]:
        """The rows, with their seconds, that are in windows of so many seconds when they close.

        A row is final when its split's watermark has reached the end of its window, or ``of_rows``
        when it has passed its time; what changes it then comes too late.
        """
        return [found for records in self.splits for found in _settled(records, size, of_rows)]

    def as_of(self, id_: int | None, second: int) -> Row | None:
        """What the row of ``id_`` was then: a delete counts from its split's watermark on, and
        from all times that the row has had."""
        versions = [v for records in self.splits for v in _versions(records)]
        known = [version for version in versions if version[0] == id_ and version[1] <= second]
        return max(known, key=lambda version: version[1:3])[3] if known else None

    def _line(self, record: Record) -> str:
        if record.junk:
            return record.junk
        fields: dict[str, Any] = {"id": record.id, "ver": record.version}
        if record.row is not None:
            fields |= dict(zip("kvw", record.row, strict=True))
            fields["ts"] = f"2024-01-01 00:{record.second // 60:02}:{record.second % 60:02}"
        if self.form == "column":
            return json.dumps({"op": "d" if record.row is None else "u", **fields})
        after = fields if record.row is not None else None
        # What was before is not believed: of a put it is made up.
        before = {**fields, "k": 77, "v": 77, "w": 77}
        before["id"] = record.id if record.old is None else record.old
        op = "d" if record.row is None else "cru"[record.id % 3]
        envelope = {"before": before, "after": after, "op": op, "source": {"lsn": record.version}}
        is_wrapped = self.form == "wrapped"
        return json.dumps({"schema": {}, "payload": envelope} if is_wrapped else envelope)


def _versions(records: list[Record]) -> list[tuple[int, int, int, Row | None]]:
    """Of each id, since which second a version of it is valid: (id, second, order, row or None)."""
    found: list[tuple[int, int, int, Row | None]] = []
    now: dict[int, int] = {}
    watermark = -1
    for at, record in enumerate(records):
        if record.junk or (record.row is not None and record.second < watermark):
            continue
        old = record.id if record.row is None else record.old
        if old is not None and old in now and (record.row is None or old != record.id):
            found.append((old, max(now.pop(old), watermark), at, None))
        if record.row is not None:
            now[record.id] = max(now.get(record.id, 0), record.second)
            found.append((record.id, record.second, at, record.row))
            watermark = max(watermark, record.second - 1)
    return found


def _settled(records: list[Record], size: int, of_rows: bool) -> list[tuple[int, Row]]:
    found: list[tuple[int, Row]] = []
    now: dict[int, tuple[int, Row]] = {}
    watermark = -1
    for record in records:
        if record.junk or (record.row is not None and record.second < watermark):
            continue
        for id_ in (record.id, record.old):
            gone = None if id_ is None else now.pop(id_, None)
            if gone is not None:
                end = gone[0] + 1 if of_rows else (gone[0] // size + 1) * size
                found += [gone] if end <= watermark else []
        if record.row is not None:
            now[record.id] = record.second, record.row
            watermark = max(watermark, record.second - 1)
    return [*found, *now.values()]


def draw_changes(
    rng: Random, splits: int, row: Callable[[], Row], versioned: bool | None = None
) -> ChangeTable:
    """A table of so many splits; ``row`` gives the rows."""
    if versioned is None:
        versioned = rng.random() < 0.4
    form: Form = rng.choice(["debezium", "wrapped", "column"])
    junk = _PLAIN_JUNK if form == "column" else _JUNK
    found: list[list[Record]] = []
    for split in range(splits):
        records: list[Record] = []
        for at in range(rng.choice([0, 2, 8, 20])):
            ids = range(5) if versioned else range(split, 5 * splits, splits)  # of one split
            id_, put = rng.choice(ids), None if rng.random() < 0.3 else row()
            version, second = rng.randrange(30), max(0, at + rng.choice([0, 0, 0, -3]))
            if rng.random() < 0.1:
                records.append(Record(0, None, 0, 0, rng.choice(junk)))
            elif records and rng.random() < 0.1:
                records.append(rng.choice(records))
            else:
                moves = put is not None and form != "column" and rng.random() < 0.1
                old = rng.choice(ids) if moves else None
                records.append(Record(id_, put, version, second, old=old))
        found.append(records)
    return ChangeTable(found, form, versioned)
