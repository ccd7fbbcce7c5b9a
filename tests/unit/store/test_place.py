from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.errors import OptionsError
from tidegate.store.local import LocalStore
from tidegate.store.place import open_store
from tidegate.store.s3 import S3Store, endpoint, region


def path_of(uri: str) -> Path:
    store = open_store(uri)
    assert isinstance(store, LocalStore)
    return store.path


def test_a_path_and_a_file_uri_are_local(tmp_path: Path) -> None:
    assert path_of(f"file://{tmp_path}/c") == tmp_path / "c"
    assert path_of(f"file://{tmp_path}/a%20b%23c") == tmp_path / "a b#c"
    assert path_of("relative") == Path.cwd() / "relative"
    assert path_of("a%20b:c") == Path.cwd() / "a%20b:c"


@pytest.mark.parametrize("uri", ["file://tmp/c", "file:///tmp/c#1", "file:///tmp/c?d"])
def test_a_uri_that_means_no_path(uri: str) -> None:
    with pytest.raises(OptionsError, match="is file:/// and its path"):
        open_store(uri)


@pytest.mark.parametrize(
    ("uri", "plain"),
    [
        ("s3://bucket/jobs/a", "s3://bucket/jobs/a"),
        ("s3a://bucket/jobs//a/", "s3://bucket/jobs/a"),
        ("s3n://a.bucket-1", "s3://a.bucket-1"),
        ("s3://bucket/a=1/b_c.d", "s3://bucket/a=1/b_c.d"),
    ],
)
def test_a_place_in_a_bucket(uri: str, plain: str) -> None:
    store = open_store(uri)
    assert isinstance(store, S3Store)
    assert store.uri == plain
    assert not store.is_local
    assert store.below("x/y").uri == f"{plain}/x/y"
    assert store.where("x") == f"{plain}/x"


@pytest.mark.parametrize(
    "uri", ["s3://", "s3://B/x", "s3://ab", "s3://bucket/a?b=c", "s3://bucket/a b", "s3://k:s@b/x",
            "s3://bucket/a/../b", "s3://bucket/%41"]
)  # fmt: skip
def test_what_is_no_place_in_a_bucket(uri: str) -> None:
    with pytest.raises(OptionsError, match="not a place in a bucket"):
        open_store(uri)


def test_other_schemes_are_refused() -> None:
    with pytest.raises(OptionsError, match="hdfs:// is not a place"):
        open_store("hdfs:///x")


def test_credentials_in_a_uri_are_not_repeated() -> None:
    with pytest.raises(OptionsError) as caught:
        open_store("s3://somebody:open-sesame@bucket/x")
    assert "open-sesame" not in str(caught.value)


@pytest.mark.parametrize(
    "value",
    ["127.0.0.1:9000", "localhost", "http://[bad", "ftp://h", "http://u:pw@h", "http://h:x"],
)
def test_an_endpoint_that_is_none(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", value)
    with pytest.raises(OptionsError, match="AWS_ENDPOINT_URL") as caught:
        open_store("s3://bucket/x")
    assert "pw" not in str(caught.value)


def test_an_endpoint_and_a_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "HTTP://Store:9000")
    assert endpoint() == "http://Store:9000"
    monkeypatch.setenv("AWS_REGION", "here\n")
    with pytest.raises(OptionsError, match="AWS_REGION"):
        region()
