"""Which changes of a split's files are growth, and which would lose rows."""

from __future__ import annotations

import pytest
from pyarrow import fs

from tidegate.connectors.filesystem.continuity import Continuity, intruder, shown
from tidegate.connectors.filesystem.files import DataFile, Listing
from tidegate.connectors.filesystem.line_count import TextMeasure
from tidegate.connectors.filesystem.positions import FilePosition, joined_hashes, joined_sizes
from tidegate.errors import TrustError

HALF = FilePosition("2", 5, 2, 9, 1)
WHOLE = FilePosition("2", 9, 2, 9, 1)


def listed(*files: tuple[str, int, int]) -> Listing:
    """One split of files: name, size, time."""
    return {"s": tuple(DataFile(name, name, size, time) for name, size, time in files)}


def looked(*listings: Listing) -> Continuity:
    continuity = Continuity("t", TextMeasure(fs.LocalFileSystem()), grows=True)
    for listing in listings:
        continuity.look(listing)
    return continuity


SEEN = listed(("1", 4, 1), ("2", 9, 1))


@pytest.mark.parametrize(
    ("now", "half", "whole"),
    [
        (SEEN, "", ""),
        (listed(("2", 9, 1)), "", ""),
        (listed(("2", 12, 3)), "", ""),
        (listed(("2", 9, 3)), "was replaced after 5 of 9", ""),
        (listed(("2", 7, 3)), "has shrunk from 9 to 7; 5", "has shrunk from 9 to 7; 9"),
        (listed(("1", 4, 1), ("3", 1, 1)), r"is gone before all of it was read \(5 of 9\)", ""),
        ({}, r"is gone before all of it was read \(5 of 9\)", ""),
    ],
)
def test_a_position_against_the_first_listing(now: Listing, half: str, whole: str) -> None:
    for position, message in ((HALF, half), (WHOLE, whole)):
        if not message:
            looked(now).check("s", position)
            continue
        with pytest.raises(TrustError, match=f"file 's/2' of split 's' of table 't' {message}"):
            looked(now).check("s", position)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (SEEN, listed(("1", 5, 2), ("2", 9, 1))),
        (SEEN, listed(("1", 4, 1), ("2", 8, 2))),
        (SEEN, listed(("1", 3, 1), ("2", 9, 1))),
    ],
)
def test_a_listing_against_the_one_before(before: Listing, now: Listing) -> None:
    with pytest.raises(TrustError, match=r"file 's/[12]' of split 's' of table 't' changed"):
        looked(before, now)


def test_a_listing_against_the_one_before_finds_growth_and_removal() -> None:
    looked(SEEN, listed(("2", 11, 2), ("3", 1, 2))).check("s", WHOLE)
    looked(SEEN, {}).check("s", WHOLE)


def test_what_was_seen_behind_the_position_must_stay() -> None:
    grown = listed(("2", 11, 2), ("3", 1, 2))
    with pytest.raises(TrustError, match=r"file 's/2' .* is gone"):
        looked(grown, listed(("3", 1, 2))).check("s", WHOLE)
    with pytest.raises(TrustError, match=r"file 's/3' .* is gone"):
        looked(grown, listed(("2", 11, 2))).check("s", WHOLE)


def files(*names: str) -> tuple[DataFile, ...]:
    return listed(*((name, 1, number) for number, name in enumerate(names)))["s"]


def position(*names: str, older: int = 0) -> FilePosition:
    return FilePosition(names[-1], 1, older + len(names), 1, 0, joined_hashes(names))


@pytest.mark.parametrize(
    ("now", "found"),
    [
        ("d e f", ""),
        ("d f", ""),
        ("f", ""),
        ("a b d e f", ""),  # as many as there were
        ("f g", ""),
        ("d e ee f", "ee"),
        ("e ee", "ee"),
        ("b d dd g", "dd"),
        ("a c b d f", "b"),  # one too many: the youngest
    ],
)
def test_what_appeared_among_files_read(now: str, found: str) -> None:
    stranger = intruder(files(*now.split()), position("d", "e", "f", older=2))
    assert (stranger.name if stranger else "") == found


@pytest.mark.parametrize("sizes", [[4, 9], []])
def test_the_first_listing_shows_what_an_older_file_has_become(sizes: list[int]) -> None:
    begin = FilePosition("2", 9, 2, 9, 1, joined_hashes(["1", "2"]), joined_sizes(sizes))
    for unchanged in (SEEN, listed(("1", 4, 7), ("2", 11, 1)), listed(("2", 9, 1))):
        looked(unchanged).check("s", begin)
    for size in (3, 5):
        continuity = looked(listed(("1", size, 1), ("2", 9, 1)))
        if not sizes:  # of a checkpoint that did not keep them
            continuity.check("s", begin)
            continue
        with pytest.raises(TrustError, match=f"file 's/1' .* after it was read: {size} bytes now"):
            continuity.check("s", begin)


def test_the_listing_before_knows_all_names() -> None:
    begin = position("d", "e", "f", older=2)
    before = files("b", "d", "f", "h")
    assert intruder(files("d", "f", "g", "h"), begin, before) is None
    for name in ("a", "c", "e"):  # e was removed, and is another file now
        stranger = intruder(files("b", *name, "d", "f"), begin, before)
        assert stranger is not None
        assert stranger.name == name


def test_files_are_shown_by_their_path() -> None:
    assert shown(".", "x.json") == "x.json"
    assert shown("a/b", "x.json") == "a/b/x.json"
    assert shown("a/x.json", "x.json") == shown("a", "x.json") == "a/x.json"
