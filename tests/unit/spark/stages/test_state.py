from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from tidegate.errors import TrustError
from tidegate.spark.stages.run_cache import RunCache
from tidegate.spark.stages.state import VnodeState
from tidegate.state import MemoryStateTable, Run, StateTable

VNODE: Final = 5
EPOCH: Final = 7


class Store:
    """Spark's ValueState and MapState, in memory; counts the calls."""

    def __init__(self) -> None:
        self.value: tuple[bytes] | None = None
        self.runs: dict[int, bytes | None] = {}
        self.updates = 0

    def get(self) -> Any:
        return self.value

    def update(self, newValue: Any) -> None:  # noqa: N803
        self.value = newValue
        self.updates += 1

    def getValue(self, key: Any) -> Any:  # noqa: N802
        run = self.runs[key[0]]
        return None if run is None else (run,)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.runs[key[0]] = value[0]

    def removeKey(self, key: Any) -> None:  # noqa: N802
        del self.runs[key[0]]


def run(*values: int) -> pa.Table:
    return pa.table({"v": pa.array(values, pa.int64())})


def held(table: StateTable, bucket: int) -> list[int]:
    return [value for part in table.read(bucket) for value in part.column("v").to_pylist()]


NO_CACHE: Final = RunCache(Path("/nowhere/runs"))


def reopened(store: Store, cache: RunCache = NO_CACHE) -> VnodeState:
    return VnodeState(
        store, store, 1, VNODE, "spark/state/0/1", lambda old: old.removeprefix("1.0."), cache
    )


def test_everything_comes_back_in_the_next_epoch() -> None:
    store = Store()
    state = reopened(store)
    state.table("sort").put("watermark", b"\0\xff")
    state.table("sort").append(-10, run(1, 2))
    state.table("sort").append(-10, run(3))
    state.table("window").append(20, run(4), level=2)
    before = state.kept("")
    state.save(EPOCH)

    state = reopened(store)
    assert state.table("sort").get("watermark") == b"\0\xff"
    assert state.table("sort").get("other") is None
    assert held(state.table("sort"), -10) == [1, 2, 3]
    assert state.table("window").levels(20) == [2]
    assert state.table("window").buckets() == [20]
    assert held(state.table("window"), 30) == []
    assert state.kept("") == before
    assert [(bucket, run.rows) for bucket, run in before["sort"]] == [(-10, 2), (-10, 1)]
    assert [run.bytes > 0 for _, run in before["window"]] == [True]
    assert state.kept("so").keys() == {"rt"}


def test_runs_of_an_older_release_have_no_sizes() -> None:
    store = Store()
    state = reopened(store)
    state.table("sort").append(5, run(1, 2), level=1)
    state.save(EPOCH)
    document = json.loads(store.get()[0])
    ((_, table),) = document["tables"]
    (kept,) = table["runs"]["5"]
    table["runs"]["5"] = [kept[:2]]
    store.update((json.dumps(document).encode(),))
    state = reopened(store)
    assert held(state.table("sort"), 5) == [1, 2]
    assert state.table("sort").levels(5) == [1]
    assert [run.rows for _, run in state.kept("")["sort"]] == [0]


def test_nothing_is_written_when_nothing_changed() -> None:
    store = Store()
    state = reopened(store)
    state.table("empty")
    state.save(EPOCH)
    assert store.updates in (0, 1)
    before = store.updates
    reopened(store).save(EPOCH)
    assert store.updates == before


def test_what_is_deleted_leaves_the_store() -> None:
    store = Store()
    state = reopened(store)
    table = state.table("t")
    for bucket in (10, 20, 30):
        table.append(bucket, run(bucket))
    table.delete_until(30)
    assert table.buckets() == [30]
    assert len(store.runs) == 1
    table.delete_bucket(30)
    table.delete_bucket(30)
    assert store.runs == {}
    state.save(EPOCH)
    assert store.value is not None
    assert json.loads(store.value[0])["tables"] == []


def test_numbers_of_runs_are_never_used_again() -> None:
    store = Store()
    state = reopened(store)
    state.table("t").append(1, run(1))
    first = set(store.runs)
    state.table("t").delete_bucket(1)
    state.save(EPOCH)
    state = reopened(store)
    state.table("t").append(1, run(2))
    assert not first & set(store.runs)


@pytest.mark.parametrize("below", [1, 2])
def test_replace_is_that_of_the_port(below: int) -> None:
    spark, memory = reopened(Store()).table("t"), MemoryStateTable()
    for table in (spark, memory):
        for level, value in ((2, 1), (0, 2), (1, 3), (0, 4)):
            table.append(5, run(value), level)
        assert [part.num_rows for part in table.read(5, below)] == [1] * (below + 1)
        table.replace(5, below, run(7, 8))
    assert spark.levels(5) == memory.levels(5)
    assert held(spark, 5) == held(memory, 5)


def test_state_of_0_1_is_read_by_the_names_of_now() -> None:
    store = Store()
    state = reopened(store)
    state.table("sort").put("watermark", b"7")
    state.table("sort").append(5, run(1, 2))
    state.save(EPOCH)
    document = json.loads(store.get()[0])
    ((_, table),) = document["tables"]
    old = {"next": document["next"], "tables": {"1.0.sort": table}}
    store.update((json.dumps(old).encode(),))
    for _ in range(2):  # an epoch that is run again finds the old ones again
        state = reopened(store)
        assert state.table("sort").get("watermark") == b"7"
        assert held(state.table("sort"), 5) == [1, 2]
    state.save(EPOCH)
    assert json.loads(store.get()[0]) == document
    assert held(reopened(store).table("sort"), 5) == [1, 2]


def test_state_says_whose_it_is_and_when_it_was_last_changed() -> None:
    store = Store()
    state = reopened(store)
    state.table("t").put("n", b"1")
    state.save(3)
    assert (state.version.found, state.version.left) == (0, 3)
    state = reopened(store)
    state.save(4)  # nothing was changed
    assert (state.version.found, state.version.left) == (3, 3)
    state.table("t").put("n", b"2")
    state.save(5)
    assert (state.version.found, state.version.left) == (3, 5)


def test_state_of_another_vnode_is_not_taken() -> None:
    store = Store()
    reopened(store).save(EPOCH)
    with pytest.raises(TrustError, match=r"spark/state/0/1 .* vnode 5 in stage 1 for vnode 6 in"):
        VnodeState(store, store, 1, 6, "spark/state/0/1", str, NO_CACHE)


def test_a_run_that_is_gone_is_named() -> None:
    store = Store()
    state = reopened(store)
    state.table("t").append(1, run(1))
    store.runs = dict.fromkeys(store.runs)  # as Spark says it of a key that is not there
    with pytest.raises(TrustError, match="spark/state/0/1 lacks run 1 of its state"):
        state.table("t").read(1)


def with_keyed_run(store: Store, cache: RunCache) -> Run:
    state = reopened(store, cache)
    table = state.table("t")
    table.runs[0] = [table.write_run(run(1, 2), 3, 10, 2**64 - 1)]
    state.save(EPOCH)
    return table.runs[0][0]


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_keyed_run_is_read_from_the_host_or_the_store(tmp_path: Path, is_lost: bool) -> None:
    store = Store()
    written = with_keyed_run(store, RunCache(tmp_path / "runs"))
    (file,) = (tmp_path / "runs").iterdir()
    if is_lost:
        file.unlink()
    else:  # then the store is not asked
        store.runs.clear()
    state = reopened(store, RunCache(tmp_path / "runs"))
    (found,) = state.table("t").runs[0]
    assert found == written
    assert state.table("t").read_run(found) == run(1, 2)
    assert file.exists()
    store.runs[found.number] = b""
    state.table("t").forget_run(found)
    assert not file.exists()
    assert not store.runs


def test_a_bucket_takes_its_files_with_it(tmp_path: Path) -> None:
    store = Store()
    with_keyed_run(store, RunCache(tmp_path / "runs"))
    state = reopened(store, RunCache(tmp_path / "runs"))
    state.table("t").delete_bucket(0)
    assert list((tmp_path / "runs").iterdir()) == []
    assert not store.runs


def test_a_keyed_run_that_is_another_is_named(tmp_path: Path) -> None:
    store = Store()
    written = with_keyed_run(store, RunCache(tmp_path / "runs"))
    state = reopened(store)
    store.runs[written.number] = b"another"
    with pytest.raises(TrustError, match="spark/state/0/1 has another run 1 than it had"):
        state.table("t").read_run(written)
