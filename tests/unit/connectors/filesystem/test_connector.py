"""Files as a connector."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from tidegate.connectors.filesystem.connector import CONNECTOR
from tidegate.plan.tables import Table
from tidegate.ports import SplitRange, Stage
from unit.connectors.files_kit import ENGINE, ids, monitored, sink, source


def test_only_files_feed_files(tmp_path: Path) -> None:
    assert CONNECTOR.feeds(sink(tmp_path / "a"), source(tmp_path))
    assert not CONNECTOR.feeds(sink(tmp_path / "a"), source(tmp_path / "b"))


def test_roles(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    files = source(tmp_path / "in")
    assert list(CONNECTOR.planner(files, False).splits()) == ["."]
    assert list(CONNECTOR.reader(files, ENGINE).read([SplitRange(".", None, None)])) == []
    table = sink(tmp_path / "out")
    committer = CONNECTOR.committer(table, str(tmp_path / "staging"))
    committer.bind(committer.prepare(fresh=True))
    writer = CONNECTOR.writer(table, Stage(str(tmp_path / "staging"), 0, "0"))
    writer.write(pa.Table.from_pylist(ids(0, 2)))
    staged = writer.close()
    assert [file.rows for file in staged] == [2]
    committer.publish(0, staged)
    committer.discard_unknown(1)
    assert not CONNECTOR.takes_changes(table)
    assert CONNECTOR.key(table) is None


def test_bounded() -> None:
    assert CONNECTOR.is_bounded(source("/x"))
    assert not CONNECTOR.is_bounded(monitored("/x"))
    assert CONNECTOR.may_be_idle({"path", "source.monitor-interval"})
    assert not CONNECTOR.may_be_idle({"path"})


def test_a_relative_path_is_resolved() -> None:
    assert CONNECTOR.resolved(source("in")).option("path") == f"{Path.cwd()}/in"
    assert CONNECTOR.resolved(source("s3://b/in")).option("path") == "s3://b/in"


@pytest.mark.parametrize("table", [source("/x"), monitored("/x")])
def test_alignment_makes_no_other_table(table: Table) -> None:
    aligned = (
        ("scan.watermark.alignment.group", "g"),
        ("scan.watermark.alignment.max-drift", "1 s"),
    )
    in_group = replace(table, options=(*table.options, *aligned))
    assert CONNECTOR.same_table(in_group) == CONNECTOR.same_table(table) == table
    options = CONNECTOR.read_options(in_group)
    assert (options.alignment_group, options.max_drift_us) == ("g", 1_000_000)
    assert (options.idle_timeout_us, options.alignment_interval_us) == (0, 1_000_000)
    options = CONNECTOR.read_options(table)
    assert (options.alignment_group, options.max_drift_us) == ("", None)
    assert (options.idle_timeout_us, options.alignment_interval_us) == (0, 1_000_000)


def test_an_idle_timeout_of_files_makes_no_other_table() -> None:
    table = monitored("/x")
    patient = replace(table, options=(*table.options, ("scan.watermark.idle-timeout", "5 s")))
    assert CONNECTOR.same_table(patient) == table


def test_a_target_is_where_it_is() -> None:
    files = sink("/x")
    assert CONNECTOR.same_target(files) == files
