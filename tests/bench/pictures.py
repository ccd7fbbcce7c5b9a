"""``python -m bench.pictures``: the pictures of docs, drawn from docs/bench into docs/pictures.

Plain SVG, a few kilobytes, so that no library is needed and a difference can be read. Lengths are
in pixels of a picture that is `_WIDTH` wide.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from bench.report import label
from bench.tables import BENCH, DOCS, MACHINES, results

PICTURES: Final = DOCS / "pictures"
_WIDTH: Final = 760
_COLOURS: Final = {"tidegate": "#0b7285", "native": "#e8590c", "flink": "#ae3ec9"}
_GREY: Final = "#868e96"
_INK: Final = "#212529"
_LEFT: Final = 190
"""Where bars begin."""
_BAR: Final = 22


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a panel: points (x, y), in the panel's units."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]]


def speed() -> str:
    """Rows a second with the start, of each engine that answered right, by machine."""
    kept = [each for each in results() if each.workload == "orders"]
    by_machine = {
        each.machine: {
            name: [run["rows_per_s_with_start"] / 1e3 for run in runs]
            for name, runs in each.found["runs"].items()
            if not any(run["wrong"] for run in runs)
        }
        for each in kept
    }
    most = max(max(of) for speeds in by_machine.values() for of in speeds.values())
    drawn: list[str] = []
    y = 0
    for each in kept:
        y += 24
        drawn.append(_text(8, y, MACHINES[each.machine], bold=True))
        speeds = by_machine[each.machine]
        for name in sorted(speeds, key=lambda name: -median(speeds[name])):
            y += _BAR
            drawn += _bar(y, label(each.found, name), name, speeds[name], most)
    y += 26
    drawn.append(_text(_LEFT, y, "thousand rows a second, with the start: median, least to most"))
    return _document(y + 10, drawn)


def _bar(y: int, shown: str, engine: str, values: Sequence[float], most: float) -> Iterator[str]:
    middle, scale = median(values), (_WIDTH - _LEFT - 60) / most
    least, highest = (_LEFT + value * scale for value in (min(values), max(values)))
    yield _text(_LEFT - 8, y, shown, anchor="end")
    yield (
        f'<rect x="{_LEFT}" y="{y - 13}" width="{middle * scale:.0f}" height="16"'
        f' fill="{_COLOURS.get(engine, _GREY)}"/>'
    )
    yield f'<path d="M{least:.0f} {y - 5}H{highest:.0f}" stroke="{_INK}"/>'
    yield _text(round(highest) + 6, y, f"{middle:,.0f}")


def alignment() -> str:
    """The watermarks of a fast and a slow table after each epoch, with and without alignment."""
    found = json.loads((BENCH / "alignment.json").read_text())
    titles = {"free": "without alignment", "aligned": "max-drift 5 min"}
    highest = max(found["free"]["fast"]) / 60_000
    drawn: list[str] = []
    for number, (name, title) in enumerate(titles.items()):
        series = found[name]
        lines = [
            Line("fast", "#c1440e", _minutes(series["fast"])),
            Line("slow", "#1b4f72", _minutes(series["slow"])),
        ]
        apart = f"{series['apart_ms_max'] / 60_000:.0f} min apart at most"
        drawn += _panel(60 + 370 * number, f"{title}: {apart}", lines, highest)
    drawn.append(_text(8, 20, "watermark, minutes of event time", bold=True))
    return _document(290, drawn)


def _minutes(series: Sequence[int]) -> list[tuple[float, float]]:
    return [(epoch, ms / 60_000) for epoch, ms in enumerate(series, 1)]


def _panel(x: int, title: str, lines: Sequence[Line], highest: float) -> Iterator[str]:
    top, bottom, width = 60, 250, 300
    last = max(point[0] for line in lines for point in line.points)
    yield _text(x, top - 14, title)
    yield f'<path d="M{x} {top}V{bottom}H{x + width}" fill="none" stroke="#adb5bd"/>'
    for value in (0.0, highest / 2, highest):
        y = bottom - value / highest * (bottom - top)
        yield _text(x - 6, round(y) + 4, f"{value:.0f}", anchor="end")
    for line in lines:
        places = [
            f"{x + at / last * width:.0f} {bottom - value / highest * (bottom - top):.0f}"
            for at, value in line.points
        ]
        yield f'<path d="M{"L".join(places)}" fill="none" stroke="{line.colour}" stroke-width="2"/>'
    for number, line in enumerate(lines):
        yield _text(x + 14, top + 14 + 16 * number, line.name, colour=line.colour)
    yield _text(x + width, bottom + 18, f"epoch {last:.0f}", anchor="end")


def _text(
    x: int,
    y: int,
    shown: str,
    *,
    anchor: str = "start",
    bold: bool = False,
    colour: str = "#212529",
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}"{weight}>{shown}</text>'


def _document(height: int, drawn: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"'
        ' font-family="sans-serif" font-size="13">'
    )
    paper = f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, paper, *drawn, "</svg>"]) + "\n"


DRAWN: Final[Mapping[str, Callable[[], str]]] = {"speed.svg": speed, "alignment.svg": alignment}
"""By the picture's file."""


def main() -> None:
    """Draws all of them."""
    PICTURES.mkdir(exist_ok=True)
    for name, draw in DRAWN.items():
        (PICTURES / name).write_text(draw())


if __name__ == "__main__":
    main()
