"""``python -m bench.plot [RESULTS] [PICTURES]``: the pictures of docs/performance.md.

Needs ``pip install -e '.[plots]'``. Draws what is there of ``results.json`` (orders, keys,
Nexmark), ``latency.json`` and ``soak.json`` in RESULTS (out/bench) into PICTURES (docs), as SVG.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.engines import ENGINES
from bench.nexmark import QUERIES

_LABELS: Final = {engine.name: engine.label for engine in ENGINES}
_COLOURS: Final = {"tidegate": "#0b7285", "native": "#e8590c", "flink": "#ae3ec9"}
_GREY: Final = "#868e96"


def main() -> None:
    """Draws; says what it has drawn."""
    results, pictures = (
        Path(sys.argv[place]) if len(sys.argv) > place else Path(default)
        for place, default in ((1, "out/bench"), (2, "docs"))
    )
    for file, name, draw in _PICTURES:
        path = results / file
        if not path.exists():
            continue
        found = json.loads(path.read_text())
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8, 3.2), layout="constrained")
        if draw(figure, found):
            figure.savefig(pictures / f"{name}.svg", metadata={"Date": None})
            sys.stdout.write(f"{pictures / name}.svg\n")


def orders(figure: Any, found: Mapping[str, Any]) -> bool:
    """Rows a second, with its start, of each engine that answered right: medians, and from least to
    most. Some can only be measured so."""
    if "orders" not in found:
        return False
    speeds = {
        name: [run["rows_per_s_with_start"] / 1e3 for run in runs]
        for name, runs in found["orders"]["runs"].items()
        if not any(run["wrong"] for run in runs)
    }
    names = sorted(speeds, key=lambda name: median(speeds[name]))
    middles = [median(speeds[name]) for name in names]
    spans = [
        [middle - min(speeds[name]) for name, middle in zip(names, middles, strict=True)],
        [max(speeds[name]) - middle for name, middle in zip(names, middles, strict=True)],
    ]
    axes = figure.subplots()
    axes.barh(
        [_LABELS[name] for name in names], middles, xerr=spans, capsize=3,
        color=[_COLOURS.get(name, _GREY) for name in names],
    )  # fmt: skip
    axes.set_xlabel("thousand rows a second, with the start (median, least to most)")
    return True


def keys(figure: Any, found: Mapping[str, Any]) -> bool:
    """Rows a second over the number of customers."""
    if "keys" not in found:
        return False
    lines: dict[str, list[tuple[int, float]]] = {}
    for name, runs in found["keys"]["runs"].items():
        if any(run["wrong"] for run in runs):
            continue
        engine, _, count = name.partition(" ")
        speed = median(run["rows_per_s"] for run in runs) / 1e3
        lines.setdefault(engine, []).append((int(count.replace(",", "")), speed))
    axes = figure.subplots()
    for engine, points in lines.items():
        axes.plot(*zip(*sorted(points), strict=True), "o-", label=_LABELS[engine],
                  color=_COLOURS.get(engine, _GREY))  # fmt: skip
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("customers")
    axes.set_ylabel("thousand rows a second")
    axes.legend()
    return True


def nexmark(figure: Any, found: Mapping[str, Any]) -> bool:
    """Rows a second, with the start, of each query and engine that answered right."""
    queries = [name for name in QUERIES if name in found]
    engines = {engine: None for query in queries for engine in found[query]["runs"]}
    if not queries:
        return False
    axes = figure.subplots()
    width = 0.8 / len(engines)
    for number, engine in enumerate(engines):
        bars: list[tuple[float, float, float, float]] = []
        for place, query in enumerate(queries):
            runs = found[query]["runs"].get(engine, [])
            if runs and not any(run["wrong"] for run in runs):
                speeds = [run["rows_per_s_with_start"] / 1e3 for run in runs]
                middle = median(speeds)
                where = place + (number - (len(engines) - 1) / 2) * width
                bars.append((where, middle, middle - min(speeds), max(speeds) - middle))
        if bars:
            places, middles, below, above = zip(*bars, strict=True)
            axes.bar(places, middles, width, yerr=[below, above], capsize=3,
                     label=_LABELS[engine], color=_COLOURS.get(engine, _GREY))  # fmt: skip
    axes.set_xticks(range(len(queries)), queries)
    axes.set_ylabel("thousand rows a second, with the start")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return True


def latency(figure: Any, found: Mapping[str, Any]) -> bool:
    """The median and the 99th percentile over the rate, of each engine."""
    lines: dict[str, list[tuple[float, float, float]]] = {}
    for rate, engines in found["rates"].items():
        for engine, each in engines.items():
            point = (int(rate) / 1e3, each["p50_s"], each["p99_s"])
            lines.setdefault(engine, []).append(point)
    axes = figure.subplots()
    for engine, points in lines.items():
        rates, middles, highest = zip(*sorted(points), strict=True)
        colour = _COLOURS.get(engine, _GREY)
        axes.plot(rates, middles, "o-", label=f"{_LABELS[engine]}, median", color=colour)
        axes.plot(rates, highest, "o:", label=f"{_LABELS[engine]}, 99 %", color=colour)
    axes.set_yscale("log")
    axes.set_xlabel("thousand orders a second")
    axes.set_ylabel("seconds")
    axes.legend()
    return True


def soak(figure: Any, found: Mapping[str, Any]) -> bool:
    """Memory, state and files over time."""
    samples: Sequence[Mapping[str, float]] = found["samples"]
    minutes = [sample["s"] / 60 for sample in samples]
    shown = {"memory, MB": "memory_mb", "state, MB": "state_kb", "files": "checkpoint_files"}
    for axes, (label, name) in zip(figure.subplots(1, 3), shown.items(), strict=True):
        scale = 1e3 if name == "state_kb" else 1
        axes.plot(minutes, [sample[name] / scale for sample in samples], color="#0b7285")
        axes.set_ylim(bottom=0)
        axes.set_title(label)
        axes.set_xlabel("minutes")
    return True


_PICTURES: Final[Sequence[tuple[str, str, Callable[[Any, Mapping[str, Any]], bool]]]] = (
    ("results.json", "speed", orders),
    ("results.json", "keys", keys),
    ("results.json", "nexmark", nexmark),
    ("latency.json", "latency", latency),
    ("soak.json", "soak", soak),
)


if __name__ == "__main__":
    main()
