"""Lines are printed once the epoch commits, in order, and not again."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from kits.unread_output import unread_output
from tidegate.connectors.print.connector import CONNECTOR, PrintCommitter, PrintWriter
from tidegate.errors import SinkError
from tidegate.plan.tables import Table
from tidegate.ports import Stage
from tidegate.types import OP, Op
from unit.connectors.files_kit import COLUMNS, goes_through, ids

TABLE = Table("out", COLUMNS, "print", "json")


def test_lines_are_printed_in_order_and_once(tmp_path: Path) -> None:
    printed: list[str] = []
    committer = PrintCommitter(TABLE, str(tmp_path / "staging"), printed.append)
    assert committer.prepare(fresh=True) == {}
    staged = []
    for writer, first in (("1", 2), ("0", 0)):
        made = PrintWriter(TABLE, Stage(str(tmp_path / "staging"), 0, writer))
        made.write(pa.Table.from_pylist(ids(first, 2)))
        staged += made.close()
    assert printed == []
    committer.publish(0, staged)
    committer.publish(0, staged)
    assert "".join(printed).splitlines() == [
        f'out> {{"id":{number},"name":"n{number}"}}' for number in range(4)
    ]
    assert list((tmp_path / "staging").iterdir()) == []


def test_the_identifier_and_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("out", COLUMNS, "print", "json", (("print-identifier", "here"),))
    made = PrintWriter(table, Stage(str(tmp_path), 0, "0"))
    made.write(pa.Table.from_pylist([{"id": 1, "name": "a\r\u2028b"}]))
    committer = PrintCommitter(table, str(tmp_path))
    committer.bind({})
    committer.publish(0, made.close())
    assert capsys.readouterr().out == 'here> {"id":1,"name":"a\\r\u2028b"}\n'


def test_nothing_is_left(tmp_path: Path) -> None:
    made = PrintWriter(TABLE, Stage(str(tmp_path), 0, "0"))
    assert made.close() == []
    made.write(pa.Table.from_pylist(ids(0, 1)))
    made.close()
    made.abort()
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "print-1-0-left.json").write_text("x")
    PrintCommitter(TABLE, str(tmp_path)).discard_unknown(1)
    assert list(tmp_path.iterdir()) == []


def test_a_staging_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SinkError, match="cannot write to"):
        PrintCommitter(TABLE, str(tmp_path / "file" / "x")).prepare(fresh=True)


def test_changes_have_their_sign(tmp_path: Path) -> None:
    printed: list[str] = []
    committer = PrintCommitter(TABLE, str(tmp_path), printed.append)
    made = PrintWriter(TABLE, Stage(str(tmp_path), 0, "0"))
    ops = pa.array([int(op) for op in Op], pa.int8())
    made.write(pa.Table.from_pylist(ids(0, len(Op))).append_column(OP, ops))
    committer.publish(0, made.close())
    assert "".join(printed).splitlines() == [
        f'out> {sign} {{"id":{number},"name":"n{number}"}}'
        for number, sign in enumerate(["+", "-", "U-", "U+"])
    ]


def test_nobody_reads_the_standard_output_any_more(tmp_path: Path) -> None:
    made = PrintWriter(TABLE, Stage(str(tmp_path), 0, "0"))
    made.write(pa.Table.from_pylist(ids(0, 1)))
    staged = made.close()
    told = "cannot print to 'the standard output': Broken pipe"
    with unread_output(), pytest.raises(SinkError, match=told):
        PrintCommitter(TABLE, str(tmp_path)).publish(0, staged)
    printed: list[str] = []
    PrintCommitter(TABLE, str(tmp_path), printed.append).publish(0, staged)
    assert printed == ['out> {"id":0,"name":"n0"}\n']


def test_it_writes(tmp_path: Path) -> None:
    goes_through(CONNECTOR, TABLE, tmp_path)


def test_it_takes_changes_and_needs_no_key() -> None:
    assert CONNECTOR.takes_changes(TABLE)
    assert CONNECTOR.key(TABLE) is None
    assert CONNECTOR.is_shown is True
