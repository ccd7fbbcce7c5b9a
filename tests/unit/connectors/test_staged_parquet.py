"""Rows that wait for their epoch: in order, part by part, gone when they are published."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tidegate.connectors.staged_parquet import ParquetStager, staged_parts
from tidegate.connectors.staging import Staging
from tidegate.errors import TrustError
from tidegate.plan.tables import Table
from tidegate.ports import Stage, StagedFile, in_order
from tidegate.types import OP, Column

TABLE = Table("t", (Column("k", "BIGINT"),), "postgres", "")


def staged(directory: Path, writer: str, *keys: int) -> list[StagedFile]:
    stager = ParquetStager(TABLE, Stage(str(directory), 1, writer))
    ops = pa.array([0] * len(keys), pa.int8())
    stager.write(pa.table({"more": pa.array(keys), "k": pa.array(keys), OP: ops}))
    return stager.close()


def test_rows_come_in_their_order(tmp_path: Path) -> None:
    both = staged(tmp_path, "10", *range(70_000)) + staged(tmp_path, "9", 1, 2)
    staging, files = Staging(str(tmp_path)), in_order(both)
    parts = list(staged_parts(staging, files, "table 't'"))
    assert [part.num_rows for part in parts] == [2, 65_536, 4_464]
    assert parts[0].column_names == ["k", OP]
    assert [file.rows for file in both] == [70_000, 2]
    staging.delete(files)
    staging.delete(files)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TrustError, match="a staged file of table 't' is lost"):
        list(staged_parts(staging, files, "table 't'"))


def test_nothing_is_left_of_what_is_given_up(tmp_path: Path) -> None:
    assert staged(tmp_path, "0") == []
    stager = ParquetStager(TABLE, Stage(str(tmp_path), 1, "0"))
    stager.write(pa.table({"k": [1]}))
    stager.abort()
    assert stager.close() == []
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_changed_is_not_published(tmp_path: Path) -> None:
    (file,) = staged(tmp_path, "0", 1, 2)
    content = Path(file.path).read_bytes()
    for at in range(len(content)):
        Path(file.path).write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        with pytest.raises(TrustError, match="a staged file was changed"):
            list(staged_parts(Staging(str(tmp_path)), [file], "table 't'"))
