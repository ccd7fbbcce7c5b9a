"""Staging, publishing once, generations, and outputs that cannot be written."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tidegate.connectors.filesystem.sink import FilesystemCommitter, FilesystemWriter
from tidegate.errors import SinkError, TrustError
from tidegate.ports import Stage, StagedFile
from unit.connectors.files_kit import Run, ids, sink, source


def rows(first: int, count: int) -> pa.Table:
    return pa.Table.from_pylist(ids(first, count))


def stage(
    path: Path, epoch: int, writer: str, *tables: pa.Table, **options: str
) -> list[StagedFile]:
    made = FilesystemWriter(sink(path, **options), Stage("scope", epoch, writer))
    for table in tables:
        made.write(table)
    return made.close()


def visible(path: Path) -> list[str]:
    return sorted(file.name for file in path.iterdir() if not file.name.startswith("."))


def staged_in(path: Path) -> list[Path]:
    scopes = [entry for entry in (path / ".tidegate").iterdir() if entry.is_dir()]
    return [file for scope in scopes for file in scope.iterdir()]


def test_published_files_are_named_in_row_order(tmp_path: Path) -> None:
    committer = FilesystemCommitter(sink(tmp_path / "out"), "scope")
    assert committer.prepare(fresh=True) == {"generation": "1"}
    staged = stage(tmp_path / "out", 3, "10", rows(5, 2)) + stage(
        tmp_path / "out", 3, "9", rows(0, 2)
    )
    assert [file.rows for file in staged] == [2, 2]
    assert visible(tmp_path / "out") == []
    committer.publish(3, staged)
    names = visible(tmp_path / "out")
    assert names == ["part-0001-0000000003-0000.json", "part-0001-0000000003-0001.json"]
    text = "".join((tmp_path / "out" / name).read_text() for name in names)
    assert [line[6] for line in text.splitlines()] == ["0", "1", "5", "6"]


def test_publishing_again_changes_nothing(tmp_path: Path) -> None:
    committer = FilesystemCommitter(sink(tmp_path), "scope")
    committer.prepare(fresh=True)
    staged = stage(tmp_path, 0, "0", rows(0, 2)) + stage(tmp_path, 0, "1", rows(2, 2))
    committer.publish(0, staged[:1])  # died in between
    committer.publish(0, staged)
    before = {name: (tmp_path / name).read_text() for name in visible(tmp_path)}
    committer.publish(0, staged)
    assert {name: (tmp_path / name).read_text() for name in visible(tmp_path)} == before
    assert len(before) == 2


def test_what_a_driver_before_this_one_staged_is_read_first(tmp_path: Path) -> None:
    staged = stage(tmp_path, 0, "0", rows(0, 2)) + stage(tmp_path, 0, "1", rows(2, 2))
    last = Path(staged[1].path)
    last.write_bytes(last.read_bytes().replace(b"3", b"4"))
    committer = FilesystemCommitter(sink(tmp_path), "scope")
    with pytest.raises(TrustError, match="a staged file was changed"):
        committer.publish(0, staged)
    assert visible(tmp_path) == []


def test_a_lost_staged_file_is_an_error(tmp_path: Path) -> None:
    committer = FilesystemCommitter(sink(tmp_path), "scope")
    staged = stage(tmp_path, 0, "0", rows(0, 2))
    Path(staged[0].path).unlink()
    with pytest.raises(TrustError, match="is lost"):
        committer.publish(0, staged)


def test_a_fresh_checkpoint_writes_the_next_generation(tmp_path: Path) -> None:
    first = FilesystemCommitter(sink(tmp_path), "scope")
    first.prepare(fresh=True)
    first.publish(0, stage(tmp_path, 0, "0", rows(0, 2)))
    second = FilesystemCommitter(sink(tmp_path), "scope")
    remembered = second.prepare(fresh=True)
    beside = f"1 file of another checkpoint in '{tmp_path}'"
    assert remembered == {"generation": "2", "beside": beside}
    restarted = FilesystemCommitter(sink(tmp_path), "scope")
    restarted.bind(remembered)
    restarted.prepare(fresh=False)
    restarted.publish(0, stage(tmp_path, 0, "0", rows(2, 2)))
    assert visible(tmp_path) == ["part-0001-0000000000-0000.json", "part-0002-0000000000-0000.json"]


def test_leftovers_and_aborted_files_go(tmp_path: Path) -> None:
    committer = FilesystemCommitter(sink(tmp_path), "scope")
    committer.prepare(fresh=True)
    made = FilesystemWriter(sink(tmp_path), Stage("scope", 0, "0"), file_bytes_max=10)
    made.write(rows(0, 2))
    assert len(staged_in(tmp_path)) == 1
    made.abort()
    assert staged_in(tmp_path) == []
    assert made.close() == []
    stage(tmp_path, 3, "0", rows(0, 2))
    committer.discard_unknown(2)
    assert len(staged_in(tmp_path)) == 1, "an entry of epoch 3 may be on its way"
    committer.discard_unknown(3)
    assert staged_in(tmp_path) == []


def test_no_rows_make_no_file(tmp_path: Path) -> None:
    assert stage(tmp_path, 0, "0", rows(0, 2).slice(0, 0)) == []
    assert stage(tmp_path, 0, "0") == []


def test_files_roll(tmp_path: Path) -> None:
    made = FilesystemWriter(sink(tmp_path), Stage("scope", 0, "2"), file_bytes_max=60)
    for first in range(0, 10, 2):
        made.write(rows(first, 2))
    staged = made.close()
    assert [file.rows for file in staged] == [4, 4, 2]
    assert [file.order for file in staged] == sorted(file.order for file in staged)
    assert all(Path(file.path).stat().st_size == file.bytes for file in staged)


@pytest.mark.parametrize("format_", ["json", "csv", "parquet"])
def test_a_source_reads_what_a_sink_wrote(tmp_path: Path, format_: str) -> None:
    committer = FilesystemCommitter(sink(tmp_path, format=format_), "scope")
    committer.prepare(fresh=True)
    committer.publish(0, stage(tmp_path, 0, "0", rows(0, 3), rows(3, 2), format=format_))
    run = Run(source(tmp_path, format=format_)).to_end()
    assert [row for _, row in run.rows["."]] == ids(0, 5)


def test_a_header_when_asked(tmp_path: Path) -> None:
    staged = stage(tmp_path, 0, "0", rows(0, 1), rows(1, 1), format="csv", csv_header="true")
    assert Path(staged[0].path).read_text() == "id,name\n0,n0\n1,n1\n"


def test_an_output_that_cannot_be_written_is_said_before_the_job_starts(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SinkError, match=r"cannot write to '.*file/out'") as caught:
        FilesystemCommitter(sink(tmp_path / "file" / "out"), "scope").prepare(fresh=True)
    assert caught.value.exit_code == 1
    assert "Not a directory" in caught.value.message
    with pytest.raises(SinkError, match=r"cannot write to '.*file/out'"):
        stage(tmp_path / "file" / "out", 0, "0", rows(0, 1))


def test_sinks_that_share_a_path_keep_out_of_each_others_way(tmp_path: Path) -> None:
    committers = [FilesystemCommitter(sink(tmp_path), scope) for scope in ("a", "b")]
    remembered = [committer.prepare(fresh=True) for committer in committers]
    assert [document["generation"] for document in remembered] == ["1", "2"]
    staged = []
    for first, scope in enumerate(("a", "b")):
        made = FilesystemWriter(sink(tmp_path), Stage(scope, 1, "0"))
        made.write(rows(first, 1))
        staged.append(made.close())
    committers[0].publish(1, staged[0])
    committers[0].discard_unknown(1)
    committers[1].publish(1, staged[1])
    assert len(list(tmp_path.glob("part-*"))) == 2
