from __future__ import annotations

import pytest
from pydantic import ValidationError

from tidegate.connectors.delta.options import DeltaSourceOptions
from tidegate.connectors.option_types import parsed


def test_a_table_is_watched_or_ends() -> None:
    assert parsed(DeltaSourceOptions, (("path", "a"),)).monitor_interval_us is None
    watched = (("path", "a"), ("source.monitor-interval", "2 s"))
    assert parsed(DeltaSourceOptions, watched).monitor_interval_us == 2_000_000


def test_it_has_a_path() -> None:
    with pytest.raises(ValidationError, match="path"):
        parsed(DeltaSourceOptions, ())
