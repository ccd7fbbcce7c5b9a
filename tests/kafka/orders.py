"""The job of the tests with a whole Spark: orders from a topic, minutes by customer into a topic.

`judged` is the oracle over what stands in the source topic; floors of splits that were idle, and
those alone, it takes from the epoch log (S6).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from kafka.kit import Kit
from oracle.account import Counts, Judgement, WatermarkOn, judge
from oracle.compare import diff_counts, diff_ledger, diff_output
from oracle.decode import Column, Table, Values, micros
from oracle.query import Aggregate, Output, WindowAggregate, Windows
from spark.orders import ledger_of

DELAY_S: Final = 5
_US: Final = 1_000_000
NOW_US: Final = micros("2026-01-01 00:00:00")

SOURCE: Final = """
CREATE TABLE orders (
  id BIGINT, order_time TIMESTAMP(6), price DECIMAL(10, 2), customer BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka', 'topic' = '{source}', 'properties.bootstrap.servers' = '{servers}',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json'{options}
);
"""
SINK: Final = """
CREATE TABLE revenue (
  window_start TIMESTAMP(3), window_end TIMESTAMP(3), customer BIGINT, order_count BIGINT,
  sum_price DECIMAL(38, 2)
) WITH (
  'connector' = 'kafka', 'topic' = '{sink}', 'properties.bootstrap.servers' = '{servers}',
  'format' = 'json', 'sink.delivery-guarantee' = 'exactly-once',
  'sink.transactional-id-prefix' = '{sink}'
);

INSERT INTO revenue
SELECT window_start, window_end, customer, count(*) AS order_count, sum(price) AS sum_price
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(order_time), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, customer;
"""

_TABLE: Final = Table(
    "orders",
    (
        Column("id", "BIGINT"),
        Column("order_time", "TIMESTAMP"),
        Column("price", "DECIMAL(10,2)"),
        Column("customer", "BIGINT"),
    ),
)


def _candidate(values: Values) -> int | None:
    time = values["order_time"]
    return None if time is None else int(time) - DELAY_S * _US


def _at(name: str) -> Any:
    return lambda values: values[name]


_QUERY: Final = WindowAggregate(
    time="order_time",
    windows=Windows("tumble", 60 * _US),
    keys=((Column("customer", "BIGINT"), _at("customer")),),
    aggregates=(
        Aggregate(Column("order_count", "BIGINT"), "count"),
        Aggregate(Column("sum_price", "DECIMAL(38,2)"), "sum", _at("price")),
    ),
    select=(
        (Column("window_start", "TIMESTAMP"), _at("window_start")),
        (Column("window_end", "TIMESTAMP"), _at("window_end")),
        (Column("customer", "BIGINT"), _at("customer")),
        (Column("order_count", "BIGINT"), _at("order_count")),
        (Column("sum_price", "DECIMAL(38,2)"), _at("sum_price")),
    ),
)


def job_text(kit: Kit, source: str, sink: str, options: Mapping[str, str] | None = None) -> str:
    """The job's SQL; ``options`` go into the source's WITH."""
    extra = "".join(f",\n  '{name}' = '{value}'" for name, value in (options or {}).items())
    text = SOURCE + SINK
    return text.format(source=source, sink=sink, servers=kit.bootstrap, options=extra)


@dataclass(frozen=True)
class Judged:
    """What must have come out."""

    output: Output
    judgement: Judgement

    @property
    def reasons(self) -> set[str]:
        return {row.reason for row in self.judgement.ledger}

    def problems(self, rows: Sequence[Mapping[str, Any]], ledger: Mapping[str, Any]) -> list[str]:
        """What is wrong with the rows in the sink, and with the ledger's document."""
        found = {split: Counts(**counts) for split, counts in ledger["splits"].items()}
        splits = "" if found == self.judgement.splits else f"splits: {found}"
        problems = [
            diff_output(self.output, rows),
            diff_ledger(self.judgement.ledger, ledger["rows"], time_type="TIMESTAMP"),
            diff_counts(self.judgement.counts, ledger["counts"]),
            splits,
        ]
        return [problem for problem in problems if problem]


class Message(Protocol):
    """As confluent-kafka's; what is read through a pod is no such object."""

    def value(self) -> Any: ...

    def offset(self) -> int | None: ...


def judged(
    messages: Mapping[int, Sequence[Message]],
    topic: str,
    checkpoint: Path | None = None,
    *,
    bounded: bool = False,
) -> Judged:
    """The oracle over ``messages``, all of the topic's; ``checkpoint`` where splits were idle."""
    splits = {
        f"{topic}-{partition}": [message.value() or b"" for message in found]
        for partition, found in messages.items()
    }
    for partition, found in messages.items():
        offsets = [message.offset() for message in found]
        assert offsets == list(range(len(offsets))), f"partition {partition} has gaps"
    judgement = judge(
        _TABLE,
        # The oracle reads files of lines, in which a blank line is no row; a message always is.
        {split: [_lines(values)] for split, values in splits.items()},
        [WatermarkOn("order_time", _candidate)],
        now_us=NOW_US,
        floors=None if checkpoint is None else floors_of(checkpoint, "orders"),
    )
    watermark = judgement.merged_watermark("order_time")
    return Judged(_QUERY.run(judgement.rows, watermark, bounded), judgement)


def _lines(values: Sequence[bytes]) -> bytes:
    return b"".join((value or b"{") + b"\n" for value in values)


def gather(checkpoint: Path, log: Path) -> None:
    """Keeps in ``log`` the entries that the checkpoint has now: it drops the first in time."""
    kept = log / "epochs"
    kept.mkdir(parents=True, exist_ok=True)
    for path in (checkpoint / "epochs").glob("*.json"):
        if not (kept / path.name).exists():
            (kept / path.name).write_bytes(path.read_bytes())


def floors_of(checkpoint: Path, table: str) -> dict[str, list[tuple[int, int]]]:
    """From which row on each split started from which merged watermark, as the epoch log says."""
    floors: dict[str, list[tuple[int, int]]] = {}
    before: dict[str, Any] = {"filters": {}, "next_offsets": {}}
    paths = sorted((checkpoint / "epochs").glob("*.json"))
    assert int(paths[0].stem) <= 1, "the first entries are gone: where floors began is not known"
    for path in paths:
        entry = json.loads(path.read_text())
        for filter_id, splits in entry["filters"].items():
            known = before["filters"].get(filter_id, {})
            for split, state in splits.items():
                if state["floor"] != known.get(split, {}).get("floor"):
                    at = before["next_offsets"].get(table, {}).get(split, 0)
                    floors.setdefault(split, []).append((at, state["floor"]))
        before = entry
    return floors


def rows_of(kit: Kit, topic: str) -> list[dict[str, Any]]:
    """What a ``read_committed`` reader of a sink sees."""
    return [json.loads(value) for value in kit.values(topic)]


def problems_of(
    kit: Kit, source: str, sink: str, checkpoint: Path, *, bounded: bool = False
) -> list[str]:
    """What is wrong with what a job has done."""
    wanted = judged(kit.read(source), source, checkpoint, bounded=bounded)
    return wanted.problems(rows_of(kit, sink), ledger_of(checkpoint))
