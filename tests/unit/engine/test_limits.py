"""What an engine may take: from the container's bound, by the tasks beside it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tidegate.engine.engine import Engine
from tidegate.engine.limits import MEMORY_BYTES_MIN, UNSHARED, Limits, host_memory

GB = 1 << 30
TREE = {
    "v2, in a container": ("0::/\n", {"memory.max": "3221225472"}),
    "v2, on a host": (
        "0::/user/job\n",
        {"user/job/memory.max": "max", "user/memory.max": f"{3 * GB}"},
    ),
    "v1, in a container": (
        "4:memory:/kube/pod\n0::/\n",
        {"memory/memory.limit_in_bytes": f"{3 * GB}"},
    ),
    "v1, on a host": (
        "5:cpu:/a\n4:memory:/a\n",
        {
            "memory/memory.limit_in_bytes": f"{2**63 - 4096}",
            "memory/a/memory.limit_in_bytes": f"{3 * GB}",
        },
    ),
}


@pytest.mark.parametrize("name", TREE)
def test_the_bound_of_the_container(tmp_path: Path, name: str) -> None:
    said, files = TREE[name]
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text(said)
    for path, text in files.items():
        file = tmp_path / "groups" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    assert host_memory(tmp_path / "groups", tmp_path / "proc") == 3 * GB


def test_a_machine_without_groups_has_what_it_has(tmp_path: Path) -> None:
    assert host_memory(tmp_path, tmp_path) > GB


def test_tasks_share_what_the_heap_leaves() -> None:
    assert UNSHARED.memory(8 * GB) == 4 * GB
    assert Limits(3, 2 * GB).memory(8 * GB) == GB
    assert Limits(3, 2 * GB, 7).memory(8 * GB) == 7
    assert Limits(64, 2 * GB).memory(GB) == MEMORY_BYTES_MIN


def test_an_engine_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    engine = Engine(limits=Limits(memory_bytes=64 << 20, temp_bytes=5 << 20))
    names = ("memory_limit", "temp_directory", "max_temp_directory_size")
    asked = ", ".join(f"current_setting('{name}')" for name in names)
    memory, place, disk = engine.query(f"SELECT {asked}").to_pylist()[0].values()
    assert memory == "64.0 MiB"
    assert Path(place).parent == tmp_path
    assert disk == "5.0 MiB"
    with pytest.raises(duckdb.OutOfMemoryException):
        engine.query("SELECT array_agg(i || 'abcdefghijklmnop') FROM range(20_000_000) t(i)")
    assert not list(tmp_path.iterdir()), "nothing is left"
