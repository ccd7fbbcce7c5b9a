from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.connectors.formats.parquet_format import encode
from tidegate.connectors.formats.parquet_seal import KEY, UNSEALED, is_intact


def test_a_sealed_file_is_read_by_anybody() -> None:
    rows = pa.table({"a": [1, 2], "b": ["x", None]})
    content = encode(rows)
    assert is_intact(content)
    assert pq.read_table(io.BytesIO(content)).equals(rows)
    metadata = pq.read_metadata(io.BytesIO(content)).metadata
    assert len(metadata[KEY.encode()]) == len(UNSEALED)
    assert UNSEALED.encode() not in content


def test_rows_that_look_like_a_seal_are_none() -> None:
    """Rows come before the footer."""
    rows = pa.table({"a": [f"{KEY}\x18@{UNSEALED}"] * 2})
    content = encode(rows)
    assert is_intact(content)
    assert not is_intact(content.replace(b"PAR1", b"PAR2"))


def test_files_without_one_are_taken_as_they_are() -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), buffer)
    assert is_intact(buffer.getvalue())
