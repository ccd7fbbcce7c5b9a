"""``python -m bench.touched``: an epoch that touches few of many keys, by how many are kept.

    python -m bench.touched [QUERY…] [--keys N…] [--rows N] [--epochs N] [--out DIR]

First a job reads a row of each key. Then it goes on from its checkpoint, over epochs of so many
rows of keys that are drawn at random, none twice in an epoch; the median of these is told, without
the first third, in which the JVM warms up. What an epoch costs should follow from the keys that it
touches, not from those that are kept. Before that counts, what has been written is compared with
what DuckDB says.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

import duckdb

from bench.data import PARTITIONS
from bench.engines import CORES
from bench.measure import save_output
from bench.processes import Usage
from bench.report import machine
from kafka.broker import Cluster
from kafka.kit import Kit
from tidegate.clock import SystemClock

_SPLITS: Final = 2
_TABLE: Final = """
CREATE TABLE {name} (k BIGINT, v BIGINT) WITH (
  'connector' = 'filesystem', 'path' = '{path}', 'format' = 'parquet',
  'source.monitor-interval' = '1 s'
);
"""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked; the columns of the result, and what tells its rows apart; whether it reads a
    second table ``u``, with a row of each key; whether rows go again, of which there are few."""

    select: str
    columns: tuple[str, ...]
    key: str = ""
    joins: bool = False
    shrinks: bool = False


QUERIES: Final = {
    "update": Query("SELECT k, count(*) AS n, max(v) AS v FROM t GROUP BY k", ("k", "n", "v"), "k"),
    "topn": Query(
        "SELECT k, rn, v FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS rn"
        " FROM t) AS x WHERE rn <= 3",
        ("k", "rn", "v"),
        "k, rn",
    ),
    "join": Query(
        "SELECT t.k, t.v, u.v AS w FROM t JOIN u ON t.k = u.k", ("k", "v", "w"), "", True
    ),
    "counts": Query(
        "SELECT n, count(*) AS keys FROM (SELECT k, count(*) AS n FROM t GROUP BY k) AS x"
        " GROUP BY n",
        ("n", "keys"),
        "n",
        shrinks=True,
    ),
}
KEYS: Final = (10_000, 10_000_000)


def main() -> None:
    """Measures, prints and writes; see the module."""
    parser = argparse.ArgumentParser(prog="python -m bench.touched", description=__doc__)
    parser.add_argument("queries", nargs="*", default=[*QUERIES])
    parser.add_argument("--keys", nargs="+", type=int, default=list(KEYS))
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    for name in given.queries:
        found[name] = {}
        for keys in given.keys:
            base = Path(tempfile.mkdtemp(prefix="tidegate-touched-"))
            try:
                with Cluster(base / "kafka") as cluster:
                    job = Job(base, QUERIES[name], Kit(cluster.bootstrap))
                    result = job.measure(keys, given.rows, given.epochs)
            finally:
                shutil.rmtree(base, ignore_errors=True)
            found[name][f"{keys}"] = result
            print(name, keys, json.dumps(result), flush=True)
    results = {"machine": machine(), "rows": given.rows, "queries": found}
    (given.out / "touched.json").write_text(json.dumps(results, indent=2))


class Job:
    """A query in ``base``, over tables of Parquet files, two splits each."""

    def __init__(self, base: Path, query: Query, kit: Kit) -> None:
        self._base = base
        self._query = query
        self._kit = kit
        self._topic = kit.topic("out", partitions=PARTITIONS)
        self._files = 0
        tables = ["t", *(["u"] if query.joins else [])]
        sql = "".join(_TABLE.format(name=name, path=base / name) for name in tables)
        columns = ", ".join(f"{name} BIGINT" for name in query.columns)
        how = "'kafka', format = 'json'"
        if query.key:
            columns += f", PRIMARY KEY ({query.key}) NOT ENFORCED"
            how = "'upsert-kafka', key.format = 'json', value.format = 'json'"
        sql += (
            f"CREATE TABLE s ({columns}) WITH (connector = {how}, topic = '{self._topic}',"
            f" properties.bootstrap.servers = '{kit.bootstrap}');\n"
            f"INSERT INTO s {query.select} ALLOW UNBOUNDED;\n"
        )
        (base / "job.sql").write_text(sql)
        for name in tables:
            for split in range(_SPLITS):
                (base / name / f"s{split}").mkdir(parents=True)

    def measure(self, keys: int, rows: int, epochs: int) -> dict[str, Any]:
        """Seconds of an epoch (median), and of the first run; the peak of all memory."""
        self._write("t", "SELECT i AS k, i % 97 AS v FROM range({n}) AS r(i)", keys)
        if self._query.joins:
            self._write("u", "SELECT i AS k, i % 89 AS v FROM range({n}) AS r(i)", keys)
        built_s, _, _ = self._run(4_000_000)
        drawn = (
            "SELECT k, v FROM (SELECT e, (i * 7919 + e * 104729) % {keys} AS k, (i + e) % 97 AS v"
            " FROM range({rows}) AS r(i), range({epochs}) AS s(e)) ORDER BY e"
        )
        self._write("t", drawn.format(keys=keys, rows=rows, epochs=epochs), rows * epochs)
        _, ends, peak = self._run(rows)
        took = [end - begin for begin, end in pairwise(ends)]
        took = took[len(took) // 3 :]
        self._check()
        return {
            "epoch_s": round(median(took), 4), "most_s": round(max(took), 4),
            "epochs": len(took), "built_s": round(built_s, 1), "peak_mb": peak >> 20,
        }  # fmt: skip

    def _write(self, table: str, select: str, rows: int) -> None:
        """Adds a file to each split: the rows of ``select`` in turn."""
        self._files += 1
        with duckdb.connect(config={"threads": CORES}) as engine:
            engine.execute(
                f"CREATE TABLE made AS SELECT *, row_number() OVER () AS place FROM"
                f" ({select.format(n=rows)})"
            )
            for split in range(_SPLITS):
                file = self._base / table / f"s{split}" / f"{self._files:04}.parquet"
                engine.execute(
                    f"COPY (SELECT k, v FROM made WHERE place % {_SPLITS} = {split} ORDER BY place)"
                    f" TO '{file}' (FORMAT parquet)"
                )

    def _run(self, epoch_rows: int) -> tuple[float, list[float], int]:
        """Seconds of a run over what is there, when its epochs ended, and its peak of memory."""
        command = [sys.executable, "-m", "tidegate.cli", "run", str(self._base / "job.sql")]
        command += ["--available-now", "--json", "--checkpoint", str(self._base / "checkpoint")]
        command += ["--master", f"local[{CORES}]", "--set", f"tidegate.epoch.rows.max={epoch_rows}"]
        clock = SystemClock()
        began, ends = clock.monotonic_s(), list[float]()
        with (
            (self._base / "log").open("wb") as log,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
            Usage(process.pid) as usage,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("{") and json.loads(line).get("event") == "epoch":
                    ends.append(clock.monotonic_s())
        if process.returncode:
            raise SystemExit((self._base / "log").read_text(errors="replace")[-3000:])
        return clock.monotonic_s() - began, ends, usage.peak_bytes

    def _save_last(self) -> None:
        """Of each key the last message, unless that deletes it."""
        last: dict[bytes | None, bytes | None] = {}
        for messages in self._kit.read(self._topic).values():
            last |= {message.key(): message.value() for message in messages}
        (self._base / "output").mkdir()
        rows = b"\n".join(value for value in last.values() if value)
        (self._base / "output" / "0.json").write_bytes(rows)

    def _check(self) -> None:
        """SystemExit where what the output comes to is not what DuckDB says."""
        if self._query.shrinks:
            self._save_last()
        else:
            save_output(self._kit.bootstrap, self._topic, self._base / "output")
        columns = ", ".join(self._query.columns)
        types = ", ".join(f"{name}: 'BIGINT'" for name in self._query.columns)
        last = ""
        if self._query.key:
            last = (
                f" QUALIFY row_number() OVER (PARTITION BY {self._query.key} ORDER BY p DESC) = 1"
            )
        with duckdb.connect(config={"threads": CORES}) as engine:
            for table in ("t", *(["u"] if self._query.joins else [])):
                engine.execute(f"CREATE VIEW {table} AS FROM '{self._base / table}/*/*.parquet'")
            engine.execute(f"CREATE TABLE wanted AS {self._query.select}")
            engine.execute(
                f"CREATE TABLE found AS SELECT {columns} FROM (SELECT *, row_number() OVER () AS p"
                f" FROM read_json('{self._base / 'output'}/*.json', format = 'newline_delimited',"
                f" columns = {{{types}}})) WHERE {self._query.columns[0]} IS NOT NULL{last}"
            )
            differ = engine.execute(
                "SELECT (SELECT count(*) FROM (FROM found EXCEPT ALL FROM wanted)),"
                " (SELECT count(*) FROM (FROM wanted EXCEPT ALL FROM found))"
            ).fetchone()
        if differ != (0, 0):
            raise SystemExit(f"wrong: {differ}")


if __name__ == "__main__":
    main()
