"""Which paths make which splits (S7)."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tidegate.connectors.filesystem.files import (
    file_path,
    list_splits,
    split_files,
)
from tidegate.errors import OptionsError, TrustError

TREE = [
    "a/1.json",
    "a/2.json",
    "a/deep/x.json",
    "b/10.json",
    "b/9.json",
    "b/_tmp.json",
    "b/.hidden",
    "_skipped/1.json",
    ".git/1.json",
    "top.json",
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in TREE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}\n")
    (tmp_path / "empty").mkdir()
    return tmp_path


def shown(path: Path | str, each_file: bool = False) -> dict[str, list[str]]:
    splits = list_splits(str(path), each_file)
    return {split: [file.name for file in files] for split, files in splits.items()}


def test_a_directory_of_files_is_a_split(tree: Path) -> None:
    assert shown(tree) == {
        ".": ["top.json"],
        "a": ["1.json", "2.json"],
        "a/deep": ["x.json"],
        "b": ["10.json", "9.json"],
        "empty": [],
    }


def test_every_file_is_a_split_when_asked(tree: Path) -> None:
    assert shown(tree, each_file=True) == {
        "a/1.json": ["1.json"],
        "a/2.json": ["2.json"],
        "a/deep/x.json": ["x.json"],
        "b/10.json": ["10.json"],
        "b/9.json": ["9.json"],
        "top.json": ["top.json"],
    }


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*/1.json", {"a": ["1.json"]}),
        ("?", {"a": ["1.json", "2.json"], "a/deep": ["x.json"], "b": ["10.json", "9.json"]}),
        ("a/*", {".": ["1.json", "2.json"], "deep": ["x.json"]}),
        ("[ab]/9*", {"b": ["9.json"]}),
        ("**/x.json", {"a/deep": ["x.json"]}),
        ("*.json", {".": ["top.json"]}),
    ],
)
def test_globs(tree: Path, glob: str, expected: dict[str, list[str]]) -> None:
    assert shown(f"{tree}/{glob}") == expected
    assert shown(f"file://{tree}/{glob}") == expected


@pytest.mark.parametrize("name", [b"a/\xff.json", b"\xfe/1.json"])
def test_a_name_that_is_not_utf8_is_refused_and_shown(tree: Path, name: bytes) -> None:
    path = tree / os.fsdecode(name)
    path.parent.mkdir(exist_ok=True)
    path.touch()
    with pytest.raises(TrustError, match=re.escape(repr(name))) as caught:
        shown(tree)
    assert "rename" in caught.value.hint
    assert shown(f"{tree}/b/*") == {".": ["10.json", "9.json"]}  # it is not read there
    if name.startswith(b"a/"):
        with pytest.raises(TrustError, match=re.escape(repr(name[2:]))):
            split_files(str(tree), "a", each_file=False)


@pytest.mark.parametrize("each_file", [False, True])
def test_links_are_followed_but_not_in_circles(tree: Path, each_file: bool) -> None:
    before = shown(tree, each_file)
    (tree / "a" / "up").symlink_to("..")
    (tree / "b" / "here").symlink_to(".")
    (tree / "a" / "deep" / "twice").symlink_to(tree / "a")
    (tree / "self.json").symlink_to("self.json")
    (tree / "lost.json").symlink_to("nowhere")
    assert shown(tree, each_file) == before
    (tree / "linked").symlink_to("empty")
    (tree / "empty" / "y.json").touch()
    assert shown(tree)["linked"] == ["y.json"]


def test_one_file_is_one_split(tree: Path) -> None:
    assert shown(tree / "a" / "1.json") == {"1.json": ["1.json"]}
    assert shown(tree / "a" / "1.json", each_file=True) == {"1.json": ["1.json"]}


def test_an_empty_directory_is_a_split_without_rows(tree: Path) -> None:
    assert shown(tree / "empty") == {".": []}


def test_a_path_with_glob_characters_that_exists_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a[1]").mkdir()
    (tmp_path / "a[1]" / "x.json").write_text("{}")
    assert shown(tmp_path / "a[1]") == {".": ["x.json"]}


@pytest.mark.parametrize("name", ["missing", "missing/*.json", "a/*.csv"])
def test_a_path_without_anything_is_an_error(tree: Path, name: str) -> None:
    with pytest.raises(OptionsError, match="nothing found at path") as caught:
        list_splits(f"{tree}/{name}", each_file=False)
    assert str(tree / name) in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("each_file", [False, True])
def test_a_file_is_found_without_listing(tree: Path, each_file: bool) -> None:
    for path in (tree, tree / "a" / "1.json", f"{tree}/*/*.json"):
        for split, files in list_splits(str(path), each_file).items():
            assert split_files(str(path), split, each_file) == files
            for file in files:
                assert file_path(str(path), split, file.name, each_file)[1] == file.path
