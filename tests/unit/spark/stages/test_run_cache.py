from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pytest

from tidegate.epochs.job import WireJob
from tidegate.spark.stages.run_cache import RunCache, run_cache

RUN = pa.table({"v": pa.chunked_array([[1, 2], [3]]), "t": ["a", None, "c"]})


def test_a_run_is_mapped_by_all_workers_of_the_host(tmp_path: Path) -> None:
    first, second = RunCache(tmp_path / "runs"), RunCache(tmp_path / "runs")
    assert second.find("a") is None
    mapped = first.keep("a", RUN)
    assert mapped == RUN
    assert mapped.column("v").num_chunks == 1
    assert second.find("a") == RUN
    assert (tmp_path / "runs").stat().st_mode & 0o777 == 0o700
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["a"]


def test_what_is_dropped_is_used_on_by_who_has_it(tmp_path: Path) -> None:
    cache = RunCache(tmp_path / "runs")
    mapped = cache.keep("a", RUN)
    cache.drop("a")
    cache.drop("a")
    assert mapped == RUN
    assert cache.find("a") is None
    assert cache.keep("a", RUN) == RUN


def test_without_room_a_run_is_used_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = RunCache(tmp_path / "runs")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert cache.keep("a", RUN) == RUN
    assert list((tmp_path / "runs").iterdir()) == []
    assert cache.find("a") is None
    nowhere = RunCache(tmp_path / "none" / "runs")
    assert nowhere.keep("a", RUN) == RUN


def test_it_lies_with_the_driver_or_where_spark_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/other")
    places = []
    for mark in (tmp_path / "stop", tmp_path / "elsewhere" / "stop", Path("/x/stop"), ""):
        job = cast(WireJob, SimpleNamespace(stop_mark=str(mark)))
        places.append(run_cache(job)._directory)
        assert run_cache(job)._directory == places[-1]
    assert places[0] == tmp_path / "runs"
    assert len(set(places)) == 4
    assert {place.parent for place in places[1:]} == {tmp_path}
