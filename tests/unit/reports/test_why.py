from __future__ import annotations

from typing import Any

from tidegate.reports.why import reason_of, reasons


def split(name: str, **more: Any) -> dict[str, Any]:
    known = {"offset": 10, "end": 10, "lag": 0, "event_time": 7, "watermark": 5, "status": "active"}
    return {"split": name, **known, **more}


def document(**more: Any) -> dict[str, Any]:
    filter_ = {
        "table": "orders",
        "column": "at",
        "watermark": 5,
        "held_by": ["t-0"],
        "why": "the lowest of the active splits",
        "splits": [split("t-0"), split("t-1", watermark=9), split("t-2", status="idle")],
    }
    base = {"driver": "process 7 on h", "filters": [filter_], "state": [], "ledger": []}
    return {**base, **more}


def said(**more: Any) -> list[str]:
    return list(reasons(document(**more)))


def with_filter(**more: Any) -> dict[str, Any]:
    return {"filters": [{**document()["filters"][0], **more}]}


def test_who_holds_it_and_what_lets_it_go_on() -> None:
    first, second, third = said()
    assert first == "orders.at stands at 5, held by t-0: the lowest of the active splits"
    assert second == (
        "  t-0: all its rows are read: it goes on with its next one;"
        " 'scan.watermark.idle-timeout' would leave it out once it stands still"
    )
    assert third == "  idle, and left out: t-2"


def test_a_split_that_is_behind() -> None:
    (_, line) = said(**with_filter(splits=[split("t-0", lag=1_200)]))
    assert line == "  t-0: 1,200 of its rows are not read yet: the job is behind"


def test_a_split_without_a_row() -> None:
    told = with_filter(watermark=None, why="unheard", splits=[split("t-0", watermark=None)])
    first, second = said(**told)
    assert first == "orders.at has no watermark yet, held by t-0: unheard"
    assert "no row with an event time has come" in second


def test_of_files_the_end_is_not_known() -> None:
    (_, line) = said(**with_filter(splits=[split("t-0", lag=None)]))
    assert "it goes on with its next row" in line


def test_the_end() -> None:
    (line,) = said(**with_filter(watermark="infinity", held_by=[], splits=[]))
    assert line.startswith("orders.at has ended")


def test_nobody_runs_it() -> None:
    assert said(driver=None)[0].startswith("no driver runs")


def test_windows_are_open_until_the_watermark_comes() -> None:
    kept = {"fragment": "1", "operator": "F", "rows": 1_000, "bytes": 5, "windows": 3, "oldest": 1}
    assert said(state=[kept])[-1] == (
        "F of fragment 1 keeps 1,000 rows in 3 open windows, the oldest from 1, which close when"
        " the watermark reaches their ends"
    )
    assert not any("open windows" in line for line in said(state=[{**kept, "windows": None}]))


def test_refused_rows_are_explained() -> None:
    told = {"table": "orders", "operator": "WatermarkFilter", "reason": "late", "rows": 1_234}
    assert said(ledger=[told])[-1] == (
        "1,234 rows of orders (late) lay below the watermark of their split when they came"
    )
    assert said(ledger=[{**told, "rows": 0}]) == said()


def test_a_row() -> None:
    row = {
        "table": "orders",
        "split": "t-0",
        "offset": 8,
        "operator": "WatermarkFilter",
        "reason": "late",
        "event_time": "2026-01-01 00:00:00",
        "watermark": "2026-01-01 00:00:05",
        "lateness": 5_000_000,
    }
    assert "Its time 2026-01-01 00:00:00 lies 5 s below the watermark" in reason_of(row)
    odd = {**row, "reason": "malformed", "event_time": None, "lateness": None}
    assert reason_of(odd) == (
        "orders t-0@8: malformed, at WatermarkFilter. Such rows do not decode, or have a field that"
        " does not fit its type."
    )
