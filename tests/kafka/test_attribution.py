"""jobs/attribution.sql from topics of different pace (S9): what alignment bounds, and what not."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kafka.kit import Kit
from kits.executor import ENGINE
from oracle.compare import diff_output
from oracle.decode import Column
from oracle.query import Output
from simulation.packaged import FOLDER, JOBS, answer, made_by, sources_of
from spark.orders import read_parts
from spark.processes import Warm
from tidegate.connectors.formats.json_encode import encode_lines
from tidegate.frontend import compile as compile_sql
from tidegate.plan.nodes import Job

ROWS: Final = {"views": 2_400, "orders": 960}
STEP_S: Final = {"views": 4, "orders": 10}
"""A split's rows are so far apart, in event time: both sources have eighty minutes."""
SPLITS: Final = 2
EPOCH_ROWS: Final = 200
MAX_DRIFT_S: Final = 200
EPOCH_CAP_S: Final = EPOCH_ROWS // SPLITS * STEP_S["orders"] + 60
"""How much event time one epoch reads of an orders split: rows, ten seconds apart, disordered."""
BOUND_S: Final = MAX_DRIFT_S + EPOCH_CAP_S

_SOURCE: Final = re.compile(r"(?s)(CREATE SOURCE (\w+) \(.*?\n\)) WITH \(.*?\n\);\n")
_ALIGNED: Final = (
    ", scan.watermark.alignment.group = 'shop', scan.watermark.alignment.update-interval = '1 ms',"
    f" scan.watermark.alignment.max-drift = '{MAX_DRIFT_S} s'"
)


@dataclass(frozen=True)
class Ran:
    """How far the splits were apart while some had rows left, and what the join kept, at most."""

    drift_s_max: float
    state_rows_max: int
    epochs: int


def generated() -> tuple[str, Job]:
    """The job over its own sources, of so many rows. Views come more slowly than the job has
    them: two and a half times as dense as orders, they do in a fifth of the epochs."""
    text = (FOLDER / "attribution.sql").read_text("utf-8")
    for name, rows in ROWS.items():
        number = rf"(?s)(SOURCE {name} .*?number-of-rows = )'\d+'"
        text = re.sub(number, rf"\1'{rows}'", text, count=1)
        step = rf"(?s)(SOURCE {name} .*?step = )'\d+ s'"
        text = re.sub(step, rf"\1'{STEP_S[name]} s'", text, count=1)
    return text, compile_sql(text, "attribution", {})


def topics(kafka: Kit, job: Job) -> dict[str, str]:
    """The rows of the job's sources, each split in a partition."""
    made = {}
    for table in sources_of(job):
        made[table.name] = kafka.topic(table.name, partitions=SPLITS)
        rows = made_by(table)
        for split in range(SPLITS):
            one = ENGINE.query(
                f"SELECT * EXCLUDE (split, number) FROM made WHERE split = 'datagen-{split}'"
                " ORDER BY number",
                {"made": rows},
            )
            lines = encode_lines(one, table.columns, ENGINE)
            kafka.put(made[table.name], split, [str(line).encode() for line in lines.to_pylist()])
    return made


def entries(checkpoint: Path) -> list[dict[str, Any]]:
    return [json.loads(p.read_text()) for p in sorted((checkpoint / "epochs").glob("*.json"))]


def measured(checkpoint: Path) -> Ran:
    """From the epoch log."""
    drift_us, rows = [0], [0]
    log = entries(checkpoint)
    for entry in log:
        known, behind = [], []
        for table, time in (("views", "seen_at"), ("orders", "order_time")):
            for split, state in entry["filters"].get(f"{table}.{time}", {}).items():
                known.append(state["watermark"])
                if entry["next_offsets"][table][split] < ROWS[table] // SPLITS:
                    behind.append(state["watermark"])
        if behind and None not in known:
            drift_us.append(max(known) - min(behind))
        rows.append(sum(kept["rows"] for of in entry["state"].values() for kept in of.values()))
    return Ran(max(drift_us) / 1e6, max(rows), len(log))


def test_orders_wait_for_the_views(kafka: Kit, warm: Warm, tmp_path: Path) -> None:
    text, job = generated()
    made = topics(kafka, job)
    _, sql = JOBS["attribution"]
    wanted, accepted = answer("attribution", job, sql)
    columns = tuple(Column(column.name, column.type) for column in job.sinks[0].schema)
    ran = {}
    for name, options in (("aligned", _ALIGNED), ("free", "")):
        directory = tmp_path / name
        directory.mkdir()
        source = (
            rf"\1 WITH (connector = 'kafka', topic = '\2', format = 'json',"
            rf" properties.bootstrap.server = '{kafka.bootstrap}', scan.startup.mode = 'earliest',"
            rf" scan.bounded.mode = 'latest-offset'{options});\n"
        )
        written = _SOURCE.sub(source, text).replace("out/attribution", f"{directory}/out")
        for table, topic in made.items():
            written = written.replace(f"topic = '{table}'", f"topic = '{topic}'")
        (directory / "job.sql").write_text(written)
        ended = warm.run(
            *("run", directory / "job.sql", "--checkpoint", directory / "checkpoint"),
            *("--set", f"tidegate.epoch.rows.max={EPOCH_ROWS}", "--set", "tidegate.vnodes=2"),
            *("--set", "tidegate.parallelism=1"),
            cwd=directory,
        )
        assert ended.code == 0, ended.err
        # Held back or not: the same rows, and no order is lost (S6).
        found = read_parts(directory / "out")
        assert diff_output(Output(columns, wanted), found) == "", name
        read = entries(directory / "checkpoint")[-1]["counts"].values()
        used = sum(each["used"] + each["filtered"] for splits in read for each in splits.values())
        assert used == accepted
        ran[name] = measured(directory / "checkpoint")
    assert ran["aligned"].drift_s_max <= BOUND_S
    assert ran["free"].drift_s_max > 2 * BOUND_S
    # Either way ten minutes of views are kept, some 300; what is more are orders that wait.
    assert ran["aligned"].state_rows_max < 0.8 * ran["free"].state_rows_max
