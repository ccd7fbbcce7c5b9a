"""with_watermark as far as it needs no Spark; tests/spark/test_frames.py runs it."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    DecimalType,
    LongType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)

from tidegate import dataframes
from tidegate.dataframes import filter_of, with_watermark
from tidegate.errors import BindError, OptionsError
from tidegate.spark.frames import Marking, sql_columns
from tidegate.spark.launch.gateway import REQUIRED

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
SCHEMA = (
    StructType()
    .add("topic", StringType())
    .add("offset", LongType())
    .add("at", TimestampType())
    .add("plain", TimestampNTZType())
    .add("price", DecimalType(10, 2))
    .add("tags", ArrayType(StringType()))
    .add("a b", LongType())
)


class Frame:
    """A DataFrame as far as it is looked at."""

    def __init__(self, provider: str | None = REQUIRED[PROVIDER], streaming: bool = True) -> None:
        self.schema = SCHEMA
        self.columns = SCHEMA.names
        self.isStreaming = streaming
        self.sparkSession = self
        self.conf = {PROVIDER: provider} if provider else {}


@pytest.fixture(autouse=True)
def unmarked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be done to the frame."""
    monkeypatch.setattr(dataframes, "marked", lambda _, how: how)


def done(frame: Frame | None = None, column: str = "at", *args: Any, **options: Any) -> Marking:
    given: Any = frame or Frame()
    found: Any = with_watermark(
        given, column, *args, **{"split": "topic", "order": "offset", **options}
    )
    assert isinstance(found, Marking)
    return found


def refused(match: str, column: str = "at", *args: Any, **options: Any) -> None:
    with pytest.raises(OptionsError, match=match):
        done(None, column, *args, **options)


def test_types_that_a_strategy_may_read() -> None:
    frame: Any = Frame()
    assert sql_columns(frame) == [
        ("topic", "VARCHAR"),
        ("offset", "BIGINT"),
        ("at", "TIMESTAMP WITH TIME ZONE"),
        ("plain", "TIMESTAMP"),
        ("price", "DECIMAL(10, 2)"),
        ("a b", "BIGINT"),
    ]


def test_a_delay_is_a_strategy() -> None:
    node = done(delay="5 seconds").node
    assert (node.column, node.strategy.shift_us) == ("at", -5_000_000)
    assert node.skew_us_max == 3_600_000_000
    assert done(None, "a b", delay="5 s").node.strategy.text == '"a b" - 5000'
    assert done(None, "a b", delay="5 s", unit="s").node.strategy.text == '"a b" - 5'


def test_a_strategy_is_sql_over_the_row() -> None:
    how = done(None, "plain", "plain - INTERVAL '1' SECOND * offset", split=["topic", "offset"])
    assert how.node.strategy.columns == {"plain", "offset"}
    assert (how.split, how.order, how.names) == (
        ("topic", "offset"),
        ("offset",),
        ("watermark", "late_reason"),
    )
    assert done(None, "price", "price - 0.5", max_future_skew="0").node.unit_us == 0


def test_what_is_wrong_with_a_strategy_has_its_place() -> None:
    with pytest.raises(BindError, match="with_watermark:9:5: unknown column 'ofset'"):
        done(None, "a b", '5 + "ofset"')
    with pytest.raises(BindError, match=r"with_watermark:7:36: .* 'soon' is not a duration"):
        filter_of([("t", "BIGINT")], "t", "t", "us", "soon")


def test_options_that_are_wrong() -> None:
    refused("no column 'att'", "att", delay="5 s")
    refused("no column 'part'", delay="5 s", split=["topic", "part"])
    refused("name the columns of 'split' and 'order'", delay="5 s", order=[])
    refused("are both 'W'", delay="5 s", watermark_column="w", reason_column="W")
    refused("a column 'Offset' already", delay="5 s", watermark_column="Offset")
    refused("delay 'soon' is not a duration", delay="soon")
    refused("not a whole number of unit 's'", "a b", delay="5 ms", unit="s")
    refused("not a whole number of unit 'none'", "price", delay="5 s")
    refused("either a strategy or a delay")
    refused("either a strategy or a delay", "at", "at", delay="5 s")


def test_columns_that_cannot_tell_splits_apart_or_be_sorted() -> None:
    refused("'split' cannot be column 'tags', which is array<string>", delay="5 s", split="tags")
    refused("'order' cannot be column 'tags'", delay="5 s", order=["offset", "tags"])
    frame = Frame()
    frame.schema = StructType([*SCHEMA.fields]).add("s", StructType().add("x", LongType()))
    frame.columns = frame.schema.names
    with pytest.raises(OptionsError, match="'split' cannot be column 's', which is struct<x:big"):
        done(frame, delay="5 s", split="s")
    assert done(frame, delay="5 s", order="s").order == ("s",)


@pytest.mark.parametrize("kind", [YearMonthIntervalType(), ArrayType(CalendarIntervalType())])
def test_columns_that_spark_does_not_give_to_python(kind: DataType) -> None:
    frame = Frame()
    frame.schema = StructType([*SCHEMA.fields]).add("span", kind)
    frame.columns = frame.schema.names
    with pytest.raises(OptionsError, match=r"column 'span' is .*interval.* give to Python"):
        done(frame, delay="5 s")


@pytest.mark.slow
def test_a_strategy_is_in_the_session_s_time_zone() -> None:
    def zone(name: str, *args: Any, **options: Any) -> str:
        frame = Frame()
        frame.conf["spark.sql.session.timeZone"] = name
        return done(frame, "at", *args, **options).zone

    day = "date_trunc('day', at)"
    assert (zone("Europe/Zurich", day), zone("Z", day)) == ("Europe/Zurich", "UTC")
    assert zone("+02:00", delay="5 s") == "UTC", "it does not matter there"
    with pytest.raises(OptionsError, match=r"unknown time zone '\+02:00'"):
        zone("+02:00", day)


def test_a_stream_s_state_needs_rocksdb() -> None:
    with pytest.raises(OptionsError, match="needs RocksDB") as caught:
        done(Frame(None), delay="5 s")
    assert f"spark.conf.set('{PROVIDER}'" in caught.value.hint
    done(Frame(None, streaming=False), delay="5 s")
