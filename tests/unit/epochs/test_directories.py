from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.epochs.directories import directory_of
from tidegate.errors import OptionsError

NAMES = (
    "a b",
    "a_b",
    "a/b",
    "a  b",
    "../a",
    "x" * 500,
    "x" * 501,
    "\u00fc" * 200,
    "a\n",
    "~/a",
    "%",
)


def test_a_plain_name_is_its_directory() -> None:
    for name in ("revenue", "shown-other", "v1.2_x", "...", "\u00fcber"):
        assert directory_of(name) == name


def test_no_two_jobs_share_one_and_each_is_one_directory() -> None:
    found = [directory_of(name) for name in NAMES]
    assert len(set(found)) == len(NAMES)
    assert found == [directory_of(name) for name in NAMES]
    assert directory_of("by hand/1").startswith("by_hand_1-")
    assert not [each for each in found if Path(each).name != each]
    assert max(len(each.encode()) for each in found) < 140


@pytest.mark.parametrize("name", ["", " ", ".", "..", " .. "])
def test_names_that_name_no_directory(name: str) -> None:
    with pytest.raises(OptionsError, match="a job cannot be called") as caught:
        directory_of(name)
    assert "directory" in caught.value.hint
