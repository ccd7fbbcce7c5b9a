"""A job over two tables, and what must come out of it: the parts that its queries share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oracle.account import Counts, Judgement, LedgerRow, WatermarkOn, judge
from oracle.decode import Column, Table, Values, ended_lines, value_at
from oracle.jobs import DIRECTORY, NOW_US, Expected, write_splits
from oracle.living import Epochs, judge_living
from oracle.pairs import Marks, On, Pair, PairQuery, PairSelect
from oracle.query import Output
from oracle.vocabulary import PAYLOAD, TimeColumn

WORDS = {"SEMI": "LEFT SEMI", "ANTI": "LEFT ANTI"}
"""Kinds of joins that are written otherwise."""


def _same(name: str) -> On:
    def same(left: Values, right: Values) -> bool | None:
        if left[name] is None or right[name] is None:
            return None
        return bool(left[name] == right[name])

    return same


def holds(left: Values, right: Values) -> bool | None:
    del left, right
    return True


def dearer(left: Values, right: Values) -> bool | None:
    if left["price"] is None or right["price"] is None:
        return None
    return bool(left["price"] > right["price"])


CONDITIONS: tuple[tuple[str, On], ...] = (
    ("l.customer = r.customer", _same("customer")),
    ("l.region = r.region", _same("region")),
    ("l.price > r.price", dearer),
)


@dataclass(frozen=True)
class PairSpec:
    """A job over ``tables``, one or two; each query says which of them are its sides."""

    name: str
    text: str
    tables: Mapping[str, Mapping[str, Sequence[bytes]]]
    columns: Table
    time: TimeColumn
    delay_s: int
    queries: tuple[tuple[str, PairQuery, tuple[str, str]], ...]
    bounded: bool
    statics: frozenset[str] = frozenset()
    """Tables that end, whatever the others do, and have no watermark and no time."""

    @property
    def sinks(self) -> tuple[str, ...]:
        return tuple(sink for sink, _, _ in self.queries)

    def sql(self, directory: Path) -> str:
        """The job's text for files in ``directory``."""
        return self.text.replace(DIRECTORY, directory.resolve().as_posix())

    def write(self, directory: Path) -> Path:
        """Writes the split files and ``job.sql``; gives the latter's path."""
        for name, splits in self.tables.items():
            write_splits(splits, directory / "in" / name)
        file = directory / "job.sql"
        file.write_text(self.sql(directory), encoding="utf-8")
        return file

    def expected(
        self, *, now_us: int = NOW_US, epochs: Mapping[str, Epochs] | None = None
    ) -> Expected:
        """Runs the oracle over the whole input; ``epochs``: in which the splits of a table were
        active or not."""
        ledger: list[LedgerRow] = []
        counts = Counts()
        splits: dict[str, Counts] = {}
        judged: dict[str, Judgement] = {}
        for name, files in self.tables.items():
            data = files
            is_static = name in self.statics
            if not (self.bounded or is_static):
                data = {split: ended_lines(parts) for split, parts in files.items()}
            wheres = [
                where
                for _, query, sides in self.queries
                for side, where in zip(sides, query.wheres, strict=True)
                if side == name
            ]
            on = WatermarkOn(self.time.path, self._candidate, unit_us=self.time.unit_us)
            table = Table(name, PAYLOAD if is_static else self.columns.columns)
            marks_on = () if is_static else (on,)
            if epochs is None or is_static:
                judged[name] = judge(table, data, marks_on, now_us=now_us, wheres=wheres)
            else:
                judged[name] = judge_living(
                    table, data, on, epochs[name], now_us=now_us, wheres=wheres
                )
            ledger += judged[name].ledger
            counts.add(judged[name].counts)
            splits |= judged[name].splits
        outputs: dict[str, Output] = {}
        for sink, query, (left, right) in self.queries:
            marks = [self._mark(judged[side], side) for side in (left, right)]
            rows = [judged[side].rows for side in (left, right)]
            outputs[sink] = query.run(rows[0], rows[1], Marks(marks[0], marks[1], self.bounded))
        return Expected(outputs, ledger, counts, splits, judged, self.time.type)

    def _mark(self, judgement: Judgement, side: str) -> int | None:
        return None if side in self.statics else judgement.merged_watermark(self.time.path)

    def _candidate(self, row: Values) -> int:
        return int(value_at(row, self.time.path)) - self.time.units(self.delay_s)


def with_options(path: str, more: str = "") -> str:
    """The options of a table, whose ``path`` is below the job's directory."""
    options = f"connector = 'filesystem', path = '{DIRECTORY}/{path}'{more}"
    return f" WITH ({options}) FORMAT PLAIN ENCODE JSON"


def shown(sides: str, names: Sequence[tuple[str, str]]) -> tuple[str, PairSelect]:
    """The columns ``names`` of each side: the text of SELECT, and what it gives."""
    shown = [(side, name, type_) for side in sides for name, type_ in names]
    items = ", ".join(f"{side}.{name} AS {side}_{name}" for side, name, _ in shown)
    select = tuple(
        (Column(f"{side}_{name}", type_), _of_side("lr".index(side), name))
        for side, name, type_ in shown
    )
    return items, select


def _of_side(side: int, name: str) -> Any:
    def value(pair: Pair) -> Any:
        row = pair[side]
        return None if row is None else value_at(row, name)

    return value
