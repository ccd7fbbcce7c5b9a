"""Places that are full, read-only or refuse: exit code 5, with the path and what to do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tidegate.connectors.staging import sink_errors
from tidegate.errors import RefusedError, SinkError, SinkRefusedError
from tidegate.refusals import is_refused_by_store, refusal, refusal_in, refusals_told, resumes
from tidegate.store.local import LocalStore


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, ["is full", "bytes are free", "make room"]),
        (errno.EDQUOT, ["quota", "bytes are free", "make room"]),
        (errno.EROFS, ["is read-only", "of user"]),
        (errno.EACCES, ["refuses this user", "of user", f"this is user {os.geteuid()}"]),
    ],
)
def test_the_system_refuses(tmp_path: Path, number: int, words: list[str]) -> None:
    place = str(tmp_path / "out" / "file")
    found = refusal(OSError(number, "x", place))
    assert isinstance(found, RefusedError)
    assert found.exit_code == 5
    for word in [place, *words]:
        assert word in found.render()


def test_other_errors_are_none() -> None:
    assert refusal(OSError(errno.ENOENT, "x", "y")) is None
    assert refusal(OSError("x")) is None
    with pytest.raises(FileNotFoundError), refusals_told():
        raise FileNotFoundError(errno.ENOENT, "x")


def test_an_output_that_is_full_is_a_sinks_error_too(tmp_path: Path) -> None:
    with pytest.raises(SinkError) as caught, sink_errors("write to", str(tmp_path)):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert type(caught.value) is SinkRefusedError
    assert caught.value.message == f"cannot write to '{tmp_path}': it is full"
    assert caught.value.exit_code == 5
    with pytest.raises(SinkError) as caught, sink_errors("write to", "s3://b/p"):
        raise OSError("When putting an object: AWS Error ACCESS_DENIED during PutObject operation")
    assert caught.value.exit_code == 5
    with pytest.raises(SinkError) as caught, sink_errors("write to", "s3://b/p"):
        raise OSError("AWS Error NETWORK_CONNECTION during PutObject operation")
    assert caught.value.exit_code == 1


def test_a_full_disk_is_told_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RefusedError, match=str(tmp_path / "e.json")), refusals_told():
        LocalStore(tmp_path).create("e.json", b"{}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("java.io.IOException: No space left on device", "Spark writes into"),
        (
            "java.io.FileNotFoundException: /c/spark/state/0/1 (Permission denied)",
            "/c/spark/state/0/1",
        ),
        ("java.nio.file.FileSystemException: /c/x.zip: Read-only file system", "/c/x.zip"),
        ("AccessDeniedException: s3a://b/c: PUT 0-byte object: AccessDenied", "s3a://b/c"),
    ],
)
def test_java_tells_of_it_in_texts(text: str, where: str) -> None:
    found = refusal_in(f"Job aborted\nCaused by: {text}\n\tat x.y(z)")
    assert found is not None
    assert where in found.message
    assert found.detail == f"Caused by: {text}"
    assert refusal_in("java.io.IOException: it is broken") is None


def test_of_disks_that_java_does_not_name_the_fullest_is_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    free = {"/tmp": 10 << 30, "/c": 4096}

    def statvfs(place: str | Path) -> os.statvfs_result:
        blocks = free.get(str(place), 0)
        return os.statvfs_result((1, 1, 100, blocks, blocks, 10, 10, 10, 0, 255))

    monkeypatch.setattr(os, "statvfs", statvfs)
    text = "x\nCaused by: java.io.IOException: No space left on device"
    found = refusal_in(text, ["/tmp", "/c"])
    assert found is not None
    assert found.message == "'/c' is full"
    free["/c"] = 1 << 30
    found = refusal_in(text, ["/tmp", "/c"])
    assert found is not None
    assert "Spark writes into" in found.message


def test_what_a_store_will_not_do_whoever_asks() -> None:
    assert is_refused_by_store("AccessDenied: Access Denied.")
    assert is_refused_by_store("XMinioStorageFull: Storage backend has reached its minimum")
    assert not is_refused_by_store("SlowDown: reduce your rate")


def test_the_command_that_goes_on_is_named() -> None:
    with pytest.raises(RefusedError) as caught, resumes("tidegate run j.sql --checkpoint c"):
        raise RefusedError(
            "x", hint="make room there; run again then: the job goes on from its checkpoint"
        )
    assert (
        caught.value.hint == "make room there; then go on with: tidegate run j.sql --checkpoint c"
    )
