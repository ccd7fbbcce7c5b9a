from __future__ import annotations

import pyarrow as pa
import pytest

from kits.executor import ENGINE, Text
from tidegate.engine.engine import Engine
from tidegate.errors import InvariantError
from tidegate.executor.exchange.dispatch import SLICE_ROWS_MIN, Dispatch, hash_probe
from tidegate.plan.physical import Distribution
from tidegate.types import LEDGER_SCHEMA, Chunk, Rejected

TEXT = Text("k BIGINT, s VARCHAR, v BIGINT")
ROWS = "; ".join(f"{index % 7} x{index % 3} {index}" for index in range(50))


def routed(dispatch: Dispatch, chunk: Chunk) -> list[tuple[int | None, list[int]]]:
    result = []
    for vnode, message in dispatch.route(chunk):
        assert isinstance(message, Chunk)
        assert message.split == chunk.split
        result.append((vnode, message.data.column("v").to_pylist()))
    return result


def test_rows_of_one_key_go_to_one_vnode_in_their_order() -> None:
    dispatch = Dispatch(("k", "s"), 4, ENGINE)
    got = routed(dispatch, TEXT.chunk(ROWS))
    assert [vnode for vnode, _ in got] == [0, 1, 2, 3]
    assert sorted(value for _, values in got for value in values) == list(range(50))
    for _, values in got:
        assert values == sorted(values)
        assert not {v % 21 for v in values} & {
            v % 21 for _, other in got if other is not values for v in other
        }
    # The same key from another chunk goes the same way.
    again = {v % 21: vnode for vnode, values in got for v in values}
    for vnode, values in routed(dispatch, TEXT.chunk(ROWS)):
        assert all(again[v % 21] == vnode for v in values)


def test_one_key_is_one_chunk_that_is_not_copied() -> None:
    chunk = TEXT.chunk("1 a 0; 1 a 1; . a 2").data
    first = Chunk(chunk.slice(0, 2))
    ((_, message),) = Dispatch(("k",), 8, ENGINE).route(first)
    assert message is first
    assert len(routed(Dispatch(("k",), 8, ENGINE), Chunk(chunk.slice(2)))) == 1  # NULL is a key


@pytest.mark.parametrize("mode", [Distribution.HASH, Distribution.SPREAD, Distribution.GATHER])
def test_one_vnode_needs_no_work(mode: Distribution) -> None:
    chunk = TEXT.chunk(ROWS)
    assert list(Dispatch(("k",), 1, ENGINE, mode).route(chunk)) == [(0, chunk)]


def test_gather_is_vnode_0() -> None:
    chunk = TEXT.chunk(ROWS)
    assert list(Dispatch((), 8, ENGINE, Distribution.GATHER).route(chunk)) == [(0, chunk)]


def test_spread_cuts_contiguous_slices_round_robin() -> None:
    def of(rows: int) -> Chunk:
        return Chunk(pa.table({"v": range(rows)}))

    dispatch = Dispatch((), 3, ENGINE, Distribution.SPREAD, first=2)
    assert [vnode for vnode, _ in routed(dispatch, of(10))] == [2]
    assert [vnode for vnode, _ in routed(dispatch, of(10))] == [0]
    got = routed(dispatch, of(3 * SLICE_ROWS_MIN + 1))
    assert [vnode for vnode, _ in got] == [1, 2, 0]
    assert [value for _, values in got for value in values] == list(range(3 * SLICE_ROWS_MIN + 1))
    assert max(len(values) for _, values in got) == SLICE_ROWS_MIN + 1


def test_by_split_keeps_chunks_whole_and_splits_together() -> None:
    dispatch = Dispatch((), 64, ENGINE, Distribution.BY_SPLIT)
    homes = {}
    for split in ("orders-0", "orders-1", "orders-2"):
        chunk = TEXT.chunk(ROWS, split)
        ((vnode, message),) = dispatch.route(chunk)
        assert message is chunk
        homes[split] = vnode
        (routed_status,) = dispatch.route(TEXT.parse(f"status idle {split}"))
        assert routed_status[0] == vnode
    assert len(set(homes.values())) == 3
    assert homes["orders-0"] == 16  # CRC-32: state of old checkpoints lies there
    with pytest.raises(InvariantError, match="without a split"):
        list(dispatch.route(TEXT.chunk(ROWS)))


@pytest.mark.parametrize("line", ["watermark t 5 idle", "barrier 1"])
@pytest.mark.parametrize("mode", list(Distribution))
def test_what_is_said_to_all(line: str, mode: Distribution) -> None:
    message = TEXT.parse(line)
    assert list(Dispatch(("k",), 4, ENGINE, mode).route(message)) == [(None, message)]


def test_statuses_end_where_splits_do() -> None:
    assert list(Dispatch(("k",), 4, ENGINE).route(TEXT.parse("status idle s0"))) == []


def test_rejected_rows_are_not_doubled() -> None:
    rejected = Rejected(LEDGER_SCHEMA.empty_table())
    assert list(Dispatch(("k",), 4, ENGINE).route(rejected)) == [(0, rejected)]


def test_an_empty_chunk_goes_nowhere() -> None:
    assert list(Dispatch(("k",), 4, ENGINE).route(TEXT.chunk(""))) == []


def test_the_probe_is_the_same_in_every_engine() -> None:
    assert hash_probe(ENGINE) == hash_probe(Engine("Europe/Berlin"))
    assert len(hash_probe(ENGINE)) == 8


def test_hash_needs_keys() -> None:
    with pytest.raises(InvariantError, match="without key columns"):
        Dispatch((), 4, ENGINE, Distribution.HASH)
