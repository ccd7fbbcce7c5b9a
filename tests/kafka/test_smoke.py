"""The least that must work: what is put into a topic is what planner and reader give."""

from __future__ import annotations

import json

from kafka.broker import Cluster
from kafka.kit import Kit
from tidegate.connectors.kafka.planner import KafkaPlanner
from tidegate.connectors.kafka.reader import KafkaReader
from tidegate.engine.engine import Engine
from tidegate.ports import SplitRange


def test_rows_go_in_and_come_out(kafka: Kit) -> None:
    topic = kafka.topic("smoke", partitions=2)
    kafka.put(topic, 0, [json.dumps({"a": n}).encode() for n in range(5)])
    table = kafka.source(topic, ("a", "BIGINT"))
    planner = KafkaPlanner(table, False)
    splits = planner.splits()
    assert splits == [f"{topic}-0", f"{topic}-1"]
    plans = planner.plan(dict.fromkeys(splits), 3)
    assert {split: plan.rows_max for split, plan in plans.items()} == {splits[0]: 3, splits[1]: 0}
    reader = KafkaReader(table, Engine())
    ((_, chunk),) = reader.read([SplitRange(splits[0], None, plans[splits[0]].end)])
    assert chunk.data.column("a").to_pylist() == [0, 1, 2]
    later = planner.plan({split: plan.end for split, plan in plans.items()}, None)
    wanted = SplitRange(splits[0], plans[splits[0]].end, later[splits[0]].end, 3)
    ((_, chunk),) = reader.read([wanted])
    assert chunk.data.column("a").to_pylist() == [3, 4]


def test_a_broker_says_what_it_does(cluster: Cluster) -> None:
    """Its log is all that tells why one failed."""
    assert "WARN QuorumController" in cluster.brokers[0].log
