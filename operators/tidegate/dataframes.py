"""Tidegate's operators on a PySpark user's DataFrames (design §4): `with_watermark`."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.connectors.durations import parse_duration
from tidegate.errors import OptionsError, did_you_mean
from tidegate.executor.watermarks.marks import marking
from tidegate.frontend import compile as compile_sql
from tidegate.frontend.settings import TIME_ZONE
from tidegate.plan.nodes import Scan, WatermarkFilter, quoted
from tidegate.spark.frames import (
    Frame,
    Marking,
    check_columns,
    check_state,
    marked,
    sql_columns,
    zone_of,
)

_FILE = "with_watermark"


def with_watermark(
    df: Frame,
    column: str,
    strategy: str | None = None,
    *,
    delay: str | None = None,
    split: str | Sequence[str],
    order: str | Sequence[str],
    unit: str | None = None,
    max_future_skew: str = "1 h",
    watermark_column: str = "watermark",
    reason_column: str = "late_reason",
) -> Frame:
    """``df`` with one watermark per split (S2), and each row's verdict beside it.

    ``column`` is the event time: TIMESTAMP, TIMESTAMP_NTZ, BIGINT or DECIMAL of at most
    18 digits; numbers count in ``unit``: ``s``, ``ms`` (by itself, for BIGINT), ``us``, or
    ``none``. Its watermark is SQL, as behind ``WATERMARK FOR column AS``, in ``strategy``, in the
    time zone that the session has now; or it trails by ``delay``, as in ``"5 seconds"``.
    ``split`` are the columns whose values name a split (of Kafka: topic and partition); ``order``
    those that order its rows within an epoch (of Kafka: offset): Spark's own order is lost on the
    way to the state, and the watermark is a function of the rows' order alone. Later epochs have
    later rows. A row whose ``order`` is NULL fails the query.

    All rows of ``df`` come back, late ones too. Two columns are added: ``watermark_column``, the
    split's watermark before the row, and ``reason_column``: NULL for a row that passes, else
    ``late``, ``null_time`` or ``future`` (further than ``max_future_skew`` ahead of the epoch's
    time; ``"0"`` turns it off). On a streaming ``df`` the watermarks are in Spark's state, which
    RocksDB must keep.

    Raises OptionsError, and SqlError for the strategy.
    """
    splits, orders = _names(split), _names(order)
    for name in (column, *splits, *orders):
        if name not in df.columns:
            hint = did_you_mean(name, df.columns)
            raise OptionsError(f"with_watermark: the DataFrame has no column '{name}'", hint=hint)
    if not splits or not orders:
        raise OptionsError("with_watermark: name the columns of 'split' and 'order', one at least")
    for name in (watermark_column, reason_column):
        if name.lower() in [known.lower() for known in df.columns]:
            raise OptionsError(
                f"with_watermark: the DataFrame has a column '{name}' already",
                hint="give watermark_column and reason_column other names",
            )
    if watermark_column.lower() == reason_column.lower():
        raise OptionsError(
            f"with_watermark: watermark_column and reason_column are both '{reason_column}'",
            hint="give them two names",
        )
    check_columns(df, splits, orders)
    check_state(df)
    text = strategy if strategy is not None else _trailing(column, delay, df, unit)
    if (strategy is None) == (delay is None):
        raise OptionsError("with_watermark: either a strategy or a delay, not both")
    zone = "UTC" if strategy is None else zone_of(df)
    node = filter_of(sql_columns(df), column, text, unit, max_future_skew, zone)
    names = (watermark_column, reason_column)
    return marked(df, Marking(marking(node), splits, orders, names, zone))


def filter_of(
    columns: Sequence[tuple[str, str]],
    column: str,
    strategy: str,
    unit: str | None,
    skew: str,
    zone: str = "UTC",
) -> WatermarkFilter:
    """The filter of a table of ``columns`` (name, type), in time zone ``zone``.

    Raises SqlError, in a file called ``with_watermark`` in which the strategy has a line of its
    own, below those of the columns; and OptionsError for a zone that is not known by a name.
    """
    lines = [f"{quoted(name)} {type_}," for name, type_ in columns]
    job = compile_sql(
        "\n".join(
            [
                "CREATE TABLE df (",
                *lines,
                f"WATERMARK FOR {quoted(column)} AS",
                strategy,
                ") WITH ('connector' = 'datagen',",
                f"'scan.watermark.unit' = {_text(unit)}," if unit else "",
                f"'scan.watermark.max-future-skew' = {_text(skew)});",
                "CREATE SINK marked AS SELECT * FROM df WITH ('connector' = 'blackhole');",
            ]
        ),
        _FILE,
        {TIME_ZONE: zone},
    )
    nodes = (node for sink in job.sinks for node in sink.walk())
    found = next(node for node in nodes if isinstance(node, WatermarkFilter))
    if not isinstance(found.input, Scan):
        raise OptionsError(
            "with_watermark: a key of PER is a column of the DataFrame",
            hint="add what you want as a key to the DataFrame first, with withColumn",
        )
    return found


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _trailing(column: str, delay: str | None, df: Frame, unit: str | None) -> str:
    """The strategy of a ``delay``; in the unit of a number."""
    if delay is None:
        return quoted(column)
    try:
        delay_us = parse_duration(delay)
    except ValueError as error:
        raise OptionsError(f"with_watermark: delay {error}") from None
    type_ = dict(sql_columns(df)).get(column, "")
    if type_.startswith("TIMESTAMP"):
        return f"{quoted(column)} - INTERVAL '{delay_us}' MICROSECOND"
    unit = unit or ("none" if type_.startswith("DECIMAL") else "ms")
    units_us = {"s": 1_000_000, "ms": 1_000, "us": 1}
    if unit not in units_us or delay_us % units_us[unit]:
        raise OptionsError(
            f"with_watermark: delay '{delay}' is not a whole number of unit '{unit}'",
            hint="unit says what a number counts: 's', 'ms' or 'us'; or write a strategy in SQL",
        )
    return f"{quoted(column)} - {delay_us // units_us[unit]}"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
