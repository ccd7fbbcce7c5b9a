"""All Nexmark jobs from Kafka's topics: what DuckDB says over the accepted rows."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from kafka.kit import Kit
from nexmark import reference
from nexmark.as_written import WRITTEN, in_duckdb
from nexmark.tables import EVENTS, SPLITS, TABLES
from oracle.compare import diff_output
from spark.orders import read_parts
from spark.processes import Warm

_FRACTION = re.compile(r"^\d{4}-\d\d-\d\d .*\.")


class Topics:
    """The events of each table in a topic, a partition for each of its splits."""

    def __init__(self, kafka: Kit) -> None:
        self._kafka = kafka
        self._topics = {
            name: kafka.topic(name, partitions=len(splits)) for name, splits in SPLITS.items()
        }

    def put(self, which: Callable[[int, int], bool]) -> None:
        """Writes those of a split for which ``which`` says so, of their place and of how many."""
        for name, splits in SPLITS.items():
            for partition, rows in enumerate(splits):
                count = rows.num_rows
                chosen = rows.filter([which(place, count) for place in range(count)])
                lines = (json.dumps(row, default=str).encode() for row in chosen.to_pylist())
                self._kafka.put(self._topics[name], partition, lines)

    def options(self, more: str = "") -> dict[str, str]:
        """Of each table."""
        return {
            name: f"{_kafka(self._kafka, topic)}, format = 'json', scan.startup.mode = 'earliest'"
            f"{more}"
            for name, topic in self._topics.items()
        }


def _kafka(kafka: Kit, topic: str) -> str:
    return (
        f"connector = 'kafka', topic = '{topic}', properties.bootstrap.server = '{kafka.bootstrap}'"
    )


def test_all_jobs_from_topics(kafka: Kit, warm: Warm, tmp_path: Path) -> None:
    topics = Topics(kafka)
    topics.put(lambda place, count: place < count)
    file = tmp_path / "nexmark.sql"
    options = topics.options(", scan.bounded.mode = 'latest-offset'")
    text = reference.one_job(EVENTS, options).replace("out/nexmark", f"{tmp_path}/out")
    file.write_text(text, encoding="utf-8")
    args = ["--set", "tidegate.epoch.rows.max=20000", "--set", "tidegate.vnodes=3"]
    run = ["run", file, "--checkpoint", tmp_path / "checkpoint", *args]
    ended = warm.run(*run, cwd=tmp_path)
    assert ended.code == 0, ended.err
    for name in reference.QUERIES:
        found = read_parts(tmp_path / "out" / name)
        assert diff_output(reference.answer(name, TABLES), found) == "", name


def test_those_that_change_as_they_were_written_through_a_restart(
    kafka: Kit, warm: Warm, tmp_path: Path
) -> None:
    topics = Topics(kafka)
    targets = {name: kafka.topic(name, partitions=2) for name in WRITTEN}
    text = reference.sources_over(topics.options())
    for name, written in WRITTEN.items():
        how = f"{_kafka(kafka, targets[name])}, format = 'json'"
        if written.key:
            how = how.replace("'kafka'", "'upsert-kafka'").replace(
                "format = 'json'", "key.format = 'json', value.format = 'json'"
            )
        unbounded = "" if name == "q22" else " ALLOW UNBOUNDED"
        text += f"CREATE TABLE {name} ({written.declared}) WITH ({how});\n"
        text += f"INSERT INTO {name} {written.select}{unbounded};\n"
    file = tmp_path / "written.sql"
    file.write_text(text, encoding="utf-8")
    args = ["--set", "tidegate.epoch.rows.max=9000", "--set", "tidegate.vnodes=3"]
    run = ["run", file, "--available-now", "--checkpoint", tmp_path / "checkpoint", *args]
    for half in (lambda place, count: 2 * place < count, lambda place, count: 2 * place >= count):
        topics.put(half)
        ended = warm.run(*run, cwd=tmp_path)
        assert ended.code == 0, ended.err
    with duckdb.connect() as connection:
        for table, rows in TABLES.items():
            connection.register(table, rows)
        for name in WRITTEN:
            wanted = Counter(map(_texts, connection.execute(in_duckdb(name)).fetchall()))
            assert folded(kafka, targets[name]) == wanted, name


def folded(kafka: Kit, topic: str) -> Counter[tuple[str, ...]]:
    """The rows that a topic comes to: of a key the last one; without keys all."""
    rows: dict[Any, bytes | None] = {}
    for partition, messages in kafka.read(topic).items():
        for number, message in enumerate(messages):
            rows[message.key() or (partition, number)] = message.value()
    return Counter(_texts(json.loads(row).values()) for row in rows.values() if row)


def _texts(values: Any) -> tuple[str, ...]:
    """The values of a row, times as both sides write them, and DOUBLEs to six digits."""
    return tuple(_text(value) for value in values)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value).rstrip("0").rstrip(".") if _FRACTION.search(str(value)) else str(value)
