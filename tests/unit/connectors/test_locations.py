"""Which place a path means, and in which file system."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.connectors.locations import absolute, one_spelling, open_location
from tidegate.errors import OptionsError


def test_an_unknown_scheme_is_an_error() -> None:
    with pytest.raises(OptionsError, match="cannot open path 'ftp2://x'"):
        open_location("ftp2://x")


def test_s3a_is_s3() -> None:
    filesystem, path = open_location("s3a://bucket/a/*.json?region=us-east-1")
    assert filesystem.type_name == "s3"
    assert path == "bucket/a/*.json"
    assert one_spelling("s3n://bucket/a") == "s3://bucket/a"
    assert one_spelling("/s3a://bucket") == "/s3a://bucket"


def test_relative_paths_become_absolute() -> None:
    assert absolute("x/y") == f"{Path.cwd()}/x/y"
    assert absolute("s3://x/y") == "s3://x/y"
