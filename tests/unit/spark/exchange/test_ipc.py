from __future__ import annotations

from typing import Literal

import pyarrow as pa
import pytest

from tidegate.spark.exchange.ipc import COMPRESSED_BYTES_MIN, packed, unpacked


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
@pytest.mark.parametrize("rows", [0, 3, COMPRESSED_BYTES_MIN // 8, COMPRESSED_BYTES_MIN])
def test_what_is_packed_comes_back(codec: Literal["lz4", "zstd"], rows: int) -> None:
    data = pa.table(
        {
            "n": pa.array(range(rows), pa.int64()),
            "text": pa.array([None if number % 3 else str(number) for number in range(rows)]),
        }
    ).replace_schema_metadata({"split": "a"})
    parts = pa.concat_tables([data.slice(0, rows // 2), data.slice(rows // 2)])
    body = packed(parts, codec)
    assert unpacked(body).equals(data, check_metadata=True)
    assert (len(body) < data.nbytes) == (data.nbytes >= COMPRESSED_BYTES_MIN)


def test_tables_of_before_are_read_the_same() -> None:
    data = pa.table({"n": range(COMPRESSED_BYTES_MIN)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write_table(data)
    assert unpacked(sink.getvalue().to_pybytes()).equals(data)
