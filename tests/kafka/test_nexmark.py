"""All Nexmark jobs from Kafka's topics: what DuckDB says over the accepted rows."""

from __future__ import annotations

import json
from pathlib import Path

from kafka.kit import Kit
from nexmark import reference
from nexmark.tables import EVENTS, SPLITS, TABLES
from oracle.compare import diff_output
from spark.orders import read_parts
from spark.processes import Warm


def test_all_jobs_from_topics(kafka: Kit, warm: Warm, tmp_path: Path) -> None:
    options = {}
    for name, splits in SPLITS.items():
        topic = kafka.topic(name, partitions=len(splits))
        for partition, rows in enumerate(splits):
            lines = (json.dumps(row, default=str).encode() for row in rows.to_pylist())
            kafka.put(topic, partition, lines)
        options[name] = (
            f"connector = 'kafka', topic = '{topic}', properties.bootstrap.server ="
            f" '{kafka.bootstrap}', format = 'json', scan.startup.mode = 'earliest',"
            " scan.bounded.mode = 'latest-offset'"
        )
    file = tmp_path / "nexmark.sql"
    text = reference.one_job(EVENTS, options).replace("out/nexmark", f"{tmp_path}/out")
    file.write_text(text, encoding="utf-8")
    args = ["--set", "tidegate.epoch.rows.max=20000", "--set", "tidegate.vnodes=3"]
    run = ["run", file, "--checkpoint", tmp_path / "checkpoint", *args]
    ended = warm.run(*run, cwd=tmp_path)
    assert ended.code == 0, ended.err
    for name in reference.QUERIES:
        found = read_parts(tmp_path / "out" / name)
        assert diff_output(reference.answer(name, TABLES), found) == "", name
