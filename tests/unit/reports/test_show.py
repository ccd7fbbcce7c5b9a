from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from tidegate.reports.show import print_watermarks


def shown(document: dict[str, Any]) -> list[str]:
    """The lines on a wide terminal without colours."""
    console = Console(file=StringIO(), width=200)
    print_watermarks(document, console)
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines() if line.strip()]


def document(**more: Any) -> dict[str, Any]:
    split = {"offset": 10, "end": 1_250, "lag": 1_240, "event_time": 7, "watermark": 5}
    splits = [
        {**split, "split": "t-0", "status": "active"},
        {**split, "split": "t-1", "status": "idle", "end": None, "lag": None, "watermark": None},
    ]
    filter_ = {
        "table": "orders",
        "column": "at",
        "watermark": 5,
        "held_by": ["t-0"],
        "why": "the lowest of the active splits",
        "splits": splits,
    }
    return {"epoch": 3, "time": "2026-01-01 00:00:00", "filters": [filter_], "lost": {}, **more}


def test_who_holds_the_minimum_is_marked() -> None:
    lines = shown(document())
    assert lines[0] == "epoch 3, recorded 2026-01-01 00:00:00"
    assert lines[1] == "orders.at  watermark 5  held by t-0: the lowest of the active splits"
    (first,) = [line for line in lines if line.startswith("t-0 ")]
    assert first.split()[:4] == ["t-0", "10", "1,250", "1,240"]
    assert first.split()[-5:] == ["active", "◄", "holds", "the", "minimum"]
    (second,) = [line for line in lines if line.startswith("t-1 ")]
    assert second.split() == ["t-1", "10", "-", "-", "7", "-", "idle"]


def test_what_was_lost_is_told_to_the_offset() -> None:
    lines = shown(document(lost={"orders": {"t-0": [[3, 7]]}}))
    assert lines[-1] == "lost: orders t-0 offsets 3 to 6"


def test_a_broker_that_does_not_answer_is_named() -> None:
    lines = shown(document(silent={"orders": "no answer"}))
    assert lines[1] == "orders: ends are those of that epoch: no answer"


def test_names_cannot_paint_the_terminal() -> None:
    odd = document()
    odd["filters"][0]["splits"][0]["split"] = "[red]t\x1b[2J"
    assert any("[red]t\\x1b[2J" in line for line in shown(odd))
