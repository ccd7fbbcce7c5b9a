"""How a person reads the documents of a checkpoint, on a terminal or in a pipe."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from tidegate.connectors.formats.causes import kind_of
from tidegate.errors import RESTORE
from tidegate.reports.ledger import grouped, lasting, place_of
from tidegate.reports.terminal import plain


def print_ledger(document: dict[str, Any], console: Console, listed: int | None = None) -> None:
    """The document of ``tidegate ledger``: its rows by what they have in common; or, if a number is
    ``listed``, so many of them a line each."""
    rows = document["rows"]
    assert isinstance(rows, list)
    if listed is None:
        for count, first in grouped(rows):
            kind = kind_of(first.get("cause", ""))
            console.print(
                f"{count:>9,} [bold]{first['reason']:<13}[/] {plain(first['table'])}"
                f"{plain(f': {kind}' * bool(kind))}\n{'':>10}such as {plain(place_of(first))}"
                f"  {_lateness(first)}{plain(first['record'] or '', 100)}".rstrip(),
                soft_wrap=True,
            )
    for row in rows[: listed or 0]:
        place = f"{row['table']} {place_of(row)}"
        console.print(
            f"[bold]{row['reason']:<11}[/] {plain(place)}  {_lateness(row)}"
            f"{_because(row)}{plain(row['record'] or '', 100)}",
            soft_wrap=True,
        )
    print_counts(document, console)


def _because(row: dict[str, Any]) -> str:
    return f"{plain(row['cause'])}  " if "cause" in row else ""


def _lateness(row: dict[str, Any]) -> str:
    """The row's time, and how far it was below its watermark, in the column's unit."""
    time, lateness = row["event_time"], row["lateness"]
    if time is None:
        return ""
    if lateness is None:
        return f"{time}  "
    what = "late" if lateness > 0 else "ahead of its watermark"
    return f"{time}  {lasting(lateness, time)} {what}  "


def print_watermarks(document: dict[str, Any], console: Console) -> None:
    """The document of ``tidegate watermarks``."""
    console.print(f"epoch {document['epoch']}, recorded {document['time'] or '-'}")
    for name, reason in document.get("silent", {}).items():
        console.print(f"{plain(name)}: ends are those of that epoch: {plain(reason)}")
    for filter_ in document["filters"]:
        console.print()
        console.print(_heading(filter_), soft_wrap=True)
        table = Table(box=None, pad_edge=False)
        for name in ("split", "offset", "end", "lag", "last event time", "watermark", "status"):
            table.add_column(name, justify="right" if name in ("offset", "end", "lag") else "left")
        table.add_column("")
        for split in filter_["splits"]:
            holds = "◄ holds the minimum" if split["split"] in filter_["held_by"] else ""
            numbers = [number(split[name]) for name in ("offset", "end", "lag")]
            times = [str(_or_dash(split[name])) for name in ("event_time", "watermark")]
            name = plain(split["split"])
            table.add_row(name, *numbers, *times, split["status"], holds)
        console.print(table)
    for table_name, splits in document["lost"].items():
        for split, ranges in splits.items():
            for first, end in ranges:
                console.print(
                    f"lost: {plain(table_name)} {plain(split)} offsets {first} to {end - 1}"
                )


def print_status(document: dict[str, Any], console: Console) -> None:
    """The document of ``tidegate status``: what is not in that of ``watermarks`` comes first."""
    driver = document["driver"]
    console.print(
        f"[bold]{plain(document['job'] or '-')}[/]  "
        + (f"run by {plain(driver)}" if driver else "not running"),
        soft_wrap=True,
    )
    print_counts(document, console)
    for told in document["ledger"]:
        console.print(
            f"ledger: {told['rows']:,} {told['reason']} of {plain(told['table'])},"
            f" by {told['operator']}"
        )
    for kept in document["state"]:
        windows = "" if kept["windows"] is None else f", {kept['windows']:,} open windows"
        oldest = "" if kept["oldest"] is None else f" from {kept['oldest']}"
        console.print(
            f"state: {kept['operator']} of fragment {kept['fragment']}: {kept['rows']:,} rows,"
            f" {number(kept['bytes'])} bytes{windows}{oldest}"
        )
    for name, sunk in document["sinks"].items():
        console.print(f"sink: {plain(name)}: {sunk['rows']:,} rows in {sunk['commits']:,} commits")
    for warning in document["warnings"]:
        console.print(f"warning: {plain(warning)}", soft_wrap=True)
    print_watermarks(document, console)


def print_verified(document: dict[str, Any], console: Console) -> None:
    """The document of ``tidegate verify``."""
    for wrong in document["wrong"]:
        told = f"{wrong['file']}: {wrong['why']}"
        console.print(f"[bold]wrong[/]  {plain(told)}", soft_wrap=True)
    checked = ", ".join(f"{count} {kind}" for kind, count in document["checked"].items())
    first, last = document["epochs"]["first"], document["epochs"]["last"]
    console.print(f"epochs {first} to {last}: the entries that are kept")
    console.print(
        f"checked: {checked}" + "; all are as they were written" * (not document["wrong"])
    )
    if document["unchecked"]:
        count = f"{document['unchecked']} file(s) of state"
        console.print(f"not checked: {count}, which have no checksums; a run reads their own")
    if document["wrong"]:
        console.print(f"hint: {RESTORE}", soft_wrap=True)


def print_counts(document: dict[str, Any], console: Console) -> None:
    """``read = used + …``."""
    counts = document["counts"]
    assert isinstance(counts, dict)
    console.print("  ".join(f"{name} {value}" for name, value in counts.items()))


def _heading(filter_: dict[str, Any]) -> str:
    """``orders.order_time  watermark …  held by …``."""
    where = plain(f"{filter_['table']}.{filter_['column']}")
    held = ", ".join(filter_["held_by"])
    reason = f"held by {held}: {filter_['why']}" if held else filter_["why"]
    return f"[bold]{where}[/]  watermark {_or_dash(filter_['watermark'])}  {plain(reason)}"


def number(value: int | None) -> str:
    """As people read it."""
    return "-" if value is None else f"{value:,}"


def _or_dash(value: object) -> object:
    return "-" if value is None else value
