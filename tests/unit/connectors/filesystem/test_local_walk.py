"""What is found below a local directory, and what is passed over."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tidegate.connectors.filesystem.local_walk import refuse_names, walk
from tidegate.errors import TrustError


def names(base: Path, recursive: bool = True) -> list[str]:
    return ["/".join(found.parts) for found in walk(str(base), recursive)]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b/c/2", "b/1", "a", "_no/1", ".no/1", "b/_no"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def test_files_and_directories_in_order(tree: Path) -> None:
    assert names(tree) == ["a", "b", "b/1", "b/c", "b/c/2"]
    assert names(tree, recursive=False) == ["a", "b"]
    assert names(tree / "b") == ["1", "c", "c/2"]
    (a, b, *_) = walk(str(tree))
    status = (tree / "a").stat()
    assert (a.is_file, a.size, a.mtime_ns) == (True, 1, status.st_mtime_ns)
    assert not b.is_file


def test_circles_dead_links_and_pipes_are_passed_over(tree: Path) -> None:
    before = names(tree)
    (tree / "b" / "c" / "up").symlink_to(tree)
    (tree / "b" / "self").symlink_to("self")
    (tree / "b" / "lost").symlink_to("nowhere")
    os.mkfifo(tree / "pipe")
    assert names(tree) == before
    (tree / "z").symlink_to("b")
    assert names(tree) == [*before, "z", "z/1", "z/c", "z/c/2"]


@pytest.mark.parametrize("target", ["secret", "other"])
@pytest.mark.parametrize("where", ["tree/link", "tree/b/c/link"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, target: str, where: str) -> None:
    (tmp_path / "tree/b/c").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "secret").write_text("s")
    (tmp_path / where).symlink_to(tmp_path / target)
    with pytest.raises(TrustError, match=f"{where}' leads out .* to '{tmp_path}/{target}'"):
        names(tmp_path / "tree")
    (tmp_path / "way").symlink_to("tree")
    with pytest.raises(TrustError, match="leads out"):
        names(tmp_path / "way")
    assert names(tmp_path)[:2] == ["other", "secret"]


def test_the_place_itself_may_be_behind_a_link(tree: Path, tmp_path: Path) -> None:
    (tree / "b" / "first").symlink_to("../a")
    within = [found.parts for found in walk(str(tree / "b"), False, str(tree))]
    assert within == [("1",), ("c",), ("first",)]
    with pytest.raises(TrustError, match="leads out"):
        names(tree / "b")


def test_what_goes_while_it_is_listed_is_left_out(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def going(path: str) -> Any:
        if path.endswith("/c"):
            raise FileNotFoundError(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", going)
    assert names(tree) == ["a", "b", "b/1", "b/c"]


def test_a_directory_that_cannot_be_listed_is_an_error(tree: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        names(tree / "nowhere")


def test_names_that_are_no_text_are_refused() -> None:
    refuse_names("/d", [("a", "caf\u00e9"), ("\U0001f600",)])
    with pytest.raises(TrustError, match=r"the name of b'a/\\xff.json' in '/d' is not UTF-8"):
        refuse_names("/d", [("a", os.fsdecode(b"\xff.json"))])
