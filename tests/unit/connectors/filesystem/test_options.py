"""WITH options of files."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tidegate.connectors.filesystem.options import FilesystemOptions, FilesystemSourceOptions
from tidegate.connectors.option_types import parsed

LEAST = {"path": "/in", "format": "json"}


def test_defaults() -> None:
    options = parsed(FilesystemSourceOptions, LEAST.items())
    assert (options.split, options.monitor_interval_us) == ("directory", None)
    assert options.idle_timeout_us == 0
    watched = {**LEAST, "source.monitor-interval": "1min", "scan.watermark.idle-timeout": "5 s"}
    options = parsed(FilesystemSourceOptions, watched.items())
    assert (options.monitor_interval_us, options.idle_timeout_us) == (60_000_000, 5_000_000)


def test_files_that_are_not_watched_are_never_idle() -> None:
    with pytest.raises(ValidationError, match=r"needs 'source\.monitor-interval'"):
        parsed(FilesystemSourceOptions, {**LEAST, "scan.watermark.idle-timeout": "5 s"}.items())


@pytest.mark.parametrize("wrong", [{"path": ""}, {"format": "xml"}, {"source.split": "file"}])
def test_what_a_sink_refuses(wrong: dict[str, str]) -> None:
    assert parsed(FilesystemOptions, LEAST.items()).header is False
    with pytest.raises(ValidationError):
        parsed(FilesystemOptions, {**LEAST, **wrong}.items())
