"""A whole job as a user runs it: outputs, order, ledger and account are the oracle's."""

from __future__ import annotations

import json
import re
from pathlib import Path

from kits.planted import leaks, planted
from oracle.jobs import expected, write
from spark.orders import order_lines, orders_job, outputs_of, problems_of, reasons
from spark.processes import Commands

_BOM = b"\xef\xbb\xbf"


def test_the_job_gives_what_the_oracle_says(tidegate: Commands, tmp_path: Path) -> None:
    splits = {
        "a": [order_lines(1, 60), order_lines(2, 60, begin_us=1_714_550_424_000_000)],
        "b": [b"", _BOM + order_lines(3, 80).replace(b"\n", b"\r\n\n"), b""],
        "empty": [],
        "not-utf-8": [order_lines(4, 40) + b'{"id": 1, "order_time": "\xff"}\n'],
    }
    spec = orders_job(splits)
    file = write(spec, tmp_path)
    wanted = expected(spec)
    assert set(reasons(wanted)) == {"future", "late", "malformed", "null_time"}
    assert wanted.counts.filtered > 0
    assert wanted.counts.used > 0

    checkpoint = tmp_path / "checkpoint"
    settings = ["--set", "tidegate.epoch.rows.max=150"]
    secrets = planted("SPARK", "SQL", "FILE", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    (tmp_path / "secret").write_text(secrets["FILE"])
    settings += ["--set", "spark.log.level=${env:SESAME}", "--set", "spark.a.pw=${env:SPARK}"]
    settings += ["--set", "spark.sql.b.token=${env:SQL}"]
    settings += ["--set", f"spark.hadoop.c.pw=${{file:{tmp_path}/secret}}"]
    command = tidegate.start(
        "run", file, "--checkpoint", checkpoint, "--json", *settings, SESAME="INFO", **secrets
    )
    command.wait_for_line('"epoch": 1')
    shown = [text for text in command.family().values() if "PythonGatewayServer" in text]
    ran = command.wait()
    assert ran.code == 0, ran.err
    spoken = (checkpoint / "log" / "spark.log").read_text()
    assert " INFO " in spoken, "a reference is resolved"
    assert shown
    assert not [text for text in shown if "spark.log.level=INFO" in text], "everybody sees these"
    assert leaks(secrets, [ran.out, ran.err, *shown], checkpoint) == []
    assert problems_of(spec, wanted, tmp_path, checkpoint) == []

    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [line["event"] for line in lines] == ["epoch"] * (len(lines) - 1) + ["done"]
    assert [line["epoch"] for line in lines[:-1]] == list(range(1, len(lines)))
    assert len(lines) > 2
    assert lines[-1]["counts"]["read"] == wanted.counts.read
    assert sorted(lines[-1]["splits"]) == sorted(splits)

    metrics = (checkpoint / "metrics.prom").read_text()
    late = re.findall(r'^tidegate_rows_total{.*fate="late".*} (.*)$', metrics, re.MULTILINE)
    assert sum(map(float, late)) == wanted.counts.late > 0

    # A second run has nothing to do, does not start Spark for it, and names what appeared since.
    before = outputs_of(spec, tmp_path)
    log = (checkpoint / "log" / "spark.log").stat()
    (tmp_path / "in/orders/b/new.json").write_bytes(order_lines(5, 10))
    (tmp_path / "in/orders/another").mkdir()
    (tmp_path / "in/orders/another/000.json").write_bytes(order_lines(6, 10))
    again = tidegate.run("run", file, "--checkpoint", checkpoint)
    assert again.code == 0, again.err
    assert "the job has finished" in again.err
    assert "b/new.json" in again.err
    assert "another/000.json" in again.err
    assert (checkpoint / "log" / "spark.log").stat() == log
    assert outputs_of(spec, tmp_path) == before
