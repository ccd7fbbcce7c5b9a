"""``python -m bench.tables``: the tables of docs/performance.md, made from docs/bench.

    python -m bench.tables                        # writes them anew
    python -m bench.tables --keep MACHINE [DIR]   # first takes over what a run has left in DIR

DIR is out/bench unless it is given. docs/bench has the newest results of each machine, as a run
wrote them, in ``WORKLOAD-MACHINE.json`` (``latency`` with its rate; ``state`` and ``alignment`` are
the same on all machines). In the page a table stands between ``<!-- table: NAME -->`` and
``<!-- end -->``.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.report import HEAD, speeds, table

DOCS: Final = Path(__file__).parents[2] / "docs"
BENCH: Final = DOCS / "bench"
PAGE: Final = DOCS / "performance.md"
MACHINES: Final = {
    "xeon": "Intel Xeon",
    "epyc": "AMD EPYC",
    "epyc-slow": "AMD EPYC, a slower host",
}
"""By the end of a file's name; tables have them in this order."""
_ENGINES: Final = {"tidegate": "Tidegate", "native": "Spark withWatermark", "flink": "Flink SQL"}
_MARKED: Final = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Result:
    """A file of docs/bench."""

    workload: str
    machine: str
    found: Mapping[str, Any]

    @property
    def file(self) -> str:
        return f"{self.workload}-{self.machine}.json"


Results = Sequence[Result]


def results(directory: Path = BENCH) -> list[Result]:
    """What is kept, by machine and workload. ValueError where a name does not fit the scheme."""
    kept = []
    for path in sorted(directory.glob("*-*.json"), key=lambda path: _natural(path.stem)):
        fits = [each for each in MACHINES if path.stem.endswith(f"-{each}")]
        if not fits:
            raise ValueError(f"{path.name}: what ends its name is none of {', '.join(MACHINES)}")
        machine = max(fits, key=len)
        workload = path.stem.removesuffix(f"-{machine}")
        kept.append(Result(workload, machine, json.loads(path.read_text())))
    order = list(MACHINES)
    return sorted(kept, key=lambda each: order.index(each.machine))


def written(page: str, kept: Results) -> str:
    """The page with its tables made anew."""

    def made(match: re.Match[str]) -> str:
        return f"{match[1]}\n{TABLES[match[2]](kept)}\n{match[3]}"

    return _MARKED.sub(made, page)


def keep(machine: str, directory: Path, to: Path = BENCH) -> None:
    """Takes the results of a run over into ``to``, as those of ``machine``."""
    for path in sorted(directory.glob("*.json")):
        document = json.loads(path.read_text())
        parts = {path.stem: document}
        if path.stem == "results":
            parts = document
        elif path.stem == "latency":
            parts = {f"latency-{int(rate) // 1000}k": {**document, "rates": {rate: engines}}
                     for rate, engines in document["rates"].items()}  # fmt: skip
        for workload, found in parts.items():
            for engines in found.get("rates", {}).values():
                for each in engines.values():
                    each.pop("by_window_s", None)  # no table reads it
            text = json.dumps(found, indent=1) + "\n"
            (to / f"{workload}-{machine}.json").write_text(text)


def _speeds(case: str, *workloads: str) -> Callable[[Results], str]:
    """A table of speeds. ``case``: what its cases, or its workloads if it has several, are."""

    def made(kept: Results) -> str:
        ours = [each for each in kept if each.workload in workloads]
        lines = []
        for each in ours:
            for line in speeds(each.found):
                label = each.workload if len(workloads) > 1 else line.case
                cells = [label] if case else []
                lines.append([MACHINES[each.machine], *cells, line.engine, *line.cells])
        head = ["machine", *([case] if case else []), "engine", *HEAD]
        full = [place for place in range(len(head)) if any(line[place] for line in lines)]
        told = [[line[place] for place in full] for line in (head, *lines)]
        return table(told[0], told[1:]) + _sources(ours)

    return made


def _latency(kept: Results) -> str:
    ours = [each for each in kept if each.workload.startswith("latency-")]
    lines = []
    for each in ours:
        for rate, engines in each.found["rates"].items():
            for name, found in engines.items():
                done = f"{found['windows']}"
                if found["unwritten"]:
                    done += f" of {found['windows'] + found['unwritten']}"
                seconds = [f"{found[key]:.2f}" for key in ("p50_s", "p99_s", "max_s")]
                lines.append(
                    [MACHINES[each.machine], f"{int(rate):,}", _ENGINES[name], *seconds, done]
                )
    head = ["machine", "orders a second", "engine", "median s", "99 % s", "most s", "windows"]
    return table(head, lines) + _sources(ours)


def _floor(kept: Results) -> str:
    places = {"floor": "local disk", "floor-s3": "MinIO"}
    ours = [each for each in kept if each.workload in places]
    lines = []
    for each in ours:
        medians, rounds = each.found["median_ms"], each.found["rounds_ms"]
        cells = [
            f"{medians[name]:.0f} ({min(rounds[name]):.0f}–{max(rounds[name]):.0f})"
            for name in ("tidegate", "native")
        ]
        lines.append([MACHINES[each.machine], places[each.workload], *cells])
    engines = (f"{_ENGINES[name]} ms" for name in ("tidegate", "native"))
    return table(["machine", "checkpoint", *engines], lines) + _sources(ours)


def _backlog(kept: Results) -> str:
    ours = [each for each in kept if each.workload == "backlog"]
    lines = [
        [MACHINES[each.machine], _ENGINES[name], f"{found['seconds']:.0f}",
         f"{found['rows_per_s'] / 1e3:,.0f}"]
        for each in ours
        for name, found in each.found.items()
        if name in _ENGINES
    ]  # fmt: skip
    return table(["machine", "engine", "seconds", "1,000 rows/s"], lines) + _sources(ours)


_SOAKED: Final = {
    "memory_mb": "all memory, MB",
    "workers_mb": "… Python workers",
    "jvm_mb": "… the JVM",
    "driver_mb": "… the driver's Python",
    "state_kb": "state with the versions that Spark keeps, kB",
    "checkpoint_files": "files of the checkpoint",
}


def _soak(kept: Results) -> str:
    ours = [each for each in kept if each.workload == "soak"]
    lines = []
    for name, label in _SOAKED.items():
        line = [label]
        for each in ours:
            samples = [sample[name] for sample in each.found["samples"]]
            third = len(samples) // 3
            parts = samples[third : 2 * third], samples[2 * third :]
            line += [f"{median(part):,.0f}" for part in parts]
            line.append(f"{each.found['grown'][name]:.3f} ×")
        lines.append(line)
    head = [""]
    for each in ours:
        head += [f"{MACHINES[each.machine]}: second third", "last third", "grown"]
    return table(head, lines) + _sources(ours)


_TOUCHED: Final = {
    "update": "groups",
    "topn": "the first three rows of each key",
    "join": "a join of all rows",
    "counts": "how many keys have how many rows",
}


def _touched(kept: Results) -> str:
    ours = [each for each in kept if each.workload == "touched"]
    lines = []
    for each in ours:
        for name, by_keys in each.found["queries"].items():
            (_, few), (_, many) = sorted(by_keys.items(), key=lambda pair: int(pair[0]))
            ratio = many["epoch_s"] / few["epoch_s"]
            seconds = [f"{found['epoch_s']:.2f}" for found in (few, many)]
            peak = f"{many['peak_mb']:,}"
            lines.append([MACHINES[each.machine], _TOUCHED[name], *seconds, f"{ratio:.2f} ×", peak])
    head = ["machine", "query", "s with 10,000 keys", "s with 10 million", "ratio", "peak MB"]
    return table(head, lines) + _sources(ours)


def _state(_: Results) -> str:
    lines = []
    for operator, found in json.loads((BENCH / "state.json").read_text()).items():
        rows = found["rows"]
        third = len(rows) // 3
        parts = (max(rows[third : 2 * third]), max(rows[2 * third : -1]), rows[-1])
        lines.append([operator, *(str(part) for part in parts)])
    head = ["operator", "second third", "last third", "when all is over"]
    return table(head, lines) + "\n- [state](bench/state.json): the simulator, on any machine\n"


def _sources(ours: Results) -> str:
    """What the lines of a table come from, behind it."""
    files: dict[str, list[str]] = {}
    for each in ours:
        on = each.found["machine"]
        rounds = {len(runs) for runs in each.found.get("runs", {}).values()}
        told = "".join(f", {count} rounds" for count in sorted(rounds))
        which = (
            f"{MACHINES[each.machine]}, {on['cores']} cores, {on['memory_gb']} GB{told},"
            f" {on['day']}, commit {on['commit']}"
        )
        files.setdefault(which, []).append(f"[{each.workload}](bench/{each.file})")
    return "\n" + "".join(f"- {', '.join(of)}: {which}\n" for which, of in files.items())


def _natural(name: str) -> list[tuple[str, int]]:
    """So that q11 stands behind q8."""
    return [(text, int(number or 0)) for text, number in re.findall(r"(\D+)(\d*)", name)]


TABLES: Final[Mapping[str, Callable[[Results], str]]] = {
    "orders": _speeds("", "orders"),
    "copy": _speeds("", "copy"),
    "wide": _speeds("", "wide"),
    "sort": _speeds("", "sort"),
    "nexmark": _speeds("query", "q5", "q7", "q8", "q11"),
    "changes": _speeds("query", "q4", "q9", "q18", "q20"),
    "touched": _touched,
    "keys": _speeds("customers", "keys"),
    "late": _speeds("late rows", "late"),
    "latency": _latency,
    "floor": _floor,
    "backlog": _backlog,
    "soak": _soak,
    "state": _state,
}
"""By their names in the page."""


def main() -> None:
    """Keeps and writes; see the module."""
    parser = argparse.ArgumentParser(prog="python -m bench.tables", description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, default=Path("out/bench"))
    parser.add_argument("--keep", choices=MACHINES, metavar="MACHINE")
    given = parser.parse_args()
    if given.keep:
        keep(given.keep, given.directory)
    PAGE.write_text(written(PAGE.read_text("utf-8"), results()), "utf-8")


if __name__ == "__main__":
    main()
