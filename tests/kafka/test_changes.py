"""Topics that say how tables change (S13), from a real broker: what their rows are at the end."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import duckdb

from kafka.kit import Kit, Put
from oracle.changes import ends_in
from spark.processes import Commands
from tidegate.frontend import compile
from tidegate.plan.fragments import cut
from tidegate.simulator.local import Local, Results

_TOPIC = (
    "CREATE TABLE {name} ({columns}) WITH (connector = '{connector}', topic = '{topic}',"
    " properties.bootstrap.servers = '{servers}', scan.bounded.mode = 'latest-offset'{options});\n"
)
_NOWHERE = "WITH (connector = 'blackhole')"
_FOLDED = """
CREATE SINK ranked AS
SELECT city, rn, id, name, total FROM (
  SELECT *, row_number() OVER (PARTITION BY city ORDER BY total DESC, id) AS rn
  FROM (SELECT u.id, u.name, u.city, sum(b.amount) AS total FROM users u
        JOIN bids b ON b.user_id = u.id GROUP BY u.id, u.name, u.city) AS t) AS r
WHERE rn <= 2
"""
_USERS, _BIDS, _RECORDS = 40, 150, 600


def declared(kafka: Kit, topic: str, columns: str, connector: str, options: str = "") -> str:
    return _TOPIC.format(
        name=topic.split("-", maxsplit=1)[0],
        columns=columns,
        connector=connector,
        topic=topic,
        servers=kafka.bootstrap,
        options=options,
    )


def results(text: str) -> Results:
    """Of a job that runs in this process."""
    return Local(cut(compile(text, "job.sql", {}), 2)).run()


def rows_of(found: Results, sink: str = "s") -> list[tuple[Any, ...]]:
    changes = (row for table in found.outputs[sink] for row in table.to_pylist())
    return sorted(tuple(row.values()) for row in ends_in(changes))


def as_json(value: object) -> bytes:
    return json.dumps(value).encode()


def test_an_upsert_topic_is_what_its_keys_have_now(kafka: Kit) -> None:
    topic = kafka.topic("users", 2)
    one, two = (as_json({"id": number}) for number in (1, 2))
    first = [
        Put(b'{"id": 99, "name": "a"}', one),
        Put(b'{"name": "b"}', one),
        Put(b'{"name": "?"}', b"null"),
        Put(b'{"name": "?"}', None),
        Put(b'{"name": 7', one),
        Put(None, as_json({"id": 5})),
    ]
    kafka.put(topic, 0, first)
    kafka.put(topic, 1, [Put(b'{"name": "c"}', two), Put(b"", two), Put(b'{"name": null}', two)])
    text = declared(
        kafka, topic, "id INT PRIMARY KEY, name STRING", "upsert-kafka", ", format = 'json'"
    )
    found = results(f"{text} CREATE SINK s AS SELECT * FROM users WITH (connector = 'blackhole')")
    assert rows_of(found) == [(1, "b"), (2, None)]
    counts = found.last.accounts.total()
    assert (counts.read, counts.used, counts.quarantined) == (9, 6, 3)


def test_the_key_may_be_what_the_messages_have(kafka: Kit) -> None:
    topic = kafka.topic("users")
    kafka.put(topic, 0, [Put(b'{"v": 1}', b"a"), Put(b'{"v": 2}', b"b"), Put(None, b"a")])
    text = _TOPIC.format(
        name="users", columns="PRIMARY KEY (k), v INT", connector="kafka", topic=topic,
        servers=kafka.bootstrap, options="",
    )  # fmt: skip
    text = text.replace(") WITH", ") INCLUDE KEY AS k WITH").replace(
        ");\n", ") FORMAT UPSERT ENCODE JSON;\n"
    )
    found = results(
        f"{text} CREATE SINK s AS SELECT k, v FROM users WITH (connector = 'blackhole')"
    )
    assert rows_of(found) == [(b"b", 2)]


def test_the_newest_message_counts_where_partitions_were_added(kafka: Kit) -> None:
    topic = kafka.topic("users", 2)
    key = as_json({"id": 1})
    kafka.put(topic, 1, [Put(b'{"name": "new"}', key, 2_000)])
    kafka.put(topic, 0, [Put(b'{"name": "old"}', key, 1_000)])
    columns = "id INT PRIMARY KEY, name STRING, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'"
    sink = f"CREATE SINK s AS SELECT id, name FROM users {_NOWHERE}"
    text = declared(kafka, topic, columns, "upsert-kafka", ", format = 'json'")
    moved = results(text + sink)
    assert rows_of(moved) == [(1, "old")], "of splits that put at once the first has the key"
    counts = moved.last.accounts.total()
    assert (counts.used, counts.quarantined) == (1, 1)
    (row,) = [row for table in moved.ledger for row in table.to_pylist()]
    assert (row["split"], row["reason"]) == (f"{topic}-1", "key_moved")
    versioned = text.replace(");\n", ", 'scan.changes.version' = 'ts');\n")
    assert rows_of(results(versioned + sink)) == [(1, "new")]


def test_envelopes_of_debezium_and_what_it_sends_behind_a_delete(kafka: Kit) -> None:
    topic = kafka.topic("bids")
    row = {"id": 1, "amount": "1.50"}
    messages = [
        Put(as_json({"before": None, "after": row, "op": "r"}), b"1"),
        Put(as_json({"schema": {}, "payload": {"after": {**row, "id": 2}, "op": "c"}}), b"2"),
        Put(as_json({"before": row, "after": None, "op": "d"}), b"1"),
        Put(None, b"1"),
        Put(as_json({"op": "t"}), None),
        Put(b"", None),
    ]
    kafka.put(topic, 0, messages)
    columns = "id INT PRIMARY KEY, amount DECIMAL(10, 2), at BIGINT METADATA FROM 'offset'"
    text = declared(kafka, topic, columns, "kafka", ", 'value.format' = 'debezium-json'")
    found = results(
        f"{text} CREATE SINK s AS SELECT id, CAST(amount AS STRING) AS a, at FROM bids {_NOWHERE}"
    )
    assert rows_of(found) == [(2, "1.50", 1)]
    counts = found.last.accounts.total()
    assert (counts.read, counts.used, counts.quarantined) == (5, 3, 2)
    reasons = [row["reason"] for table in found.ledger for row in table.to_pylist()]
    assert sorted(reasons) == ["malformed", "passed_over"]


def users(rng: Random) -> Iterable[tuple[int, Put]]:
    """Messages of an upsert topic of two partitions."""
    for _ in range(_RECORDS):
        id_ = rng.randrange(_USERS)
        row = {"name": f"n{rng.randrange(9)}", "city": rng.choice("ABC")}
        value = None if rng.random() < 0.1 else as_json(row)
        yield id_ % 2, Put(value, as_json({"id": id_}))


def bids(rng: Random) -> Iterable[tuple[int, Put]]:
    """Envelopes, some of them twice, with images of before that are wrong."""
    for _ in range(_RECORDS):
        id_ = rng.randrange(_BIDS)
        row = {"id": id_, "user_id": rng.randrange(_USERS), "amount": rng.randrange(100)}
        before = {"id": id_, "user_id": 0, "amount": -1}
        deletes = rng.random() < 0.2
        value = {"before": before, "after": None if deletes else row, "op": "d" if deletes else "u"}
        for _ in range(1 + (rng.random() < 0.1)):
            yield id_ % 3, Put(as_json(value), str(id_).encode())


def put_all(kafka: Kit, topic: str, messages: Iterable[tuple[int, Put]]) -> dict[int, Any]:
    """Writes them; gives the newest value of each key."""
    by_partition: dict[int, list[Put]] = {}
    newest: dict[int, Any] = {}
    for partition, message in messages:
        by_partition.setdefault(partition, []).append(message)
        assert message.key is not None
        key = json.loads(message.key)
        value = None if message.value is None else json.loads(message.value)
        newest[key if isinstance(key, int) else key["id"]] = value
    for partition, found in by_partition.items():
        kafka.put(topic, partition, found)
    return newest


def folded(kafka: Kit, topic: str) -> list[tuple[Any, ...]]:
    """The rows that are there behind the envelopes of a topic, which hold nothing twice."""
    rows: list[tuple[Any, ...]] = []
    for messages in kafka.read(topic).values():
        for message in messages:
            envelope = json.loads(message.value() or b"")
            if envelope["op"] == "d":
                rows.remove(tuple(envelope["before"].values()))
            else:
                assert envelope["op"] == "c"
                rows.append(tuple(envelope["after"].values()))
    return sorted(rows)


def test_a_view_over_both_through_kills(kafka: Kit, drivers: Commands, tmp_path: Path) -> None:
    rng = Random(7)
    of_users, of_bids = kafka.topic("users", 2), kafka.topic("bids", 3)
    named = put_all(kafka, of_users, users(rng))
    bidden = put_all(kafka, of_bids, bids(rng))
    out = kafka.topic("ranked", 2)
    text = declared(
        kafka, of_users, "id INT PRIMARY KEY, name STRING, city STRING", "upsert-kafka",
        ", 'key.format' = 'json', 'value.format' = 'json', 'value.fields-include' = 'EXCEPT_KEY'",
    )  # fmt: skip
    text += declared(
        kafka, of_bids, "id INT PRIMARY KEY, user_id INT, amount BIGINT", "kafka", ""
    ).replace(");\n", ") FORMAT DEBEZIUM ENCODE JSON;\n")
    text += _FOLDED + (
        f"WITH (connector = 'upsert-kafka', topic = '{out}', properties.bootstrap.servers ="
        f" '{kafka.bootstrap}', key.format = 'json', format = 'json', primary_key = 'city,rn');"
    )
    log = kafka.topic("log", 2)
    text += _FOLDED.replace("ranked", "log") + (
        f"WITH (connector = 'kafka', topic = '{log}', properties.bootstrap.servers ="
        f" '{kafka.bootstrap}', format = 'debezium-json');"
    )
    file = tmp_path / "job.sql"
    file.write_text(text, encoding="utf-8")
    args = ["run", file, "--checkpoint", tmp_path / "c", "--set", "tidegate.epoch.rows.max=300"]
    for point in ("after-entry:2", "after-publish:3"):
        command = drivers.start(*args, TIDEGATE_FAILPOINTS=point)
        assert command.wait().code == -signal.SIGKILL, command.err
        command.wait_for_family(30)
    ended = drivers.run(*args)
    assert ended.code == 0, ended.err
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE users (id INT, name TEXT, city TEXT)")
        connection.execute("CREATE TABLE bids (id INT, user_id INT, amount BIGINT)")
        people = [(id_, r["name"], r["city"]) for id_, r in named.items() if r is not None]
        connection.executemany("INSERT INTO users VALUES (?, ?, ?)", people)
        offers = [tuple(v["after"].values()) for v in bidden.values() if v["after"] is not None]
        connection.executemany("INSERT INTO bids VALUES (?, ?, ?)", offers)
        query = _FOLDED.partition(" AS\n")[2]
        wanted = sorted(connection.execute(query).fetchall())
    found: dict[bytes, dict[str, Any] | None] = {}
    for messages in kafka.read(out).values():
        for message in messages:
            key, value = message.key(), message.value()
            assert key is not None
            found[key] = None if value is None else json.loads(value)
    assert folded(kafka, log) == wanted
    rows = [row for row in found.values() if row is not None]
    assert sorted(tuple(row.values()) for row in rows) == wanted
