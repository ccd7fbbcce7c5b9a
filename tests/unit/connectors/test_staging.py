"""Order of staged files, durable writes, and errors that name the path."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import fs

from tidegate.connectors.staging import (
    delete_below,
    is_file,
    sink_errors,
    unique_token,
    write_durable,
    write_order,
)
from tidegate.errors import SinkError

LOCAL = fs.LocalFileSystem()


def test_writers_are_ordered_by_number() -> None:
    orders = [write_order(writer, index) for writer in ("2", "w10") for index in (0, 1)]
    assert orders == sorted(orders)
    assert write_order("only", 3) == 3


def test_files_come_and_go(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    write_durable(LOCAL, path, b"abc")
    assert is_file(LOCAL, path)
    delete_below(LOCAL, str(tmp_path))
    assert not is_file(LOCAL, path)
    delete_below(LOCAL, str(tmp_path / "missing"))


def test_errors_name_path_and_reason() -> None:
    with (
        pytest.raises(SinkError, match="cannot write to '/x': Permission denied"),
        sink_errors("write to", "/x"),
    ):
        raise PermissionError(13, "Permission denied")


def test_tokens_differ() -> None:
    assert unique_token() != unique_token()
