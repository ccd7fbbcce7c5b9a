"""A connector of somebody else's package (kits/outside) in a job of Spark's, in its workers too."""

from __future__ import annotations

import os
from pathlib import Path

from spark.processes import Commands

OUTSIDE = Path(__file__).parents[1] / "kits" / "outside"


def test_a_job_over_it_runs(tidegate: Commands, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [f"{second % 7}|2026-01-01 00:00:{second:02d}" for second in range(60)]
    for split in ("a", "b"):
        (tmp_path / "in" / f"{split}.log").write_text("".join(f"{line}\n" for line in lines))
    file = tmp_path / "job.sql"
    file.write_text(f"""
        CREATE TABLE notes (id BIGINT, at TIMESTAMP, WATERMARK FOR at AS at)
          WITH (connector = 'journal', directory = '{tmp_path}/in');
        CREATE TABLE counts (until TIMESTAMP, n BIGINT)
          WITH (connector = 'journal', directory = '{tmp_path}/out', separator = ',');
        INSERT INTO counts SELECT window_end, COUNT(*)
          FROM TUMBLE(notes, at, INTERVAL '20 SECONDS') GROUP BY window_end EMIT ON WINDOW CLOSE;
    """)
    env = {"PYTHONPATH": os.pathsep.join([str(OUTSIDE), os.environ.get("PYTHONPATH", "")])}
    settings = ["--set", "tidegate.epoch.rows.max=50"]
    ran = tidegate.run("run", file, "--checkpoint", tmp_path / "checkpoint", *settings, **env)
    assert ran.code == 0, ran.err
    found = [path.read_text() for path in sorted((tmp_path / "out").glob("part-*"))]
    assert sorted("".join(found).splitlines()) == [
        "2026-01-01 00:00:20,40",
        "2026-01-01 00:00:40,40",
        "2026-01-01 00:01:00,40",
    ]
    assert not list((tmp_path / "out").glob(".staged-*"))
