"""Where rows stand, as their reader has numbered them."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from kits.many import seeds
from tidegate.connectors.filesystem import places
from tidegate.connectors.filesystem.places import row_places
from tidegate.connectors.filesystem.planner import FilesystemPlanner
from tidegate.connectors.filesystem.reader import FilesystemReader
from tidegate.connectors.formats import lines
from tidegate.ports import RowPlace, SplitRange
from unit.connectors.files_kit import COLUMNS, ENGINE, source


def records_of(path: Path, **options: str) -> dict[int, bytes]:
    """All rows of the one split, by the offsets that its reader gives them."""
    table = source(path, COLUMNS, **options)
    (split,) = (planner := FilesystemPlanner(table, False)).splits()
    end = planner.plan({split: None}, None)[split].end
    found: dict[int, bytes] = {}
    for _, chunk in FilesystemReader(table, ENGINE).read([SplitRange(split, None, end)]):
        rows = chunk.refused().malformed.to_pydict()
        found |= dict(zip(rows["offset"], rows["record"], strict=True))
    return found


@pytest.mark.parametrize("header", ["false", "true"])
@pytest.mark.parametrize("seed", seeds(12))
def test_every_row_is_found_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, header: str
) -> None:
    rng = Random(seed)
    blocks = lines.blocks

    def small(file: Any, start: int, end: int, size: int = 1 << 20) -> Any:
        return blocks(file, start, end, min(size, (8, 30, 1 << 20)[seed % 3]))

    monkeypatch.setattr(lines, "blocks", small)
    head = b"name,id\n" if header == "true" else b""
    for number in range(rng.randint(1, 4)):
        text = head + b"".join(
            rng.choice([b"a%d,%d" % (row, row), b"x", b"", b" ", b"\t,1"])
            + rng.choice([b"\n", b"\r\n"])
            for row in range(rng.randint(0, 9))
        )
        (tmp_path / f"{number}.csv").write_bytes(text.rstrip(b"\n") if rng.random() < 0.3 else text)
    options = {"format": "csv", "csv_header": header}
    records = records_of(tmp_path, **options)
    found = row_places(source(tmp_path, COLUMNS, **options), ".", records)
    assert found.keys() == records.keys()
    for offset, (file, line, told) in found.items():
        text = (tmp_path / file).read_bytes().split(b"\n")[line - 1]
        assert text.removesuffix(b"\r") == records[offset]
        assert told == head.strip()
    assert len(set(found.values())) == len(found)


def test_a_row_that_stands_there_no_more_has_no_place(tmp_path: Path) -> None:
    (tmp_path / "0.json").write_text('{"id":1}\n{"id":2}\n')
    (tmp_path / "1.json").write_text('{"id":3}\n')
    table, wanted = source(tmp_path), {1: b'{"id":2}', 2: b'{"id":3}'}
    assert row_places(table, ".", wanted) == {
        1: RowPlace("0.json", 2),
        2: RowPlace("1.json", 1),
    }
    (tmp_path / "0.json").unlink()
    assert row_places(table, ".", wanted) == {}


def test_no_more_is_read_than_one_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "BYTES_MAX", 30)
    (tmp_path / "0.json").write_text('{"id":1}\n{"id":2}\n')
    (tmp_path / "1.json").write_text('{"id":3}\n{"id":4}\n')
    found = row_places(source(tmp_path), ".", {0: b'{"id":1}', 2: b'{"id":3}'})
    assert found == {0: RowPlace("0.json", 1)}
