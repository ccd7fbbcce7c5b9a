"""Rows that kill the workers that run them: they are in the ledger, and the job goes on."""

from __future__ import annotations

import json
from pathlib import Path

from spark.processes import Warm

ROWS = 500
KILLERS = {7: "SIGSEGV", 8: "SIGKILL", 311: "SIGKILL"}
SQL = """
CREATE FUNCTION risky(x BIGINT) RETURNS BIGINT LANGUAGE python AS $$
import os, signal

def risky(x):
    if x in {killers}:
        os.kill(os.getpid(), getattr(signal, {killers}[x]))
    return x
$$;
CREATE SOURCE e (id BIGINT, t BIGINT, WATERMARK FOR t AS t)
WITH (connector = 'filesystem', path = 'in') FORMAT PLAIN ENCODE JSON;
CREATE SINK o AS SELECT risky(id) AS id, t FROM e
WITH (connector = 'filesystem', path = 'out') FORMAT PLAIN ENCODE JSON;
"""


def test_rows_that_kill_are_left_out(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [f'{{"id": {n}, "t": {n}}}\n' for n in range(ROWS)]
    (tmp_path / "in" / "1.json").write_text("".join(lines))
    (tmp_path / "job.sql").write_text(SQL.format(killers=KILLERS))
    checkpoint = tmp_path / "checkpoint"
    ran = warm.run("run", "job.sql", "--checkpoint", checkpoint, cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert "a Python worker was killed in epoch 1" in ran.err
    assert "Segmentation fault" in ran.err
    assert "EOFException" not in ran.err
    out = [json.loads(line)["id"] for file in sorted((tmp_path / "out").glob("part-*"))
           for line in file.read_text().splitlines()]  # fmt: skip
    assert out == [n for n in range(ROWS) if n not in KILLERS]
    told = json.loads(warm.run("ledger", checkpoint, "--json", cwd=tmp_path).out)
    assert [(row["offset"], row["reason"]) for row in told["rows"]] == [
        (n, "crashed") for n in KILLERS
    ]
    assert told["counts"]["read"] == ROWS
    assert told["counts"]["quarantined"] == len(KILLERS)
