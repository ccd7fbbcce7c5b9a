"""A Delta table is what the changes end in, whatever is published twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kits.many import seeds
from tidegate.connectors.delta import sink as delta_sink
from tidegate.connectors.delta.sink import DeltaCommitter, check_delta, view_path
from tidegate.connectors.option_types import OptionProblem
from tidegate.connectors.staged_parquet import ParquetStager
from tidegate.errors import SinkError, TrustError
from tidegate.plan.tables import Table
from tidegate.ports import Stage, StagedFile
from tidegate.types import OP, Column, Op

COLUMNS = (Column("k 1", "BIGINT"), Column("n", "DECIMAL(38,2)"), Column("at", "TIMESTAMP"))


class Sink:
    """The table ``t`` of a checkpoint in ``directory``."""

    def __init__(self, directory: Path, *options: tuple[str, str], columns: Any = COLUMNS) -> None:
        self.staging = str(directory / "staging" / "1")
        self.table = Table("t", columns, "delta", "parquet", options)
        self.place = dict(options).get("path") or str(directory / "views" / "t")

    def committer(self, remembered: dict[str, str] | None = None) -> DeltaCommitter:
        committer = DeltaCommitter(self.table, self.staging)
        committer.bind(remembered or committer.prepare(fresh=True))
        return committer

    def staged(
        self, epoch: int, *rows: tuple[int | None, str | None], ops: Sequence[Op] = ()
    ) -> list[StagedFile]:
        writer = ParquetStager(self.table, Stage(self.staging, epoch, "0"))
        data = pa.table(
            {
                "n": pa.array([n and Decimal(n) for _, n in rows], pa.decimal128(38, 2)),
                "k 1": pa.array([k for k, _ in rows], pa.int64()),
                "at": pa.array([0] * len(rows), pa.timestamp("us")),
                "__more": pa.array(["x"] * len(rows)),
            }
        )
        if ops:
            data = data.append_column(OP, pa.array([int(op) for op in ops], pa.int8()))
        writer.write(data)
        return writer.close()

    def rows(self) -> list[tuple[int | None, str | None]]:
        found = DeltaTable(self.place).to_pyarrow_table().to_pylist()
        shown = [(row["k 1"], None if row["n"] is None else str(row["n"])) for row in found]
        return sorted(shown, key=str)


@pytest.mark.slow
def test_rows_are_appended_once(tmp_path: Path) -> None:
    sink = Sink(tmp_path)
    assert sink.place == view_path(sink.staging, "t")
    committer = sink.committer()
    first = sink.staged(1, (1, "1.00"), (None, None))
    assert sink.rows() == []
    committer.publish(1, first)
    committer.publish(1, first)
    committer.publish(2, [])
    committer.publish(3, sink.staged(3, (1, "2.00")))
    assert sink.rows() == [(1, "1.00"), (1, "2.00"), (None, None)]
    assert list(Path(sink.staging).iterdir()) == []


@pytest.mark.slow
def test_changes_are_merged_by_the_key(tmp_path: Path) -> None:
    sink = Sink(tmp_path, ("key.fields", "k 1"))
    committer = sink.committer()
    rows = [(1, "1.00"), (2, "2.00"), (None, "3.00")]
    committer.publish(1, sink.staged(1, *rows, ops=[Op.INSERT] * 3))
    changes = [(1, "1.00"), (1, "1.50"), (None, "3.00"), (None, "4.00"), (2, "2.00"), (5, None)]
    update = [Op.UPDATE_BEFORE, Op.UPDATE_AFTER]
    staged = sink.staged(2, *changes, ops=[*update, *update, Op.DELETE, Op.INSERT])
    committer.publish(2, staged)
    assert sink.rows() == [(1, "1.50"), (5, None), (None, "4.00")]
    committer.publish(2, staged)
    again = sink.staged(4, (5, None), (5, "1.00"), ops=update)
    committer.publish(4, again)
    assert sink.rows() == [(1, "1.50"), (5, "1.00"), (None, "4.00")]


@pytest.mark.slow
@pytest.mark.parametrize("keys", ["k 1;n", "n;k 1", "k 1,n", '"k 1" , n'])
def test_a_key_of_several_columns(tmp_path: Path, keys: str) -> None:
    sink = Sink(tmp_path, ("key.fields", keys))
    committer = sink.committer()
    rows = [(1, "1.00"), (1, "2.00"), (None, "1.00"), (2, None)]
    committer.publish(1, sink.staged(1, *rows, ops=[Op.INSERT] * 4))
    changes = [(1, "2.00"), (2, None), (2, None), (None, None)]
    ops = [Op.DELETE, Op.UPDATE_BEFORE, Op.UPDATE_AFTER, Op.INSERT]
    committer.publish(2, sink.staged(2, *changes, ops=ops))
    assert sink.rows() == [(1, "1.00"), (2, None), (None, "1.00"), (None, None)]


def test_an_epoch_that_was_applied_before_a_crash_is_not_applied_again(tmp_path: Path) -> None:
    sink = Sink(tmp_path)
    remembered = DeltaCommitter(sink.table, sink.staging).prepare(fresh=True)
    staged = sink.staged(1, (1, "1.00"))
    content = Path(staged[0].path).read_bytes()
    sink.committer(remembered).publish(1, staged)
    Path(staged[0].path).write_bytes(content)  # the crash was before it was removed
    after = sink.committer(remembered)
    assert after.prepare(fresh=False) == {}
    after.publish(1, staged)
    assert sink.rows() == [(1, "1.00")]
    another = sink.committer()  # another checkpoint counts for itself
    another.publish(1, sink.staged(1, (2, "1.00")))
    assert sink.rows() == [(1, "1.00"), (2, "1.00")]


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(4))
def test_equal_rows_come_and_go_one_by_one(tmp_path: Path, seed: int) -> None:
    """Nothing tells rows apart, some of which have NULLs; each epoch is published twice."""
    rng, there = Random(seed), Counter[tuple[int | None, str | None]]()
    sink = Sink(tmp_path, ("changes.by", "row"))
    committer = sink.committer()
    for epoch in range(1, 9):
        came = [
            (rng.choice([None, 1, 2]), rng.choice([None, "1.00"])) for _ in range(rng.randrange(5))
        ]
        went = rng.sample(sorted(there.elements(), key=str), rng.randint(0, there.total()))
        there = there + Counter(came) - Counter(went)
        ops = [Op.DELETE] * len(went) + [Op.INSERT] * len(came)
        files = sink.staged(epoch, *went, *came, ops=ops) if ops else []
        for _ in range(2):
            committer.publish(epoch, files)
        assert Counter(sink.rows()) == there


@pytest.mark.slow
def test_one_row_has_no_key(tmp_path: Path) -> None:
    sink = Sink(tmp_path, ("key.fields", ""))
    committer = sink.committer()
    committer.publish(1, sink.staged(1, (1, "1.00"), ops=[Op.INSERT]))
    update = [Op.UPDATE_BEFORE, Op.UPDATE_AFTER]
    committer.publish(2, sink.staged(2, (1, "1.00"), (7, None), ops=update))
    assert sink.rows() == [(7, None)]


@pytest.mark.slow
def test_small_files_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_sink, "TIDY_EVERY", 5)
    sink = Sink(tmp_path)
    committer = sink.committer()
    for epoch in range(1, 12):
        committer.publish(epoch, sink.staged(epoch, (epoch, None)))
    assert len(sink.rows()) == 11
    assert len(DeltaTable(sink.place).file_uris()) < 6


def test_what_is_staged_and_not_published_goes(tmp_path: Path) -> None:
    sink = Sink(tmp_path)
    committer = sink.committer()
    lost, later = sink.staged(2, (1, None)), sink.staged(3, (2, None))
    committer.discard_unknown(2)
    committer.publish(3, later)
    with pytest.raises(TrustError, match="a staged file of the Delta table"):
        committer.publish(4, lost)
    writer = ParquetStager(sink.table, Stage(sink.staging, 5, "0"))
    writer.abort()
    assert writer.close() == []


def test_a_table_of_other_columns_or_none_stops_the_job(tmp_path: Path) -> None:
    place = str(tmp_path / "elsewhere")
    Sink(tmp_path, ("path", place)).committer()
    other = Sink(tmp_path, ("path", place), columns=(Column("id", "BIGINT"),))
    with pytest.raises(SinkError, match="has other columns") as caught:
        other.committer()
    assert "k 1" in caught.value.detail
    with pytest.raises(TrustError, match="is gone"):
        DeltaCommitter(Sink(tmp_path).table, other.staging).prepare(fresh=False)
    with pytest.raises(TrustError, match="whose versions"):
        DeltaCommitter(Sink(tmp_path).table, other.staging).bind({})


def test_times_of_zones_are_kept_in_utc(tmp_path: Path) -> None:
    sink = Sink(tmp_path, columns=(Column("z", "TIMESTAMP WITH TIME ZONE"),))
    committer = sink.committer()
    writer = ParquetStager(sink.table, Stage(sink.staging, 1, "0"))
    writer.write(pa.table({"z": pa.array([0], pa.timestamp("us", "Europe/Berlin"))}))
    committer.publish(1, writer.close())
    assert DeltaTable(sink.place).to_pyarrow_table().column("z").cast(pa.int64()).to_pylist() == [0]


def a_table(type_: str) -> Table:
    return Table("t", (Column("c", type_),), "delta", "parquet")


@pytest.mark.parametrize(
    "type_",
    [
        *("BIGINT", "DECIMAL(38,4)", "VARCHAR", "BLOB", "DATE", "TIMESTAMP WITH TIME ZONE"),
        *("BIGINT[]", "STRUCT(a INTEGER, b VARCHAR[])"),
    ],
)
def test_what_delta_has(type_: str) -> None:
    check_delta(a_table(type_))


@pytest.mark.parametrize("type_", ["HUGEINT", "UBIGINT", "TIME", "INTERVAL", "STRUCT(a TIME)"])
def test_what_it_has_not(type_: str) -> None:
    with pytest.raises(OptionProblem, match="which Delta has not"):
        check_delta(a_table(type_))
