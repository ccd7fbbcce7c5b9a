"""All Nexmark jobs as one on Spark, through a kill: what DuckDB says over the accepted rows."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from nexmark import reference
from nexmark.tables import EVENTS, TABLES
from oracle.compare import diff_output
from spark.orders import read_parts
from spark.processes import Commands


def test_all_jobs_through_a_kill(drivers: Commands, tmp_path: Path) -> None:
    file = tmp_path / "nexmark.sql"
    text = reference.one_job(EVENTS)
    file.write_text(text.replace("out/nexmark", f"{tmp_path}/out"), encoding="utf-8")
    args = ["run", file, "--checkpoint", tmp_path / "checkpoint", "--json"]
    args += ["--set", "tidegate.epoch.rows.max=16000", "--set", "tidegate.vnodes=3"]
    command = drivers.start(*args, TIDEGATE_FAILPOINTS="after-entry:2")
    assert command.wait().code == -signal.SIGKILL, command.err
    command.wait_for_family(30)
    ended = drivers.run(*args)
    assert ended.code == 0, ended.err
    assert json.loads(ended.out.splitlines()[-1])["epoch"] > 2
    for name in reference.QUERIES:
        found = read_parts(tmp_path / "out" / name)
        assert diff_output(reference.answer(name, TABLES), found) == "", name
