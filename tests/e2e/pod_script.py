"""Runs in a pod of Tidegate's image: Kafka and the checkpoint, for tests that are outside.

A request is a line of JSON on stdin, its answer one on stdout. Only what the image has is imported.
"""

import base64
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyarrow import fs

SERVERS = sys.argv[1]
# The last: as the product has it (`tidegate.connectors.kafka.delivery`), since a client that has
# lost all its brokers else forgets them, and what it has for them is never sent.
SETTINGS = {
    "bootstrap.servers": SERVERS,
    "enable.idempotence": True,
    "linger.ms": 5,
    "metadata.recovery.strategy": "none",
}
PRODUCERS = [Producer(SETTINGS)]
PATIENCE_S = 15
TRIES = 16


def put(topic: str, partition: int, values: list[str]) -> None:
    """What is there in the end is what counts: a row may be there twice."""
    waiting = dict(enumerate(map(base64.b64decode, values)))
    for _ in range(TRIES):
        delivered: list[int] = []

        def on_delivery(number: int, there: list[int]) -> Callable[[Any, Any], None]:
            return lambda error, _: None if error else there.append(number)

        for number, value in waiting.items():
            told = on_delivery(number, delivered)
            PRODUCERS[0].produce(topic, value, partition=partition, on_delivery=told)
        PRODUCERS[0].flush(PATIENCE_S)
        for number in delivered:
            del waiting[number]
        if not waiting:
            return
        # It may have missed the partition's leader for good (librdkafka's issue 5430).
        PRODUCERS[0] = Producer(SETTINGS)
    raise AssertionError(f"{len(waiting)} messages were not delivered")


def make(topic: str, partitions: int) -> None:
    client = AdminClient({"bootstrap.servers": SERVERS})
    for future in client.create_topics([NewTopic(topic, partitions, -1)]).values():
        future.result(60)


def read(topic: str) -> dict[int, list[Any]]:
    settings = {
        "bootstrap.servers": SERVERS,
        "group.id": "outside",
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "enable.auto.commit": False,
    }
    consumer = Consumer(settings)
    parts = consumer.list_topics(topic, 60).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in parts])
    found: dict[int, list[Any]] = {number: [] for number in parts}
    ended: set[int] = set()
    while len(ended) < len(parts):
        message = consumer.poll(60)
        assert message is not None, f"no answer for {topic}"
        number = message.partition()
        assert number is not None
        if message.error() is None:
            value = base64.b64encode(message.value() or b"").decode()
            found[number].append([message.offset(), value])
        else:
            ended.add(number)
    consumer.close()
    return found


def store() -> Any:
    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    return fs.S3FileSystem(endpoint_override=endpoint, region=os.environ["AWS_REGION"])


def listed(bucket: Any, uri: str) -> list[Any]:
    selector = fs.FileSelector(uri.partition("://")[2], allow_not_found=True)
    infos = (info for info in bucket.get_file_info(selector) if info.type == fs.FileType.File)
    return sorted(infos, key=lambda info: info.base_name)


def content(bucket: Any, info: Any) -> str:
    with bucket.open_input_stream(info.path) as file:
        return base64.b64encode(file.read()).decode()


def files(uri: str, behind: str) -> dict[str, str]:
    bucket = store()
    found = (info for info in listed(bucket, uri) if info.base_name > behind)
    return {info.base_name: content(bucket, info) for info in found}


def newest(uri: str) -> str:
    bucket = store()
    return content(bucket, listed(bucket, uri)[-1])


OPERATIONS: dict[str, Callable[..., Any]] = {
    "put": put,
    "make": make,
    "read": read,
    "files": files,
    "newest": newest,
}

for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = {"answer": OPERATIONS[request["op"]](*request["args"])}
    except Exception as error:  # the asker shall know
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
