from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tidegate.errors import OptionsError
from tidegate.reports.scraped import Samples, address_of, document, scrape

NOW = 1_767_225_600.0  # 2026-01-01 00:00:00
TEXT = f"""
tidegate_info{{version="0.1.0",name="shop"}} 1
tidegate_epoch 7
tidegate_epoch_time_seconds {NOW}
tidegate_epoch_committed_seconds {NOW + 1}
tidegate_rows_total{{account="orders",split="t-0",fate="used"}} 5
tidegate_rows_total{{account="orders",split="t-0",fate="filtered"}} 1
tidegate_rows_total{{account="orders",split="t-0",fate="late"}} 2
tidegate_rows_total{{account="orders",split="t-0",fate="quarantined"}} 0
tidegate_rejected_rows_total{{account="orders",operator="WatermarkFilter",reason="late"}} 2
tidegate_watermark{{account="orders",column="at"}} {NOW - 60}
tidegate_watermark_lag_seconds{{account="orders",column="at"}} 62
tidegate_split_watermark{{account="orders",column="at",split="t-0"}} {NOW - 60}
tidegate_split_watermark{{account="orders",column="at",split="t-1"}} {NOW - 30}
tidegate_split_watermark_lag_seconds{{account="orders",column="at",split="t-0"}} 62
tidegate_split_status{{table="orders",split="t-0",status="active"}} 1
tidegate_split_status{{table="orders",split="t-0",status="idle"}} 0
tidegate_split_status{{table="orders",split="t-1",status="active"}} 1
tidegate_split_lag_rows{{table="orders",split="t-0"}} 12
tidegate_state_rows{{fragment="1",operator="FinalAggregate"}} 9
tidegate_open_windows{{fragment="1",operator="FinalAggregate"}} 3
tidegate_sink_rows_total{{sink="sales"}} 40
tidegate_sink_commits_total{{sink="sales"}} 4
tidegate_warnings{{kind="absent"}} 2
tidegate_warnings{{kind="held"}} 0
"""


def samples(text: str) -> Samples:
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


def shown(text: str = TEXT) -> dict[str, Any]:
    return document(samples(text))


def test_it_is_the_document_of_a_checkpoint() -> None:
    found = shown()
    assert (found["job"], found["epoch"], found["time"]) == ("shop", 7, "2026-01-01 00:00:00")
    assert found["counts"] == {"read": 8, "used": 5, "filtered": 1, "late": 2, "quarantined": 0}
    assert found["ledger"] == [
        {"table": "orders", "operator": "WatermarkFilter", "reason": "late", "rows": 2}
    ]
    assert found["sinks"] == {"sales": {"commits": 4, "rows": 40, "bytes": 0}}
    (warning,) = found["warnings"]
    assert warning.startswith("2 of kind 'absent'")
    (kept,) = found["state"]
    assert (kept["rows"], kept["windows"], kept["oldest"]) == (9, 3, None)


def test_who_holds_the_watermark() -> None:
    (filter_,) = shown()["filters"]
    assert filter_["watermark"] == "2025-12-31 23:59:00"
    assert filter_["held_by"] == ["t-0"]
    first, second = filter_["splits"]
    assert (first["watermark"], first["lag"]) == ("2025-12-31 23:59:00", 12)
    assert (second["watermark"], second["lag"]) == (NOW - 30, None)  # its lag was not told


def test_a_column_that_counts_milliseconds_is_no_time() -> None:
    at = (NOW - 60) * 1000
    text = TEXT.replace(f'column="at"}} {NOW - 60}', f'column="at"}} {at}')
    (filter_,) = shown(text)["filters"]
    assert filter_["watermark"] == at


def test_the_oldest_window_is_a_time_where_the_watermarks_are() -> None:
    text = TEXT + f'tidegate_oldest_open_window{{fragment="1",operator="FinalAggregate"}} {NOW}\n'
    assert shown(text)["state"][0]["oldest"] == "2026-01-01 00:00:00"
    text = text.replace(f'column="at"}} {NOW - 60}', 'column="at"} 17')
    assert shown(text)["state"][0]["oldest"] == NOW


@pytest.mark.parametrize(
    ("place", "url"),
    [
        (":9464", "http://localhost:9464/metrics"),
        ("driver-0.shop:9464", "http://driver-0.shop:9464/metrics"),
        ("[::1]:9464", "http://[::1]:9464/metrics"),
        ("https://shop.example/a/", "https://shop.example/a/metrics"),
        ("http://h:1/metrics", "http://h:1/metrics"),
        ("checkpoint", None),
        ("/tmp/a:b", None),
        ("s3://bucket/path", None),
    ],
)
def test_places(place: str, url: str | None) -> None:
    assert address_of(place) == url


def test_nobody_there() -> None:
    with pytest.raises(OptionsError, match="no job serves its metrics at http://localhost:1/"):
        scrape("http://localhost:1/metrics")
