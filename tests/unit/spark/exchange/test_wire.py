from __future__ import annotations

import pyarrow as pa
import pytest

from tidegate.spark.exchange.wire import (
    ARROW_SCHEMA,
    BATCH_BYTES_MAX,
    BODY_BYTES_MAX,
    AlignedBarrier,
    Kind,
    Row,
    decode,
    decode_chunk,
    encode,
    port_of,
    to_batches,
    upstream_of,
)
from tidegate.types import Barrier, Chunk, Message, Rejected, SplitStatus, Status, Watermark


@pytest.mark.parametrize(
    "message",
    [
        Watermark("t", -7),
        Watermark("t", None, Status.IDLE),
        SplitStatus(Status.FINISHED, "a/ü"),
        SplitStatus(Status.ACTIVE, "s", (("filter-1", 2**60),)),
        Chunk(pa.table({"v": [1, None, 3], "s": ["x", "", None]})),
        Chunk(pa.table({"v": [1]}), split="directory/ü"),
        Chunk(pa.table({"v": [1]}), split=""),
    ],
)
def test_messages_come_back_equal(message: Message) -> None:
    ((kind, body),) = encode(message)
    assert decode(kind, body) == message


def test_barriers_travel_with_their_peers() -> None:
    ((kind, body),) = encode(Barrier(3, 17), (0, 2))
    assert decode(kind, body) == AlignedBarrier(Barrier(3, 17), (0, 2))


def test_an_empty_chunk_is_no_message() -> None:
    assert list(encode(Chunk(pa.table({"v": pa.array([], pa.int64())})))) == []


@pytest.mark.slow
@pytest.mark.parametrize("wrap", [Chunk, Rejected])
def test_large_chunks_are_cut(wrap: type[Chunk] | type[Rejected]) -> None:
    data = pa.table({"v": range(3 * BODY_BYTES_MAX // 8)})
    bodies = [body for _, body in encode(wrap(data))]
    assert 3 <= len(bodies) <= 4
    assert max(map(len, bodies)) < BODY_BYTES_MAX + 4096
    assert pa.concat_tables([decode_chunk(body).data for body in bodies]).equals(data)


def test_a_row_that_is_larger_than_a_body_travels_alone() -> None:
    data = pa.table({"v": [b"x" * (BODY_BYTES_MAX + 1), b"y"]})
    bodies = [body for _, body in encode(Chunk(data))]
    assert len(bodies) == 2
    assert pa.concat_tables([decode_chunk(body).data for body in bodies]).equals(data)


def test_upstreams_sort_by_port_then_instance() -> None:
    pairs = [(0, 0), (0, 4095), (1, 0), (3, 7)]
    assert [port_of(upstream_of(*pair)) for pair in pairs] == pairs
    numbers = [upstream_of(*pair) for pair in pairs]
    assert numbers == sorted(numbers)


def test_batches_hold_rows_in_order_up_to_their_size() -> None:
    rows = [Row(1, 2, 3, 4, n, Kind.CHUNK, b"x" * (BATCH_BYTES_MAX // 2)) for n in range(5)]
    batches = list(to_batches(rows))
    assert [batch.num_rows for batch in batches] == [2, 2, 1]
    assert all(batch.schema == ARROW_SCHEMA for batch in batches)
    assert [n for batch in batches for n in batch.column("seq").to_pylist()] == [0, 1, 2, 3, 4]
    assert list(to_batches([])) == []
