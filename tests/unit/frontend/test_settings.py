from __future__ import annotations

import pytest

from tidegate.frontend.settings import checked
from tidegate.settings import KNOWN


@pytest.mark.parametrize(
    ("key", "value", "name"),
    [
        ("tidegate.epoch.rows.max", "500", "tidegate.epoch.rows.max"),
        ("Tidegate.Vnodes", "4", "tidegate.vnodes"),
        ("spark.sql.shuffle.partitions", "4", "spark.sql.shuffle.partitions"),
        ("SPARK.sql.maxX", "4", "spark.sql.maxX"),
        ("timezone", "UTC", "table.local-time-zone"),
        ("pipeline.auto-watermark-interval", "200 ms", "pipeline.auto-watermark-interval"),
        ("Table.exec.source.idle-timeout", "0", "table.exec.source.idle-timeout"),
    ],
)
def test_accepted(key: str, value: str, name: str) -> None:
    assert checked(key, value) == (name, value)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tidegate.vnode", "4", "unknown setting 'tidegate.vnode'"),
        ("tidegate.vnodes", "0", "setting 'tidegate.vnodes'"),
        ("pipeline.auto-watermark-interval", "often", "is not a duration"),
        ("table.exec.source.idle-timeout", "never", "is not a duration"),
        ("pipeline.watermark-alignment.allow-unaligned-source-splits", "1", "write true or false"),
    ],
)
def test_refused(key: str, value: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checked(key, value)


def test_a_boolean_has_one_spelling() -> None:
    key = "pipeline.watermark-alignment.allow-unaligned-source-splits"
    assert checked(key, " TRUE ") == (key, "true")


def test_every_setting_of_ours_is_known() -> None:
    assert "tidegate.watermark.pushdown" in KNOWN
