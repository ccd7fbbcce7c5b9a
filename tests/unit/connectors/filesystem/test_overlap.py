"""Which sources would read what a sink writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.connectors.filesystem.overlap import lies_in, overlaps, would_read


@pytest.mark.parametrize(
    ("written", "read", "expected"),
    [
        ("/d/a", "/d/a", True),
        ("/d/a/", "/d/./b/../a", True),
        ("/d/a/b", "/d/a", True),
        ("/d", "/d/a", True),
        ("/", "/d/a", True),
        ("/d/a", "/d/ab", False),
        ("/d/ab", "/d/a", False),
        ("file:///d/a", "/d/a/b", True),
        ("/d/a", "file:///d/a/part-0007-0000000001-0000.json", True),
        ("/d/a b", "file:///d/a%20b", True),
        ("file:///d/a%20b", "/d/a b/*", True),
        ("/d/a%20b", "/d/a b", False),
        ("s3://b/a%20b", "s3://b/a b", True),
        ("/d/a[1]/x", "/d/a[1]", True),
        ("/d/a", "/d/*", True),
        ("/d/a/b", "/d/*", True),
        ("/d/a", "/d/*/part-*.json", True),
        ("/d/a", "/d/*/*.csv", False),
        ("/d/a", "/d/**", True),
        ("/d/a", "/d/[b-z]", False),
        ("/d", "/d/*.json", True),
        ("/d", "/d/in-*.json", False),
        ("/out", "/d/*/*.json", False),
        ("s3://b/a", "s3a://b/a/x", True),
        ("s3://b/a?region=x", "s3://b/a?region=x", True),
        ("s3://b/a", "s3://c/a", False),
        ("s3://b/a", "/b/a", False),
        ("hdfs://h/a", "hdfs://h/a/*", True),
    ],
)
def test_paths(written: str, read: str, expected: bool) -> None:
    assert overlaps(written, "json", read) is expected


def test_links_and_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("a")
    monkeypatch.chdir(tmp_path)
    assert overlaps("link/new", "json", str(tmp_path / "a"))
    assert not overlaps("b", "json", "a")


@pytest.mark.parametrize(
    ("path", "directory", "read", "inside"),
    [
        ("/d/in", "/d/in", True, True),
        ("/d/in", "/d/in/ck", True, False),
        ("/d/in", "/d", False, True),  # a checkpoint has no split of that name
        ("/d/*", "/d/ck", True, False),
        ("/d/in", "/d/in2", False, False),
        ("s3://b/in", "s3://b/in/ck", True, False),
        ("s3://b/in", "/in", False, False),
    ],
)
def test_a_directory_in_a_sources_path(path: str, directory: str, read: bool, inside: bool) -> None:
    assert would_read(path, "json", directory) is read
    assert lies_in(path, directory) is inside
