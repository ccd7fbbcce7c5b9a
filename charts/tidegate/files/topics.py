"""Makes topics that are not there yet, and waits until the brokers know them.

python topics.py SERVERS COPIES NAME=PARTITIONS…
"""

import sys
import time

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

PATIENCE_S = 40  # then it fails, and what it says is in the status of its pod


def main() -> None:
    servers, copies, *wanted = sys.argv[1:]
    topics = {name: int(count) for name, _, count in (each.partition("=") for each in wanted)}
    client = AdminClient({"bootstrap.servers": servers, "log_level": 2})
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            missing = topics.keys() - client.list_topics(timeout=5).topics.keys()
            if not missing:
                return
            make(client, {name: topics[name] for name in missing}, int(copies))
        except KafkaException as error:
            if time.monotonic() > until:
                raise SystemExit(f"no topics on {servers}: {error}") from None
            print(f"waiting for {servers}: {error.args[0].str()}", flush=True)
            time.sleep(1)


def make(client: AdminClient, topics: dict[str, int], copies: int) -> None:
    new = [NewTopic(name, count, copies) for name, count in topics.items()]
    for name, future in client.create_topics(new).items():
        try:
            future.result(30)
            print(f"topic {name}: {topics[name]} partitions", flush=True)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise


if __name__ == "__main__":
    main()
