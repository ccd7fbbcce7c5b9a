"""How far rows reach, and that no byte is counted twice."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from tidegate.connectors.filesystem import line_count
from tidegate.connectors.filesystem.files import DataFile
from tidegate.connectors.filesystem.line_count import ParquetMeasure, TextMeasure


def put(path: Path, content: bytes) -> DataFile:
    path.write_bytes(content)
    return DataFile(path.name, str(path), len(content), 0)


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
def test_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(line_count, "BLOCK_BYTES", block)
    file = put(tmp_path / "x", b"a\nbb\n\nccc")
    measure = TextMeasure(fs.LocalFileSystem())
    assert measure.end(file) == 9
    assert measure.whole_end(file) == 6
    assert measure.advance(file, 0, 9, 1) == (2, 1)
    assert measure.advance(file, 2, 9, 2) == (6, 2)
    assert measure.advance(file, 6, 9, 5) == (9, 1)
    assert measure.advance(file, 6, 6, 5) == (6, 0)
    assert measure.bytes_counted == 9
    assert measure.advance(file, 0, 9, 9) == (9, 4)  # a look back starts anew
    measure.forget(file)


def test_no_newline_at_all(tmp_path: Path) -> None:
    measure = TextMeasure(fs.LocalFileSystem())
    assert measure.whole_end(put(tmp_path / "x", b"abc" * 50_000)) == 0
    assert measure.whole_end(put(tmp_path / "y", b"\n" + b"a" * 100_000)) == 1


def test_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": range(10)}), tmp_path / "x")
    file = DataFile("x", str(tmp_path / "x"), 1, 0)
    measure = ParquetMeasure(fs.LocalFileSystem())
    assert (measure.end(file), measure.whole_end(file)) == (10, 10)
    assert measure.advance(file, 3, 10, 4) == (7, 4)
    assert measure.advance(file, 7, 10, 4) == (10, 3)
    measure.forget(file)
