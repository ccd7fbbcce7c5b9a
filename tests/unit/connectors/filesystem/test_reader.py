"""Rows, offsets and records between two positions; the poison corpus; resume from any position."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.many import examples
from tidegate.connectors.filesystem.reader import FilesystemReader
from tidegate.errors import TrustError
from tidegate.ports import SplitRange
from tidegate.types import Column
from unit.connectors.files_kit import ENGINE, Run, id_of, ids, monitored, source, write

BIG = "x" * (10 << 20)
POISON: list[bytes] = [
    b'{"id":1,"name":"first"}',
    b'{"id":2,"name":"caf\xe9"}',  # not UTF-8
    b"",
    b"   \t",
    b'{"id":3}',
    b'{"id":1.5,"name":"x"}',
    b'{"id":NaN,"name":"x"}',
    b'{"id":99999999999999999999,"name":"x"}',
    b'{"id":4,"id":4,"name":"x"}',
    b'{"id":5,"name":{"a":1}}',
    b'{"id":6,"name":"deep","z":' + b"[" * 1000 + b"]" * 1000 + b"}",
    b"[1]",
    b"null",
    b"not json",
    b'{"id":"7","name":7.0}',
    b'{"id":8,"name":"' + BIG.encode() + b'"}',
    b"\x00\xff\xfe",
    b'{"id":9,"name":"last","extra":[1,2]}',
]
GOOD = [(0, 1), (2, 3), (7, 5), (8, 6), (12, 7), (13, 8), (15, 9)]


@pytest.mark.slow
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_the_poison_corpus(tmp_path: Path, newline: bytes, last: bool) -> None:
    content = b"\xef\xbb\xbf" + newline.join(POISON) + (newline if last else b"")
    write(tmp_path / "a" / "1.json", content, end="")
    for run in (Run(source(tmp_path)).to_end(), Run(source(tmp_path)).to_end(2)):
        assert [(offset, row["id"]) for offset, row in run.rows["a"]] == GOOD
        bad = [line for line in POISON if line.strip()]
        assert run.malformed["a"] == [
            (offset, line)
            for offset, line in enumerate(bad)
            if offset not in {good for good, _ in GOOD}
        ]
        assert run.records["a"] == [bad[offset] for offset, _ in GOOD]
        assert [row["name"] for _, row in run.rows["a"]][2:6] == ['{"a":1}', "deep", "7.0", BIG]


def test_empty_files_and_directories(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.json")
    write(tmp_path / "a" / "2.json", *ids(0, 1))
    write(tmp_path / "a" / "3.json", "\n\n\n")
    (tmp_path / "b").mkdir()
    run = Run(source(tmp_path)).to_end(1)
    assert run.finished == {"a", "b"}
    assert run.rows == {"a": [(0, {"id": 0, "name": "n0"})]}


@pytest.mark.parametrize("path", ["in", "in/a", "in/a/1.json", "in/*/1.json", "in/a/*"])
def test_every_way_to_name_the_files(tmp_path: Path, path: str) -> None:
    write(tmp_path / "in" / "a" / "1.json", *ids(0, 3))
    for table in (source(tmp_path / path), source(tmp_path / path, source_split="file")):
        run = Run(table).to_end(2)
        assert [id_of(rows) for rows in run.rows.values()] == [[0, 1, 2]]


LINES = st.lists(
    st.sampled_from(
        ['{"id":1,"name":"a"}', '{"id":2}', "bad", "", "  ", '{"id":"x"}', '{"id":3,"name":"é"}']
    ),
    max_size=12,
)


@pytest.mark.slow
@examples(60)
@given(
    files=st.lists(LINES, min_size=1, max_size=4),
    caps=st.lists(st.integers(1, 6), min_size=1, max_size=10),
    terminated=st.booleans(),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_any_cuts_give_the_same_rows(
    files: list[list[str]], caps: list[int], terminated: bool, newline: str
) -> None:
    with TemporaryDirectory() as directory:
        for index, lines in enumerate(files):
            text = newline.join(lines) + (newline if terminated and lines else "")
            write(Path(directory) / "a" / f"{index}.json", text, end="")
        whole = Run(source(directory)).to_end()
        parts = Run(source(directory))
        for round_ in range(200):
            parts.planner = Run(source(directory)).planner if round_ % 2 else parts.planner
            parts.epoch(caps[round_ % len(caps)])
            if parts.finished:
                break
        flat = [line for lines in files for line in lines if line.strip()]
        assert whole.offsets["a"] == parts.offsets["a"] == len(flat)
        assert whole.rows.get("a", []) == parts.rows.get("a", [])
        assert whole.malformed.get("a", []) == parts.malformed.get("a", [])


def test_an_epoch_reads_alike_when_it_runs_again(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.json", *ids(0, 3))
    write(tmp_path / "a" / "2.json", *ids(3, 3))
    reader = FilesystemReader(source(tmp_path), ENGINE)
    end = json.loads(json.dumps(["2.json", 48, 2]))
    wanted = SplitRange("a", ["1.json", 48, 1], end, 1)
    first = [chunk.data.to_pylist() for _, chunk in reader.read([wanted])]
    write(tmp_path / "a" / "3.json", *ids(6, 3))
    again = [chunk.data.to_pylist() for _, chunk in reader.read([wanted])]
    assert first == again
    assert sum(len(rows) for rows in first) == 3


def test_a_file_that_is_gone_or_shorter_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a" / "1.json", *ids(0, 3))
    write(tmp_path / "a" / "2.json", *ids(0, 3))
    reader = FilesystemReader(source(tmp_path), ENGINE)
    with pytest.raises(TrustError, match=r"'3.json' of split 'a' .* is gone"):
        list(reader.read([SplitRange("a", None, ["3.json", 5, 3], 0)]))
    with pytest.raises(TrustError, match=r"1.json' has shrunk"):
        list(reader.read([SplitRange("a", None, ["1.json", 5000, 1], 0)]))
    path.unlink()
    with pytest.raises(TrustError, match=r"cannot read file .*1.json"):
        list(reader.read([SplitRange("a", ["1.json", 1, 1], ["1.json", 5, 1], 0)]))
    with pytest.raises(TrustError, match=r"'1.json' of split 'a' .* is gone"):
        list(reader.read([SplitRange("a", ["1.json", 1, 1, 9, 0], ["2.json", 5, 2, 5, 0], 0)]))


@pytest.mark.parametrize("begun", [False, True])
def test_what_happens_between_plan_and_reading_is_named(tmp_path: Path, begun: bool) -> None:
    table = monitored(tmp_path)
    run = Run(table)
    for number in (1, 3, 5, 7):
        write(tmp_path / "a" / f"{number}.json", *ids(number, 1))
        if begun and number == 1:
            run.epoch()
    (split,) = run.planner.splits()
    start = run.positions.get(split)
    end = run.planner.plan({split: start}, None)[split].end
    reader = FilesystemReader(table, ENGINE)
    wanted = SplitRange("a", start, end)
    assert sum(chunk.data.num_rows for _, chunk in reader.read([wanted])) == 4 - begun
    extra = write(tmp_path / "a" / "4.json", *ids(4, 1))
    with pytest.raises(TrustError, match=r"'4.json' of split 'a' .* appeared before '7.json'"):
        list(reader.read([wanted]))
    extra.unlink()
    (tmp_path / "a" / "3.json").unlink()
    with pytest.raises(TrustError, match=r"a file of split 'a' .* and '7.json', is gone"):
        list(reader.read([wanted]))


def test_a_line_that_went_on_after_it_was_read_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "a" / "1.json", '{"id":1}')
    run = Run(monitored(tmp_path), available_now=True)
    assert run.epoch() == 1
    path.write_bytes(b'{"id":1, "name":"x"}\n')
    again = Run(monitored(tmp_path))
    again.positions = run.positions
    with pytest.raises(TrustError, match="is within a line now"):
        again.epoch()


def test_csv(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.csv", "id;name", "1;x", '2;"a;b"', "3", "x;y", "4;NULL")
    options = {"format": "csv", "csv_field__delimiter": ";", "csv_header": "true"}
    run = Run(source(tmp_path, **options, csv_null__literal="NULL")).to_end(2)
    assert run.rows["a"] == [
        (0, {"id": 1, "name": "x"}),
        (1, {"id": 2, "name": "a;b"}),
        (4, {"id": 4, "name": None}),
    ]
    assert run.malformed["a"] == [(2, b"3"), (3, b"x;y")]


@pytest.mark.parametrize("blank", ["", "\n", " \t\r\n\n", "\ufeff\n", " " * 5000 + "\n\n"])
@pytest.mark.parametrize("rows_max", [None, 1, 2])
def test_a_csv_header_behind_blank_lines(tmp_path: Path, blank: str, rows_max: int | None) -> None:
    write(tmp_path / "a" / "1.csv", blank, *(f"{line}\n" for line in ("id,name", "1,x")), end="")
    table = source(tmp_path, format="csv", csv_header="true")
    run = Run(table).to_end(rows_max)
    assert run.rows["a"] == [(0, {"id": 1, "name": "x"})]
    assert run.malformed["a"] == []


@pytest.mark.parametrize(
    ("header", "line", "row"),
    [
        ("name,id", "x,1", {"id": 1, "name": "x"}),
        ('ID,"Name",more', "1,x,y", {"id": 1, "name": "x"}),
        ("Name,name,id", "y,x,1", {"id": 1, "name": "x"}),
        ("more,id", "y,1", {"id": 1, "name": None}),
    ],
)
def test_columns_are_found_by_the_names_in_the_header(
    tmp_path: Path, header: str, line: str, row: dict[str, object]
) -> None:
    write(tmp_path / "a" / "1.csv", header, line, f"{line},z")
    run = Run(source(tmp_path, format="csv", csv_header="true")).to_end(1)
    assert run.rows["a"] == [(0, row)]
    assert run.malformed["a"] == [(1, f"{line},z".encode())]


@pytest.mark.parametrize("first", ["1,x", "id,id,name", '"id'])
def test_a_first_line_that_is_no_header_is_a_row_too(tmp_path: Path, first: str) -> None:
    write(tmp_path / "a" / "1.csv", first, "2,y")
    run = Run(source(tmp_path, format="csv", csv_header="true")).to_end(1)
    assert run.malformed["a"] == [(0, first.encode()), (1, b"2,y")]


def test_no_columns_at_all(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.json", "{}", "[]")
    run = Run(source(tmp_path, (Column("x", "TIMESTAMP"),)))
    run.to_end()
    assert run.rows["a"] == [(0, {"x": None})]
    assert run.malformed["a"] == [(1, b"[]")]
