"""Two sources of which one is ten times faster: how far apart they get, with alignment and without.

    python -m kafka.drift

writes docs/bench/alignment.json, of which `make pictures` draws docs/pictures/alignment.svg. A row
of `fast` takes ten seconds of event time, one of `slow` takes one; an epoch reads equally many of
both. The watermark of each behind each epoch comes from the epoch log.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kafka.broker import Cluster
from kafka.kit import Kit
from spark.processes import Commands, Finished

ROWS: Final = 3_000
EPOCH_ROWS: Final = 100
STEP_MS: Final = {"fast": 10_000, "slow": 1_000}
MAX_DRIFT_MS: Final = 300_000
EPOCH_CAP_MS: Final = EPOCH_ROWS * STEP_MS["fast"]
"""How much event time one epoch reads of the fast source, at most."""

_TABLE: Final = """
CREATE TABLE {name} (id BIGINT, at BIGINT, WATERMARK FOR at AS at) WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json'{options}
);
CREATE TABLE {name}_out (id BIGINT, at BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO {name}_out SELECT id, at FROM {name};
"""
_ALIGNED: Final = """,
  'scan.watermark.alignment.group' = 'both',
  'scan.watermark.alignment.max-drift' = '{drift} ms',
  'scan.watermark.alignment.update-interval' = '1 ms'"""

FILE: Final = Path(__file__).parents[2] / "docs" / "bench" / "alignment.json"

Run = Callable[..., Finished]


@dataclass(frozen=True)
class Series:
    """The watermark of both tables behind each epoch, in milliseconds from the first row."""

    fast: list[int]
    slow: list[int]
    read: list[list[int]]
    rows: int

    @property
    def drift_ms_max(self) -> int:
        """The farthest that they were apart while both had rows left."""
        pairs = zip(self.fast, self.slow, self.read, strict=True)
        return max(fast - slow for fast, slow, read in pairs if max(read) < self.rows)


def topics(kit: Kit, rows: int = ROWS) -> dict[str, str]:
    """Both topics, each with so many rows."""
    made = {}
    for name, step_ms in STEP_MS.items():
        made[name] = kit.topic(name)
        put = ({"id": number, "at": number * step_ms} for number in range(rows))
        kit.put(made[name], 0, [json.dumps(row).encode() for row in put])
    return made


def measure(kit: Kit, made: dict[str, str], directory: Path, run: Run, *, aligned: bool) -> Series:
    """Runs the job over both topics and reads its epoch log."""
    options = _ALIGNED.format(drift=MAX_DRIFT_MS) if aligned else ""
    file, checkpoint = directory / "job.sql", directory / "checkpoint"
    directory.mkdir(parents=True, exist_ok=True)
    file.write_text(
        "".join(
            _TABLE.format(name=name, topic=topic, servers=kit.bootstrap, options=options)
            for name, topic in made.items()
        )
    )
    args: list[Any] = ["run", file, "--checkpoint", checkpoint, "--available-now"]
    ended = run(*args, "--set", f"tidegate.epoch.rows.max={EPOCH_ROWS}", cwd=directory)
    assert ended.code == 0, ended.err
    series = Series([], [], [], max(kit.ends(made["fast"]).values()))
    for path in sorted((checkpoint / "epochs").glob("*.json")):
        entry = json.loads(path.read_text())
        for name in STEP_MS:
            (state,) = entry["filters"][f"{name}.at"].values()
            getattr(series, name).append(state["watermark"] or 0)
        series.read.append([entry["next_offsets"][n][f"{made[n]}-0"] for n in STEP_MS])
    return series


def main() -> None:
    """Measures both and writes."""
    with tempfile.TemporaryDirectory(prefix="tidegate-drift-") as directory:
        base = Path(directory)
        with Cluster(base / "kafka") as cluster, Commands(base) as commands:
            kit = Kit(cluster.bootstrap)
            made = topics(kit)

            def run(*args: Any, cwd: Path) -> Finished:
                del cwd
                return commands.run(*args)

            aligned = measure(kit, made, base / "aligned", run, aligned=True)
            free = measure(kit, made, base / "free", run, aligned=False)
    for name, series in (("aligned", aligned), ("free", free)):
        print(f"{name}: {len(series.fast)} epochs, {series.drift_ms_max / 1000:,.0f} s apart")
    document = {
        "max_drift_ms": MAX_DRIFT_MS,
        "epoch_cap_ms": EPOCH_CAP_MS,
        "free": {"fast": free.fast, "slow": free.slow, "apart_ms_max": free.drift_ms_max},
        "aligned": {
            "fast": aligned.fast, "slow": aligned.slow, "apart_ms_max": aligned.drift_ms_max
        },
    }  # fmt: skip
    FILE.write_text(json.dumps(document) + "\n")


if __name__ == "__main__":
    main()
