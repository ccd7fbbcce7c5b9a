"""What random jobs are made of: each piece of SQL beside the Python that says what it means.

Nothing here is derived from the other half: the SQL is text, the Python is three-valued logic
spelled out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from oracle.account import Strategy, Where
from oracle.decode import Column, Computed, Values, micros, value_at
from oracle.key_watermarks import PerKey
from oracle.query import Aggregate
from oracle.source_watermark import SourceWatermark

SECOND_US = 1_000_000


@dataclass(frozen=True)
class TimeColumn:
    """How a job's event time looks. ``path`` is what SQL calls it; ``unit_us`` see WatermarkOn."""

    kind: str
    path: str
    type: str
    columns: tuple[Column, ...]
    computed: tuple[Computed, ...] = ()
    unit_us: int = 1

    def units(self, seconds: float) -> int:
        """``seconds`` in the column's unit."""
        return int(seconds * SECOND_US) // self.unit_us

    def shifted(self, sign: str, seconds: int, form: str) -> str:
        """SQL: the time column ``sign`` so many seconds."""
        if self.kind == "bigint":
            return f"{self.path} {sign} {self.units(seconds)}"
        interval = "" if form == "flink" and seconds % 2 else "INTERVAL "
        return f"{self.path} {sign} {interval}'{seconds}' SECOND"

    def size(self, seconds: int) -> str:
        """SQL: the size of a window."""
        if self.kind == "bigint":
            return str(self.units(seconds))
        return f"INTERVAL '{seconds}' SECOND"


def _to_timestamp(values: Values) -> int | None:
    text = values["ts"]
    return None if text is None else micros(text)


TIME_COLUMNS = {
    column.kind: column
    for column in (
        TimeColumn("timestamp", "order_time", "TIMESTAMP", (Column("order_time", "TIMESTAMP"),)),
        TimeColumn(
            "timestamptz", "order_time", "TIMESTAMPTZ", (Column("order_time", "TIMESTAMPTZ"),)
        ),
        TimeColumn("bigint", "ts", "BIGINT", (Column("ts", "BIGINT"),), unit_us=1000),
        TimeColumn(
            "nested",
            "event.log_ts",
            "TIMESTAMP",
            (
                Column(
                    "event",
                    "STRUCT",
                    (Column("log_ts", "TIMESTAMP"), Column("message", "VARCHAR")),
                ),
            ),
        ),
        TimeColumn(
            "computed",
            "rowtime",
            "TIMESTAMP",
            (Column("ts", "VARCHAR"),),
            (Computed(Column("rowtime", "TIMESTAMP"), _to_timestamp),),
        ),
    )
}
"""Nested and computed columns are written in Flink's form only."""

PAYLOAD = (
    Column("id", "BIGINT"),
    Column("customer", "VARCHAR"),
    Column("region", "INT"),
    Column("price", "DECIMAL(10,2)"),
    Column("weight", "DOUBLE"),
    Column("flag", "BOOLEAN"),
)


@dataclass(frozen=True)
class StrategyWords:
    """A watermark strategy as SQL and as Python."""

    sql: str
    candidate: Strategy | SourceWatermark
    per: PerKey | None = None


def random_figures(rng: Random) -> SourceWatermark:
    """Figures that matter within a few rows."""
    return SourceWatermark(
        rng.choice(["0.95", "0.75", "0.5", "1.0"]),
        rng.choice([1, 3, 10, 5_000]),
        rng.choice([0, 50_000, 2 * SECOND_US]),
        rng.choice([5, 60, 604_800]) * SECOND_US,
        rng.choice([(), ((2, SECOND_US),), ((3, 8 * SECOND_US), (6, 1_500_000))]),
    )


def figures_options(figures: SourceWatermark) -> dict[str, str]:
    """The table's options that say ``figures``."""
    margins = [f"{count}:{us // 1000} ms" for count, us in figures.margins]
    options = {
        "quantile": figures.quantile,
        "records": str(figures.records),
        "delay.min": f"{figures.least_us // 1000} ms",
        "delay.max": f"{figures.most_us // SECOND_US} s",
        "margins": ",".join(margins),
    }
    return {f"scan.watermark.source.{name}": value for name, value in options.items()}


def random_strategy(
    rng: Random,
    time: TimeColumn,
    form: str,
    delay_s: int,
    now_us: int,
    figures: SourceWatermark,
) -> StrategyWords:
    """A fixed delay, a CASE that gives NULL, a flag, a candidate ahead of its row, a guard, what
    the rows have shown of their disorder (by ``figures``), or a watermark per key."""
    plain = time.shifted("-", delay_s, form)
    delay = time.units(delay_s)
    ahead_s = 1 + delay_s // 3
    early = time.shifted("+", ahead_s, form)
    ahead = time.units(ahead_s)

    def at(row: Values) -> int:
        return int(value_at(row, time.path))

    def unless_dear(row: Values) -> int | None:
        return None if row["price"] is not None and row["price"] > 80 else at(row) - delay

    def unless_future(row: Values) -> int | None:
        return None if at(row) > now_us else at(row) - delay

    def keen_or_plain(row: Values) -> int:
        return at(row) + (ahead if _and(row["flag"], _above(row["price"], 60)) else -delay)

    words = [
        StrategyWords(plain, lambda row: at(row) - delay),
        StrategyWords(plain, lambda row: at(row) - delay),
        StrategyWords(f"CASE WHEN price > 80 THEN NULL ELSE {plain} END", unless_dear),
        StrategyWords(
            f"CASE WHEN flag THEN {plain} END",
            lambda row: at(row) - delay if row["flag"] is True else None,
        ),
        StrategyWords(
            f"CASE WHEN flag AND price > 60 THEN {early} ELSE {plain} END", keen_or_plain
        ),
        StrategyWords("SOURCE_WATERMARK()", figures),
        _per_key(rng, time, f"CASE WHEN price > 80 THEN NULL ELSE {plain} END", unless_dear),
        _per_key(rng, time, plain, lambda row: at(row) - delay),
    ]
    if time.kind != "bigint":
        clock = "PROCTIME()" if form == "flink" else "PROC_TIME()"
        words.append(
            StrategyWords(
                f"CASE WHEN {time.path} > {clock} THEN NULL ELSE {plain} END", unless_future
            )
        )
    return rng.choice(words)


def _per_key(rng: Random, time: TimeColumn, sql: str, candidate: Strategy) -> StrategyWords:
    """The strategy for each value of some columns, which are soon waited for no more."""
    keys = rng.choice([("region",), ("customer",), ("flag", "region")])
    expiry_s = rng.choice([1, 8, 30, 90])
    per = PerKey(keys, time.units(expiry_s))
    words = f"{sql} PER ({', '.join(keys)}) EXPIRE AFTER {time.size(expiry_s)}"
    return StrategyWords(words, candidate, per)


def _above(value: Any, bound: int) -> bool | None:
    return None if value is None else bool(value > bound)


def _and(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


PREDICATES: tuple[tuple[str, Where], ...] = (
    ("price > 30", lambda row: _above(row["price"], 30)),
    ("flag", lambda row: row["flag"]),
    ("NOT flag", lambda row: None if row["flag"] is None else not row["flag"]),
    ("region <> 2", lambda row: None if row["region"] is None else row["region"] != 2),
    ("customer IS NOT NULL", lambda row: row["customer"] is not None),
    ("price > 20 AND flag", lambda row: _and(_above(row["price"], 20), row["flag"])),
    ("id % 3 = 0", lambda row: row["id"] % 3 == 0),
)


def _of(name: str) -> Callable[[Values], Any]:
    return lambda row: row[name]


AGGREGATES: tuple[tuple[str, Aggregate], ...] = (
    ("count(*)", Aggregate(Column("n", "BIGINT"), "count")),
    ("count(price)", Aggregate(Column("priced", "BIGINT"), "count", _of("price"))),
    (
        "count(DISTINCT customer)",
        Aggregate(Column("who", "BIGINT"), "count", _of("customer"), True),
    ),
    ("count(DISTINCT region)", Aggregate(Column("places", "BIGINT"), "count", _of("region"), True)),
    ("sum(price)", Aggregate(Column("total", "DECIMAL(38,2)"), "sum", _of("price"))),
    ("sum(region)", Aggregate(Column("regions", "BIGINT"), "sum", _of("region"))),
    ("sum(weight)", Aggregate(Column("heft", "DOUBLE"), "sum", _of("weight"))),
    ("min(price)", Aggregate(Column("low", "DECIMAL(10,2)"), "min", _of("price"))),
    ("max(customer)", Aggregate(Column("last_name", "VARCHAR"), "max", _of("customer"))),
    ("max(weight)", Aggregate(Column("high", "DOUBLE"), "max", _of("weight"))),
    ("avg(price)", Aggregate(Column("mean", "DOUBLE"), "avg", _of("price"))),
    ("avg(weight)", Aggregate(Column("lightness", "DOUBLE"), "avg", _of("weight"))),
    (
        "first_value(id ORDER BY {time})",
        Aggregate(Column("first_id", "BIGINT"), "first_value", _of("id")),
    ),
    (
        "last_value(id ORDER BY {time})",
        Aggregate(Column("last_id", "BIGINT"), "last_value", _of("id")),
    ),
    ("median(weight)", Aggregate(Column("middle", "DOUBLE"), "median", _of("weight"))),
    ("bit_xor(id)", Aggregate(Column("odd_bits", "BIGINT"), "bit_xor", _of("id"))),
    (
        "string_agg(customer, '+' ORDER BY {time})",
        Aggregate(Column("names", "VARCHAR"), "string_agg", _of("customer")),
    ),
)
"""SQL, in which ``{time}`` is the time column, and what it means."""

HAVINGS: tuple[tuple[str, Aggregate, Where], ...] = (
    (
        "count(*) > 1",
        replace(AGGREGATES[0][1], output=Column("h_n", "BIGINT")),
        lambda row: row["h_n"] > 1,
    ),
    (
        "sum(price) >= 50",
        replace(AGGREGATES[4][1], output=Column("h_total", "DECIMAL(38,2)")),
        lambda row: None if row["h_total"] is None else row["h_total"] >= 50,
    ),
)
"""SQL, the aggregate that it needs, and the condition over it."""

SQL_TYPES = {
    "risingwave": {"DOUBLE": "DOUBLE PRECISION", "INT": "INTEGER"},
    "flink": {"VARCHAR": "STRING", "TIMESTAMP": "TIMESTAMP(3)", "TIMESTAMPTZ": "TIMESTAMP_LTZ(3)"},
}


def sql_type(column: Column, form: str) -> str:
    """The column's type as the users of ``form`` write it."""
    if column.type == "STRUCT":
        fields = ", ".join(f"{field.name} {sql_type(field, form)}" for field in column.fields)
        return f"ROW<{fields}>" if form == "flink" else f"STRUCT<{fields}>"
    return SQL_TYPES[form].get(column.type, column.type)
