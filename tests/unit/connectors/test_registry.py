"""Every connector is found by name, in the roles that it has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from tidegate.connectors.registry import (
    Liveness,
    Stage,
    feeds,
    is_bounded,
    liveness,
    resolved,
    same_table,
    same_target,
    sink_committer,
    sink_writer,
    source_planner,
    source_reader,
)
from tidegate.errors import OptionsError
from tidegate.plan.nodes import Table
from tidegate.ports import SplitRange
from unit.connectors.files_kit import COLUMNS, ENGINE, ids, monitored, sink, source

BLACKHOLE = Table("b", COLUMNS, "blackhole", "json")
PRINT = Table("p", COLUMNS, "print", "json")


def test_only_files_feed_files(tmp_path: Path) -> None:
    assert feeds(sink(tmp_path / "a"), source(tmp_path))
    assert not feeds(sink(tmp_path / "a"), source(tmp_path / "b"))
    assert not feeds(PRINT, source(tmp_path))
    assert not feeds(sink(tmp_path / "a"), Table("d", COLUMNS, "datagen", ""))


def test_roles(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    files = source(tmp_path / "in")
    assert list(source_planner(files, available_now=False).splits()) == ["."]
    assert list(source_reader(files, ENGINE).read([SplitRange(".", None, None)])) == []
    for table in (sink(tmp_path / "out"), PRINT, BLACKHOLE):
        committer = sink_committer(table, str(tmp_path / "staging"))
        committer.bind(committer.prepare(fresh=True))
        writer = sink_writer(table, Stage(str(tmp_path / "staging"), 0, "0"))
        writer.write(pa.Table.from_pylist(ids(0, 2)))
        staged = writer.close()
        assert [file.rows for file in staged] == [2]
        committer.publish(0, staged)
        committer.discard_unknown(1)


def test_wrong_roles() -> None:
    with pytest.raises(OptionsError, match="cannot be a source"):
        source_planner(PRINT, available_now=False)
    with pytest.raises(OptionsError, match="cannot be a sink"):
        sink_writer(Table("d", COLUMNS, "datagen", ""), Stage("", 0, "0"))


def test_bounded() -> None:
    assert is_bounded(source("/x"))
    assert not is_bounded(monitored("/x"))
    assert not is_bounded(Table("d", COLUMNS, "datagen", ""))
    assert is_bounded(Table("d", COLUMNS, "datagen", "", (("number-of-rows", "0"),)))


def test_a_relative_path_is_resolved() -> None:
    assert resolved(source("in")).option("path") == f"{Path.cwd()}/in"
    assert resolved(source("s3://b/in")).option("path") == "s3://b/in"
    assert resolved(PRINT) is PRINT


@pytest.mark.parametrize("table", [
    Table("d", COLUMNS, "datagen", "", (("number-of-rows", "5"),)),
    source("/x"),
    monitored("/x"),
])  # fmt: skip
def test_alignment_makes_no_other_table(table: Table) -> None:
    aligned = (
        ("scan.watermark.alignment.group", "g"),
        ("scan.watermark.alignment.max-drift", "1 s"),
    )
    in_group = replace(table, options=(*table.options, *aligned))
    assert same_table(in_group) == same_table(table) == table
    assert liveness(in_group) == Liveness(0, "g", 1_000_000, 1_000_000)
    assert liveness(table) == Liveness(0, "", 0, 1_000_000)


def test_an_idle_timeout_of_files_makes_no_other_table() -> None:
    table = monitored("/x")
    patient = replace(table, options=(*table.options, ("scan.watermark.idle-timeout", "5 s")))
    assert same_table(patient) == table


def test_a_target_is_where_it_is() -> None:
    servers, topic = ("properties.bootstrap.servers", "a:9092"), ("topic", "t")
    whom = (("properties.sasl.password", "${env:A}"), ("sink.transaction-timeout", "9 s"))
    registry = ("avro-confluent.basic-auth.user-info", "${env:A}")
    url = ("avro-confluent.url", "https://r")
    table = Table("k", COLUMNS, "kafka", "json", (registry, url, servers, *whom, topic))
    assert same_target(table).options == (url, servers, topic)
    files = sink("/x")
    assert same_target(files) == files
