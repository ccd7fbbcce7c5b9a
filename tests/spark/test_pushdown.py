"""Watermark filters in the readers, or as a fragment of their own: the same output and ledger."""

from __future__ import annotations

import json
from pathlib import Path

from oracle.jobs import expected, write
from spark.orders import order_lines, orders_job, outputs_of, problems_of, reasons
from spark.processes import Warm

SPLITS = {"a": [order_lines(21, 250)], "b": [order_lines(22, 150), order_lines(23, 5)], "c": []}


def test_pushdown_changes_nothing(warm: Warm, tmp_path: Path) -> None:
    spec = orders_job(SPLITS)
    wanted = expected(spec)
    assert "late" in reasons(wanted)
    outputs = []
    for pushdown in ("true", "false"):
        directory = tmp_path / pushdown
        file, checkpoint = write(spec, directory), directory / "checkpoint"
        args: list[object] = ["run", file, "--checkpoint", checkpoint]
        args += ["--set", "tidegate.epoch.rows.max=150"]
        chosen = f"tidegate.watermark.pushdown={pushdown}"
        ran = warm.run(*args, "--set", chosen, cwd=directory)
        assert ran.code == 0, ran.err
        assert problems_of(spec, wanted, directory, checkpoint) == []
        manifest = json.loads((checkpoint / "job.json").read_text())
        assert manifest["pushdown"] is (pushdown == "true")
        outputs.append(outputs_of(spec, directory)["dear"])
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 50

    # What state depends on stays as it began.
    for setting, value in (("watermark.pushdown", "true"), ("vnodes", "3")):
        ran = warm.run(*args, "--set", f"tidegate.{setting}={value}", cwd=directory)
        assert ran.code == 2
        assert f"tidegate.{setting} is {value}, but the checkpoint began with" in ran.err
