"""WITH options: what is read, what is refused, and how it is said."""

from __future__ import annotations

from typing import Literal

import pytest

from tidegate.connectors.filesystem.options import FilesystemSourceOptions
from tidegate.connectors.option_types import CsvOptions, OptionProblem, parsed
from tidegate.connectors.options import canonical, validate_options

FILES = {"path": "/in", "format": "json"}


def test_options_are_normalised() -> None:
    raw = {"Path": "/in", "FORMAT": "json", "connector": "filesystem"}
    assert validate_options("filesystem", "source", raw) == (("format", "json"), ("path", "/in"))


def test_aliases_of_risingwave_are_read() -> None:
    raw = {"posix_fs.root": "/in", "format": "csv", "delimiter": ";"}
    pairs = validate_options("posix_fs", "source", raw)
    assert pairs == (("csv.field-delimiter", ";"), ("format", "csv"), ("path", "/in"))
    assert parsed(CsvOptions, pairs).delimiter == ";"


def test_defaults_and_values() -> None:
    pairs = validate_options("filesystem", "source", FILES)
    options = parsed(FilesystemSourceOptions, pairs)
    assert (options.split, options.monitor_interval_us) == ("directory", None)
    assert (options.max_future_skew_us, options.unit) == (3_600_000_000, "ms")
    more = {**FILES, "source.monitor-interval": "1min", "scan.watermark.max-future-skew": "0"}
    options = parsed(FilesystemSourceOptions, validate_options("filesystem", "source", more))
    assert (options.monitor_interval_us, options.max_future_skew_us) == (60_000_000, 0)


@pytest.mark.parametrize(
    ("connector", "role", "raw", "option", "words"),
    [
        ("filesistem", "source", FILES, "connector", "did you mean 'filesystem'"),
        ("print", "source", {}, "connector", "cannot be used as a source"),
        ("datagen", "sink", {}, "connector", "cannot be used as a sink"),
        ("filesystem", "source", {"format": "json"}, "path", "needs the option 'path'"),
        ("filesystem", "source", {**FILES, "pth": "x"}, "pth", "did you mean 'path'"),
        ("filesystem", "source", {**FILES, "Path": "x"}, "Path", "repeats option 'path'"),
        (
            "filesystem",
            "source",
            {**FILES, "format": "xml"},
            "format",
            "'json', 'csv', 'parquet' or 'debezium-json'",
        ),
        (
            "filesystem",
            "source",
            {**FILES, "source.monitor-interval": "5 parsecs"},
            "source.monitor-interval",
            "'5 parsecs' is not a duration",
        ),
        (
            "filesystem",
            "source",
            {**FILES, "scan.watermark.idle-timeout": "5 s"},
            "scan.watermark.idle-timeout",
            "needs 'source.monitor-interval'",
        ),
        (
            "datagen",
            "source",
            {"scan.watermark.emit.strategy": "now and then"},
            "scan.watermark.emit.strategy",
            "Input should be 'on-event' or 'on-periodic'",
        ),
        (
            "datagen",
            "source",
            {"scan.watermark.alignment.group": "g"},
            "scan.watermark.alignment.group",
            "'scan.watermark.alignment.max-drift' go together",
        ),
        (
            "filesystem",
            "source",
            {**FILES, "scan.watermark.alignment.group": "g"},
            "scan.watermark.alignment.group",
            "'scan.watermark.alignment.max-drift' go together",
        ),
        ("datagen", "source", {"late-share": "1.5"}, "late-share", "less than or equal to 1"),
        ("datagen", "source", {"rows": "-1"}, "rows", "greater than or equal to 0"),
        ("datagen", "source", {"start": "soon"}, "start", "is not a timestamp"),
        (
            "filesystem",
            "source",
            {**FILES, "csv.field-delimiter": "ab"},
            "csv.field-delimiter",
            "one ASCII character",
        ),
        (
            "filesystem",
            "sink",
            {**FILES, "csv.null-literal": "a,b"},
            "csv.null-literal",
            "no delim",
        ),
        ("filesystem", "sink", {**FILES, "csv.null-literal": '""'}, "csv.null-literal", "no delim"),
        (
            "filesystem",
            "source",
            {**FILES, "csv.null-literal": "\n"},
            "csv.null-literal",
            "line end",
        ),
        ("filesystem", "sink", {**FILES, "delimiter": '"'}, "csv.quote-character", "must differ"),
    ],
)
def test_what_is_wrong_is_named(
    connector: str,
    role: Literal["source", "sink"],
    raw: dict[str, str],
    option: str,
    words: str,
) -> None:
    with pytest.raises(OptionProblem) as caught:
        validate_options(connector, role, raw)
    assert caught.value.option == option
    assert words in caught.value.render()
    assert caught.value.exit_code == 2


def test_harmless_kafka_options_are_taken() -> None:
    raw = {
        **FILES,
        "scan.watermark.emit.strategy": "on-event",
        "scan.watermark.idle-timeout": "0",
    }
    assert len(validate_options("filesystem", "source", raw)) == 4


def test_options_of_the_other_role_are_passed_over() -> None:
    raw = {**FILES, "source.split": "file"}
    assert dict(validate_options("filesystem", "sink", raw)) == {"path": "/in", "format": "json"}
    broker = {"topic": "t", "format": "json", "properties.bootstrap.servers": "b:1"}
    both = {**broker, "scan.startup.mode": "earliest-offset", "sink.partitioner": "fixed"}
    assert dict(validate_options("kafka", "sink", both)) == {**broker, "sink.partitioner": "fixed"}
    assert "sink.partitioner" not in dict(validate_options("kafka", "source", both))


def test_an_option_has_one_canonical_name() -> None:
    assert canonical("Kafka", "Topics") == "topic"
    assert canonical("posix_fs", "POSIX_FS.root") == "path"
    assert canonical("kafka", "nothing") == "nothing"
