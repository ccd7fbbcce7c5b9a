"""The filesystem sink in a bucket: staged, published, claimed; and its rows read back."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyarrow import fs

from tidegate.connectors.delta.sink import DeltaCommitter, store_options
from tidegate.connectors.filesystem.sink import FilesystemCommitter, FilesystemWriter
from tidegate.connectors.staged_parquet import ParquetStager
from tidegate.errors import TrustError
from tidegate.plan.tables import Table
from tidegate.ports import BESIDE, Stage
from tidegate.types import OP, Column, Op


@pytest.fixture
def table(bucket: str) -> Table:
    options = (("format", "json"), ("path", f"{bucket}/out"))
    return Table("t", (Column("a", "BIGINT"),), "filesystem", "json", options)


def listed(table: Table) -> dict[str, list[Any]]:
    """The visible files and their rows."""
    filesystem, root = fs.FileSystem.from_uri(str(table.option("path")))
    infos = filesystem.get_file_info(fs.FileSelector(root, allow_not_found=True))
    found = {}
    for info in infos:
        if info.type == fs.FileType.File:
            with filesystem.open_input_file(info.path) as file:
                found[info.base_name] = [json.loads(x)["a"] for x in file.read().splitlines()]
    return found


def write(table: Table, epoch: int, *values: int) -> Any:
    writer = FilesystemWriter(table, Stage("scope", epoch, "0"))
    writer.write(pa.table({"a": values}))
    return writer.close()


def test_files_are_hidden_until_they_are_published_once(table: Table) -> None:
    committer = FilesystemCommitter(table, "scope")
    assert committer.prepare(True) == {"generation": "1"}
    staged = write(table, 1, 1, 2)
    assert listed(table) == {}
    committer.publish(1, staged)
    there = {"part-0001-0000000001-0000.json": [1, 2]}
    assert listed(table) == there
    committer.publish(1, staged)
    assert listed(table) == there
    later = write(table, 3, 3)
    committer.discard_unknown(2)
    committer.publish(3, later)
    assert listed(table) == {**there, "part-0001-0000000003-0000.json": [3]}
    lost = write(table, 3, 4)
    committer.discard_unknown(3)
    with pytest.raises(TrustError, match="is lost"):
        committer.publish(4, lost)


def test_generations_are_claimed_by_one_each(table: Table) -> None:
    first = FilesystemCommitter(table, "one").prepare(True)
    second = FilesystemCommitter(table, "two").prepare(True)
    assert [first, second] == [{"generation": "1"}, {"generation": "2"}]
    again = FilesystemCommitter(table, "one")
    again.bind(first)
    again.publish(1, write(table, 1, 1))
    third = FilesystemCommitter(table, "three").prepare(True)
    assert third.pop(BESIDE).startswith("1 file of another checkpoint")
    assert third == {"generation": "3"}


def test_a_delta_table_in_a_bucket(bucket: str) -> None:
    options = (("key.fields", "a"), ("path", f"{bucket}/delta"))
    view = Table("v", (Column("a", "BIGINT"), Column("n", "BIGINT")), "delta", "parquet", options)
    staging = f"{bucket}/checkpoint/staging/1"
    committer = DeltaCommitter(view, staging)
    committer.bind(committer.prepare(True))

    def staged(epoch: int, *changes: tuple[int, int, Op]) -> Any:
        writer = ParquetStager(view, Stage(staging, epoch, "0"))
        a, n, ops = zip(*changes, strict=True)
        writer.write(pa.table({"a": a, "n": n, OP: pa.array(map(int, ops), pa.int8())}))
        return writer.close()

    committer.publish(1, staged(1, (1, 1, Op.INSERT), (2, 1, Op.INSERT)))
    update = staged(2, (1, 1, Op.UPDATE_BEFORE), (1, 2, Op.UPDATE_AFTER), (2, 1, Op.DELETE))
    committer.publish(2, update)
    committer.publish(2, update)
    found = DeltaTable(f"{bucket}/delta", storage_options=store_options())
    assert found.to_pyarrow_table().to_pylist() == [{"a": 1, "n": 2}]
    assert committer.prepare(False) == {}
