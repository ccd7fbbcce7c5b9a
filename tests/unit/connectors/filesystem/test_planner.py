"""What an epoch takes, what is finished, and which changes of the input stop a job."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidegate.connectors.filesystem.line_count import TextMeasure
from tidegate.connectors.filesystem.planner import FilesystemPlanner
from tidegate.errors import OptionsError, TrustError
from unit.connectors.files_kit import Run, id_of, ids, monitored, source, write


def test_everything_in_one_epoch(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.json", *ids(0, 3))
    write(tmp_path / "a" / "2.json", *ids(3, 2))
    write(tmp_path / "b" / "1.json", *ids(5, 1))
    run = Run(source(tmp_path))
    assert run.epoch() == 6
    assert run.finished == {"a", "b"}
    assert [offset for offset, _ in run.rows["a"]] == [0, 1, 2, 3, 4]
    assert id_of(run.rows["a"]) == [0, 1, 2, 3, 4]
    assert run.epoch() == 0


@pytest.mark.slow
@pytest.mark.parametrize("rows_max", [1, 2, 3, 7, 10, 11, 100])
def test_the_cap_is_exact_and_shared(tmp_path: Path, rows_max: int) -> None:
    write(tmp_path / "a" / "1.json", *ids(0, 20))
    write(tmp_path / "b" / "1.json", *ids(20, 2))
    write(tmp_path / "c" / "1.json", *ids(22, 5))
    write(tmp_path / "c" / "2.json", *ids(27, 4))
    (tmp_path / "d").mkdir()
    run = Run(source(tmp_path)).to_end(rows_max)
    assert all(rows == rows_max for rows in run.epoch_rows[:-1])
    assert run.finished == {"a", "b", "c", "d"}
    assert [id_of(run.rows[split]) for split in "abc"] == [
        list(range(20)),
        [20, 21],
        list(range(22, 31)),
    ]


def test_splits_get_equal_parts_then_what_others_leave(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.json", *ids(0, 100))
    write(tmp_path / "b" / "1.json", *ids(0, 3))
    write(tmp_path / "c" / "1.json", *ids(0, 100))
    planner = FilesystemPlanner(source(tmp_path), available_now=False)
    plans = planner.plan(dict.fromkeys(planner.splits()), 30)
    assert {split: plan.rows_max for split, plan in plans.items()} in (
        {"a": 14, "b": 3, "c": 13},
        {"a": 13, "b": 3, "c": 14},
    )


def test_fewer_rows_than_splits_reach_every_split_in_time(tmp_path: Path) -> None:
    for split in "abcd":
        write(tmp_path / split / "1.json", *ids(0, 3))
    run = Run(source(tmp_path))
    for _ in range(4):
        assert run.epoch(1) == 1
    assert all(len(run.rows[split]) == 1 for split in "abcd")


@pytest.mark.slow
def test_no_byte_is_counted_twice(tmp_path: Path) -> None:
    path = write(tmp_path / "a" / "1.json", *ids(0, 1400))
    run = Run(source(tmp_path)).to_end(7)
    measure = run.planner._measure
    assert isinstance(measure, TextMeasure)
    assert measure.bytes_counted == path.stat().st_size


def test_a_bounded_listing_is_fixed_at_the_first_look(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.json", *ids(0, 3))
    run = Run(source(tmp_path))
    run.epoch()
    write(tmp_path / "a" / "2.json", *ids(3, 3))
    write(tmp_path / "b" / "1.json", *ids(3, 3))
    assert run.epoch() == 0
    assert run.planner.unread(run.positions) == ["a/2.json", "b/1.json"]


def test_nothing_is_unread_when_nothing_appeared(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.json", *ids(0, 3))
    run = Run(source(tmp_path)).to_end()
    assert run.planner.unread(run.positions) == []


def test_a_monitored_directory_grows_and_never_finishes(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.json", *ids(0, 3))
    run = Run(monitored(tmp_path))
    assert run.epoch() == 3
    assert run.epoch() == 0
    write(tmp_path / "a" / "2.json", *ids(3, 3))
    write(tmp_path / "b" / "1.json", *ids(6, 1))
    assert run.epoch() == 4
    assert run.finished == set()
    assert not run.planner.waiting(run.positions)


def test_available_now_fixes_a_monitored_listing_too(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.json", *ids(0, 3))
    run = Run(monitored(tmp_path), available_now=True)
    assert run.epoch() == 3
    write(tmp_path / "a" / "2.json", *ids(3, 3))
    assert run.epoch() == 0
    assert run.finished == set()
    again = Run(monitored(tmp_path), available_now=True)
    again.positions, again.offsets = run.positions, run.offsets
    assert again.epoch() == 3
    assert [offset for offset, _ in again.rows["a"]] == [3, 4, 5]


def test_a_line_still_being_written_waits(tmp_path: Path) -> None:
    path = write(tmp_path / "a" / "1.json", '{"id":1,"name":"x"}\n{"id":2,', end="")
    run = Run(monitored(tmp_path))
    assert run.epoch() == 1
    path.write_bytes(path.read_bytes() + b'"name":"y"}\n')
    assert run.epoch() == 1
    assert id_of(run.rows["a"]) == [1, 2]
    assert run.malformed["a"] == []


@pytest.mark.parametrize("format_", ["json", "csv"])
@pytest.mark.parametrize("available_now", [False, True])
@pytest.mark.parametrize("rows_max", [None, 1])
def test_a_last_line_without_its_newline_is_left_however_long_it_takes(
    tmp_path: Path, format_: str, available_now: bool, rows_max: int | None
) -> None:
    row = {"json": '{{"id":{0},"name":"n{0}"}}', "csv": "{0},n{0}"}[format_]
    path = write(tmp_path / "a" / "1.x", row.format(1) + "\n" + row.format(22), end="")
    run = Run(monitored(tmp_path, format=format_), available_now)
    assert run.epoch(rows_max) == 1
    assert [run.epoch(rows_max) for _ in range(5)] == [0] * 5
    assert not run.planner.waiting(run.positions)
    assert run.finished == set()
    path.write_bytes(path.read_bytes() + b"\n" + row.format(3).encode() + b"\n")
    again = Run(monitored(tmp_path, format=format_), available_now)
    again.positions, again.offsets = run.positions, run.offsets
    again.to_end(rows_max)
    assert again.rows["a"] == [(1, {"id": 22, "name": "n22"}), (2, {"id": 3, "name": "n3"})]
    assert again.malformed["a"] == []


def test_a_file_that_is_not_the_last_any_more_is_complete(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.json", '{"id":1}\n{"id":2}', end="")
    run = Run(monitored(tmp_path))
    assert run.epoch() == 1
    write(tmp_path / "a" / "2.json", '{"id":3}\n{"id":4}', end="")
    assert run.epoch() == 2
    assert run.rows["a"] == [(n, {"id": n + 1, "name": None}) for n in range(3)]
    assert run.epoch() == 0


def test_a_bounded_split_ends_with_its_last_line_newline_or_not(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.csv", "1,x\n2,y", end="")
    run = Run(source(tmp_path, format="csv"))
    assert run.epoch() == 2
    assert run.finished == {"a"}
    assert id_of(run.rows["a"]) == [1, 2]


def test_a_watched_file_of_its_own_is_finished_when_its_last_line_is(tmp_path: Path) -> None:
    path = write(tmp_path / "1.json", '{"id":1}\n{"id":2}', end="")
    run = Run(monitored(tmp_path, source_split="file"))
    assert (run.epoch(), run.finished) == (1, set())
    path.write_bytes(path.read_bytes() + b"\n")
    assert (run.epoch(), run.finished) == (1, {"1.json"})


@pytest.mark.parametrize("restarted", [False, True])
def test_a_file_that_sorts_before_one_already_read_stops_the_job(
    tmp_path: Path, restarted: bool
) -> None:
    write(tmp_path / "a" / "2.json", *ids(0, 3))
    run = Run(monitored(tmp_path))
    run.epoch()
    write(tmp_path / "a" / "1.json", *ids(3, 3))
    again = Run(monitored(tmp_path)) if restarted else run
    again.positions = run.positions
    with pytest.raises(TrustError, match=r"'a/1.json' .* appeared before '2.json'"):
        again.epoch()


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("removed", [["1.json"], ["3.json"], ["1.json", "3.json"], ["5.json"]])
@pytest.mark.parametrize("name", ["0.json", "2.json", "4.json"])
def test_an_intruder_is_noticed_whatever_was_removed(
    tmp_path: Path, restarted: bool, removed: list[str], name: str
) -> None:
    for number in (1, 3, 5):
        write(tmp_path / "a" / f"{number}.json", *ids(number, 1))
    run = Run(monitored(tmp_path))
    assert run.epoch() == 3
    for old in removed:
        (tmp_path / "a" / old).unlink()
    run = again(run) if restarted else run
    assert run.epoch() == 0
    write(tmp_path / "a" / name, *ids(7, 1))
    run = again(run) if restarted else run
    message = rf"file 'a/{name}' of split 'a' .* appeared before '5.json'"
    with pytest.raises(TrustError, match=message):
        run.epoch()


@pytest.mark.parametrize("restarted", [False, True])
def test_files_that_were_read_may_be_removed_while_others_are_added(
    tmp_path: Path, restarted: bool
) -> None:
    run = Run(monitored(tmp_path))
    (tmp_path / "a").mkdir()
    for number in range(10, 30):
        write(tmp_path / "a" / f"{number}.json", *ids(number, 2))
        if number % 3 == 0:
            (tmp_path / "a" / f"{number - 2}.json").unlink(missing_ok=True)
        if number % 7 == 0:
            (tmp_path / "a" / f"{number - 1}.json").unlink(missing_ok=True)
        run = again(run) if restarted else run
        assert run.epoch() == 2
    assert run.offsets["a"] == 40


@pytest.mark.parametrize("name", ["2.json.gz", "2.JSON.GZ", "2.json.zst", "2.zip"])
@pytest.mark.parametrize("format_", ["json", "csv", "parquet"])
@pytest.mark.parametrize("options", [{}, {"source_split": "file"}])
def test_a_compressed_file_is_refused_by_name(
    tmp_path: Path, name: str, format_: str, options: dict[str, str]
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / name).write_bytes(gzip.compress(b'{"id":1}\n'))
    write(tmp_path / "a" / "1.json", *ids(0, 1))
    with pytest.raises(TrustError, match=f"file 'a/{name}' of table 'orders' is compressed") as it:
        Run(source(tmp_path, format=format_, **options)).planner.splits()
    assert f"*.{format_}" in it.value.hint
    run = Run(source(tmp_path / "a" / "*.json", **options))
    assert run.epoch() == 1


def test_a_compressed_file_that_appears_stops_the_job(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.json", *ids(0, 1))
    run = Run(monitored(tmp_path))
    assert run.epoch() == 1
    (tmp_path / "a" / "2.json.gz").write_bytes(gzip.compress(b'{"id":1}\n'))
    with pytest.raises(TrustError, match=r"file 'a/2.json.gz' of table 'orders' is compressed"):
        run.epoch()


def test_a_missing_path_is_an_error_of_its_table(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match=r"table 'orders': nothing found at path '.*/nowhere'"):
        Run(source(tmp_path / "nowhere")).planner.splits()


def test_files_that_were_read_may_be_removed(tmp_path: Path) -> None:
    old = write(tmp_path / "a" / "1.json", *ids(0, 3))
    write(tmp_path / "a" / "2.json", *ids(3, 1))
    run = Run(monitored(tmp_path))
    run.epoch()
    old.unlink()
    write(tmp_path / "a" / "3.json", *ids(4, 2))
    assert run.epoch() == 2


@pytest.mark.parametrize("restarted", [False, True])
def test_a_file_that_shrank_stops_the_job(tmp_path: Path, restarted: bool) -> None:
    path = write(tmp_path / "a" / "1.json", *ids(0, 3))
    run = Run(monitored(tmp_path))
    run.epoch()
    write(path, *ids(0, 2))
    again = Run(monitored(tmp_path)) if restarted else run
    again.positions = run.positions
    with pytest.raises(TrustError, match=r"'a/1.json'"):
        again.epoch()


def test_a_file_that_grew_behind_the_reader_stops_the_job(tmp_path: Path) -> None:
    path = write(tmp_path / "a" / "1.json", *ids(0, 3))
    write(tmp_path / "a" / "2.json", *ids(3, 3))
    run = Run(monitored(tmp_path))
    run.epoch()
    write(path, *ids(0, 4))
    with pytest.raises(TrustError, match=r"'a/1.json' .* changed"):
        run.epoch()


def begun(tmp_path: Path, restarted: bool) -> Run:
    """A run that has read two of five rows of ``a/1.json``."""
    write(tmp_path / "a" / "1.json", *ids(0, 5))
    run = Run(monitored(tmp_path))
    run.epoch(2)
    return again(run) if restarted else run


def again(run: Run) -> Run:
    """The same job, started anew from its checkpoint."""
    other = Run(run.table)
    other.positions, other.offsets = run.positions, run.offsets
    return other


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("others", [0, 1])
def test_a_file_that_is_removed_half_read_stops_the_job(
    tmp_path: Path, restarted: bool, others: int
) -> None:
    run = begun(tmp_path, restarted)
    (tmp_path / "a" / "1.json").unlink()
    for number in range(others):
        write(tmp_path / "a" / f"2{number}.json", *ids(5, 1))
    message = r"file 'a/1.json' of split 'a' of table 'orders' is gone before all of it was read"
    with pytest.raises(TrustError, match=message):
        run.epoch()


@pytest.mark.parametrize("restarted", [False, True])
def test_a_line_that_waits_for_its_newline_is_not_given_up(tmp_path: Path, restarted: bool) -> None:
    path = write(tmp_path / "a" / "1.json", '{"id":1}\n{"id":2', end="")
    run = Run(monitored(tmp_path))
    assert run.epoch() == 1
    path.unlink()
    with pytest.raises(TrustError, match=r"'a/1.json' .* is gone before all of it was read"):
        (again(run) if restarted else run).epoch()


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("rows", [[0, 0, 0, 0, 0], [0, 0, 0, 0], [0]])
def test_a_file_that_is_replaced_half_read_stops_the_job(
    tmp_path: Path, restarted: bool, rows: list[int]
) -> None:
    run = begun(tmp_path, restarted)
    write(tmp_path / "a" / "1.json", *(row for first in rows for row in ids(first, 1)))
    os.utime(tmp_path / "a" / "1.json", ns=(0, 12345))
    with pytest.raises(TrustError, match=r"file 'a/1.json' of split 'a' .*(changed|replaced|shr)"):
        run.epoch()


def test_a_parquet_file_that_is_replaced_half_read_stops_the_job(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    pq.write_table(pa.table({"id": range(5)}), tmp_path / "a" / "1.parquet")
    run = Run(monitored(tmp_path, format="parquet"))
    run.epoch(2)
    pq.write_table(pa.table({"id": range(7)}), tmp_path / "a" / "1.parquet")
    with pytest.raises(TrustError, match=r"file 'a/1.parquet' of split 'a' .* was replaced"):
        again(run).epoch()


@pytest.mark.parametrize("restarted", [False, True])
def test_a_file_that_was_read_may_be_touched_removed_or_go_on(
    tmp_path: Path, restarted: bool
) -> None:
    path = write(tmp_path / "a" / "1.json", *ids(0, 3))
    run = Run(monitored(tmp_path))
    run.epoch()
    os.utime(path, ns=(0, 12345))
    run = again(run) if restarted else run
    assert run.epoch() == 0
    write(path, *ids(0, 5))
    run = again(run) if restarted else run
    assert run.epoch() == 2
    path.unlink()
    run = again(run) if restarted else run
    assert run.epoch() == 0
    write(tmp_path / "a" / "2.json", *ids(5, 1))
    run = again(run) if restarted else run
    assert run.epoch() == 1
    assert run.offsets["a"] == 6


def test_a_file_that_was_seen_and_not_yet_begun_may_not_be_removed(tmp_path: Path) -> None:
    run = begun(tmp_path, restarted=False)
    path = write(tmp_path / "a" / "2.json", *ids(5, 1))
    run.epoch(1)
    path.unlink()
    with pytest.raises(TrustError, match=r"file 'a/2.json' of split 'a' .* is gone before"):
        run.epoch()


@pytest.mark.parametrize("each_file", [False, True])
@pytest.mark.parametrize("rows", [2, 5])
def test_a_gone_split_must_have_been_read(tmp_path: Path, each_file: bool, rows: int) -> None:
    path = write(tmp_path / "a" / "1.json", *ids(0, 5))
    write(tmp_path / "b" / "1.json")
    options = {"source_split": "file"} if each_file else {}
    run = Run(monitored(tmp_path, **options))
    run.epoch(rows)
    path.unlink()
    path.parent.rmdir()
    split = "a/1.json" if each_file else "a"
    run = again(run)
    assert split not in run.planner.splits()
    if rows == 5:
        run.planner.check_gone(split, run.positions[split])
        return
    with pytest.raises(TrustError, match=r"'a/1.json' .* is gone before all of it was read"):
        run.planner.check_gone(split, run.positions[split])
