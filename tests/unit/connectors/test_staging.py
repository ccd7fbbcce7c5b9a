"""Durable writes, and errors that name the path."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import fs

from tidegate.connectors.staging import (
    delete_staged,
    is_file,
    sink_errors,
    unique_token,
    write_durable,
)
from tidegate.errors import SinkError

LOCAL = fs.LocalFileSystem()


def test_staged_files_go_with_their_epochs(tmp_path: Path) -> None:
    for name in ("3-0-a.json", "print-12-0-b.json", "13-0-c.json", "probe-d", "claim-0001"):
        write_durable(LOCAL, str(tmp_path / name), b"abc")
    delete_staged(LOCAL, str(tmp_path), 12)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["13-0-c.json", "claim-0001"]
    assert is_file(LOCAL, str(tmp_path / "13-0-c.json"))
    delete_staged(LOCAL, str(tmp_path / "missing"), 1)


def test_errors_name_path_and_reason() -> None:
    with (
        pytest.raises(
            SinkError, match="cannot write to '/x': it refuses this user\nPermission denied"
        ),
        sink_errors("write to", "/x"),
    ):
        raise PermissionError(13, "Permission denied")


def test_tokens_differ() -> None:
    assert unique_token() != unique_token()
