"""Answers that may be none: each kind of warning, and silence beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kits.entries import an_entry
from kits.spark import add_rows, committer_of, new_checkpoint, plan_in
from tidegate.connectors.registry import connector_of
from tidegate.epochs.about import About
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.ledger import ledger_table
from tidegate.epochs.manifest import Manifest
from tidegate.epochs.targets import TO_LEDGER
from tidegate.ports import Stage
from tidegate.reports.ledger import read_ledger
from tidegate.reports.warnings import warnings_of
from tidegate.types import LEDGER_SCHEMA, Status

RECORDS = [b'{"id":1,"t":"x"}', b'{"id":2.5}']


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    """Its ledger has two malformed rows of the table ``orders``."""
    add_rows(tmp_path, "a", "0.json", (1, 1))
    made = new_checkpoint(tmp_path)
    made.write_job(Manifest.of(plan_in(tmp_path), 2, {}))
    rows = [
        ("orders", "orders", "a", at, None, None, None, None, "scan", "malformed", record)
        for at, record in enumerate(RECORDS)
    ]
    table, staging = ledger_table(made), made.staging(TO_LEDGER)
    writer = connector_of(table).writer(table, Stage(staging, 1, "0"))
    columns = zip(*rows, strict=True)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, LEDGER_SCHEMA, strict=True)]
    writer.write(pa.table(arrays, schema=LEDGER_SCHEMA))
    committer = connector_of(table).committer(table, staging)
    committer.bind(committer.prepare(True))
    committer.publish(1, writer.close())
    return made


def told(checkpoint: Checkpoint, read: int, **more: Any) -> list[str]:
    counts = {"read": read, "used": read - 2, "filtered": 0, "late": 0, "quarantined": 2}
    rejected = {"orders": {"scan": {"malformed": {"rows": 2, "seconds": 0.0, "buckets": []}}}}
    entry = an_entry(1, counts={"orders": {"a": counts}}, rejected=rejected, **more)
    checkpoint.write_entry(entry)
    return warnings_of(checkpoint, checkpoint.read_job(), entry)


def test_most_rows_are_malformed(checkpoint: Checkpoint) -> None:
    (warning,) = told(checkpoint, 3)
    assert warning == (
        "2 of 3 rows of table 'orders' are malformed, such as a@0: field 't': \"x\" does not fit"
        " BIGINT; tidegate ledger shows them"
    )
    assert [row["cause"] for row in read_ledger(checkpoint)["rows"]] == [
        "field 't': \"x\" does not fit BIGINT",
        "field 'id': 2.5 does not fit BIGINT",
    ]


def test_a_few_are_not_worth_a_word(checkpoint: Checkpoint) -> None:
    assert told(checkpoint, 5) == []


@pytest.mark.parametrize(("time", "warned"), [(1_714_521_601, True), (1_714_521_601_000, False)])
@pytest.mark.parametrize("unit", ["", "ms"])
def test_seconds_that_are_taken_for_milliseconds(
    checkpoint: Checkpoint, time: int, warned: bool, unit: str
) -> None:
    job = checkpoint.read_job()
    about = job.about
    if unit:
        options = (*about.tables["orders"].options, ("scan.watermark.unit", unit))
        about = About(
            {"orders": type(about.tables["orders"])("filesystem", "json", options)}, about.filters
        )
    (filter_id,) = about.filters
    entry = an_entry(1, filters={filter_id: {"a": {"watermark": time}}})
    found = warnings_of(checkpoint, replace(job, about=about), entry)
    if not warned or unit:
        assert found == []
    else:
        assert "1714521601 is of January 1970" in found[0]
        assert "declare 'scan.watermark.unit' = 's'" in found[0]


def test_a_column_that_never_came(checkpoint: Checkpoint) -> None:
    absent = {"orders": ["id"]}
    (warning,) = told(checkpoint, 9, absent=absent)
    assert warning.startswith("column 'id' of table 'orders' had no value in any of 7 rows")
    others = [text for text in told_of(checkpoint, 2, 2, absent) if "had no value" in text]
    assert others == [], "nobody knows, if no row was readable"


def told_of(checkpoint: Checkpoint, epoch: int, read: int, absent: object) -> list[str]:
    counts = {"read": read, "used": 0, "filtered": 0, "late": 0, "quarantined": read}
    rejected = {"orders": {"scan": {"malformed": {"rows": read, "seconds": 0.0, "buckets": []}}}}
    entry = an_entry(epoch, counts={"orders": {"a": counts}}, rejected=rejected, absent=absent)
    return warnings_of(checkpoint, checkpoint.read_job(), entry)


@pytest.mark.parametrize(
    ("at", "lag", "option", "warned"),
    [
        (None, 0, {}, "without a watermark by 'b'"),
        (1_000_000_000_000, 0, {}, "at 1000000000000 by 'b'"),
        (1_000_000_000_000, 0, {"idle-timeout": "1 min"}, ""),
        (1_000_000_000_000, 0, {"idle-timeout": "0 s"}, "at 1000000000000 by 'b'"),
        (1_000_000_000_000, 5, {}, ""),  # the job is behind, not the split
        (1_000_003_000_000, 0, {}, ""),  # not far
    ],
)
def test_a_split_that_holds_everything_back(
    checkpoint: Checkpoint, at: int | None, lag: int, option: dict[str, str], warned: str
) -> None:
    job = checkpoint.read_job()
    given = tuple((f"scan.watermark.{name}", value) for name, value in option.items())
    table = replace(job.about.tables["orders"], options=given)
    job = replace(job, about=replace(job.about, tables={"orders": table}))
    (filter_id,) = job.about.filters
    entry = an_entry(
        1,
        filters={filter_id: {"a": {"watermark": 1_000_003_600_000}, "b": {"watermark": at}}},
        statuses={"orders": {"a": Status.ACTIVE, "b": Status.ACTIVE}},
        next_offsets={"orders": {"a": 9, "b": 5}},
        ends={"orders": {"a": 9, "b": 5 + lag}},
    )
    found = warnings_of(checkpoint, job, entry)
    if not warned:
        assert found == []
    else:
        assert f"orders.t is held {warned}, whose rows are all read" in found[0]
        assert "'scan.watermark.idle-timeout' leaves out" in found[0]


def test_output_beside_that_of_another_checkpoint(checkpoint: Checkpoint, tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    (target,) = About.of(plan).sinks
    committer = committer_of(plan, checkpoint)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "part-0003-0000000001-0000.json").write_text("{}\n")
    job = Manifest.of(plan, 2, {target: committer.prepare(True)})
    (warning,) = warnings_of(checkpoint, job, an_entry(1))
    assert warning == (
        f"the output of 'counts' lies beside 1 file of another checkpoint in '{tmp_path}/out'"
    )
