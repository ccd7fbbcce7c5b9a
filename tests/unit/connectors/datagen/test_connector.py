"""Made orders as a connector."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate.connectors.datagen.connector import CONNECTOR
from tidegate.errors import OptionsError
from tidegate.plan.tables import Table
from tidegate.ports import Stage
from unit.connectors.files_kit import COLUMNS

ENDLESS = Table("d", COLUMNS, "datagen", "")
FIVE = replace(ENDLESS, options=(("number-of-rows", "5"),))


def test_bounded() -> None:
    assert not CONNECTOR.is_bounded(ENDLESS)
    assert CONNECTOR.is_bounded(FIVE)
    assert CONNECTOR.is_bounded(replace(FIVE, options=(("number-of-rows", "0"),)))


def test_it_is_no_sink() -> None:
    with pytest.raises(OptionsError, match="cannot be a sink"):
        CONNECTOR.writer(ENDLESS, Stage("", 0, "0"))


def test_alignment_makes_no_other_table() -> None:
    aligned = (
        ("scan.watermark.alignment.group", "g"),
        ("scan.watermark.alignment.max-drift", "1 s"),
    )
    in_group = replace(FIVE, options=(*FIVE.options, *aligned))
    assert CONNECTOR.same_table(in_group) == CONNECTOR.same_table(FIVE) == FIVE
    options = CONNECTOR.read_options(in_group)
    assert (options.alignment_group, options.max_drift_us) == ("g", 1_000_000)
    assert (options.idle_timeout_us, options.alignment_interval_us) == (0, 1_000_000)
