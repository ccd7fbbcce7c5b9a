"""``helm test``: a job of its own, on executors of its own, must close a window.

python closing.py SERVERS COPIES CHECKPOINT -- [OPTIONS of tidegate run]

Orders go into a topic that is made for it, ones that come late and one that is malformed among
them; what the job writes must be the right windows. All that it makes it removes.
"""

import json
import os
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyarrow import fs
from topics import make

PARTITIONS = 2
ORDERS = 300
LATE = 7
SQL = """
CREATE SOURCE orders (
  id BIGINT, order_time TIMESTAMP,
  WATERMARK FOR order_time AS order_time - INTERVAL '5' SECOND
) WITH (
  connector = 'kafka', topic = '{name}-orders', 'properties.bootstrap.servers' = '{servers}',
  'scan.startup.mode' = 'earliest-offset'
) FORMAT PLAIN ENCODE JSON;
CREATE SINK windows AS
SELECT window_start, count(*) AS orders FROM TUMBLE(orders, order_time, INTERVAL '10' SECOND)
GROUP BY window_start
EMIT ON WINDOW CLOSE
WITH (connector = 'kafka', topic = '{name}-windows', 'properties.bootstrap.servers' = '{servers}')
FORMAT PLAIN ENCODE JSON;
"""


def main() -> None:
    servers, copies, base, _, *options = sys.argv[1:]
    name = f"helm-test-{uuid.uuid4().hex[:8]}"
    topics = {f"{name}-orders": PARTITIONS, f"{name}-windows": 1}
    checkpoint = f"{base}/{name}"
    client = AdminClient({"bootstrap.servers": servers, "log_level": 2})
    make(client, topics, int(copies))
    try:
        expected = send(servers, f"{name}-orders")
        run(SQL.format(name=name, servers=servers), checkpoint, options)
        found = read(servers, f"{name}-windows", len(expected))
        if found != expected:  # one that is there twice is as wrong as one that is missing
            raise SystemExit(f"the windows are {found}, and should be {expected}")
        print(f"{len(found)} windows closed, each with its orders: {found}")
    finally:
        for future in client.delete_topics(list(topics)).values():
            future.result(30)
        remove(checkpoint)


Windows = list[tuple[str, int]]
"""Starts, and orders in them; sorted."""


def send(servers: str, topic: str) -> Windows:
    """Orders of half a minute, in order in each partition; gives the windows that close."""
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "log_level": 2})
    counts: Counter[str] = Counter()
    for number in range(ORDERS):
        second = number * 30 // ORDERS
        # Ten by ten: a round of both partitions shares its second.
        producer.produce(topic, order(number, second), partition=number % PARTITIONS)
        counts[f"2026-01-01 00:00:{second // 10 * 10:02d}"] += 1
    for number in range(LATE):  # the watermark stands at 24 s: their window has closed
        producer.produce(topic, order(number, 3), partition=number % PARTITIONS)
    producer.produce(topic, b'{"id": ', partition=0)
    producer.flush(60)
    # The last window is open: its end is 30 s, and the watermark has not come there.
    return sorted(counts.items())[:-1]


def order(number: int, second: int) -> bytes:
    return json.dumps({"id": number, "order_time": f"2026-01-01 00:00:{second:02d}"}).encode()


def run(sql: str, checkpoint: str, options: list[str]) -> None:
    file = Path("/tmp/job.sql")
    file.write_text(sql)
    command = [sys.executable, "-m", "tidegate.pod", "run", str(file), "--available-now"]
    done = subprocess.run([*command, f"--checkpoint={checkpoint}", *options], check=False)
    if done.returncode:
        raise SystemExit(f"the job failed with exit code {done.returncode}")


def read(servers: str, topic: str, wanted: int) -> Windows:
    """The windows in the topic that are committed."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": topic,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "log_level": 2,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found: Windows = []
    # A longer list than wanted is as wrong as a shorter one: the last call waits for more.
    for message in consumer.consume(wanted + 1, 15):
        if message.error():
            raise SystemExit(f"topic {topic}: {message.error().str()}")
        document = json.loads(message.value())
        found.append((document["window_start"], document["orders"]))
    consumer.close()
    return sorted(found)


def remove(checkpoint: str) -> None:
    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    store = fs.S3FileSystem(endpoint_override=endpoint, region=os.environ.get("AWS_REGION"))
    path = checkpoint.partition("://")[2]
    if store.get_file_info(path).type == fs.FileType.Directory:
        store.delete_dir(path)


if __name__ == "__main__":
    main()
