"""A table that changes, on Spark: what became of each record, told by the command line."""

from __future__ import annotations

import json
from pathlib import Path

from deltalake import DeltaTable

from spark.orders import ledger_of
from spark.processes import Commands

_JOB = """
CREATE TABLE a (id BIGINT PRIMARY KEY, v BIGINT, ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH (connector = 'filesystem', path = '{path}/in', format = 'debezium-json');
CREATE SINK windows AS
SELECT window_end, count(*) AS n, sum(v) AS v FROM TUMBLE(a, ts, INTERVAL '10' SECOND)
GROUP BY window_end EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '{path}/windows', format = 'json');
CREATE MATERIALIZED VIEW sums AS SELECT v % 2 AS odd, count(*) AS n FROM a GROUP BY v % 2;
"""


def _put(id_: int, v: int, second: int) -> str:
    after = {"id": id_, "v": v, "ts": f"2024-01-01 00:00:{second:02}"}
    return json.dumps({"op": "u", "before": None, "after": after})


_SPLITS = {
    "s0": [
        _put(1, 1, 1),
        _put(2, 5, 20),
        '{"op": "d", "before": {"id": 1}}',
        _put(3, 7, 5),
        '{"op": "x", "before": {"id": 1}}',
        '{"op": "t", "before": null}',
    ],
    "s1": [_put(2, 9, 21), _put(4, 2, 22)],
}


def test_what_became_of_each_record(drivers: Commands, tmp_path: Path) -> None:
    for split, lines in _SPLITS.items():
        (tmp_path / "in" / split).mkdir(parents=True)
        (tmp_path / "in" / split / "0.json").write_text("".join(f"{line}\n" for line in lines))
    file = tmp_path / "job.sql"
    file.write_text(_JOB.format(path=tmp_path))
    checkpoint = tmp_path / "checkpoint"
    ended = drivers.run("run", file, "--checkpoint", checkpoint)
    assert ended.code == 0, ended.err
    assert "records of table 'a' put a row with a time below the watermark" in ended.out + ended.err

    def written(name: str) -> list[dict[str, object]]:
        files = sorted((tmp_path / name).glob("*.json"))
        return [json.loads(line) for path in files for line in path.read_text().splitlines()]

    assert sorted((row["window_end"], row["n"], row["v"]) for row in written("windows")) == [
        ("2024-01-01 00:00:10", 1, 1),
        ("2024-01-01 00:00:30", 2, 7),
    ]
    sums = DeltaTable(checkpoint / "views" / "sums").to_pyarrow_table().to_pylist()
    assert sorted((row["odd"], row["n"]) for row in sums) == [(0, 1), (1, 1)]
    ledger = ledger_of(checkpoint)
    told = sorted((row["split"], row["reason"], row["offset"]) for row in ledger["rows"])
    assert told == [
        ("", "closed", None),
        ("s0", "late", 3),
        ("s0", "malformed", 4),
        ("s0", "passed_over", 5),
        ("s1", "key_moved", 0),
    ], "once for both queries"
    causes = {row["reason"]: row.get("cause", "") for row in ledger["rows"]}
    assert "results that have left stay" in causes["closed"]
    assert "another split" in causes["key_moved"]
    counts = {"read": 8, "used": 4, "filtered": 0, "late": 1, "quarantined": 3}
    assert ledger["counts"] == counts
