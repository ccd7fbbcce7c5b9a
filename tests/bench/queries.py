"""What is asked of Tidegate: the same as of the others, in its own SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bench import nexmark
from nexmark import reference
from nexmark.as_written import WRITTEN

_SOURCE: Final = """
CREATE TABLE orders (
  id BIGINT, order_time TIMESTAMP(6), price DECIMAL(10, 2), customer_id BIGINT{note},
  WATERMARK FOR order_time AS order_time - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka', 'topic' = '{source}', 'properties.bootstrap.servers' = '{servers}',
  'scan.startup.mode' = 'earliest-offset',{bounded} 'format' = 'json'
);
"""
_SINK: Final = """WITH (
  'connector' = 'kafka', 'topic' = '{target}', 'properties.bootstrap.servers' = '{servers}',
  'format' = 'json'
);
"""
_KAFKA: Final = "connector = 'kafka', properties.bootstrap.server = '{servers}', topic = '{topic}'"
_BOUNDED: Final = " 'scan.bounded.mode' = 'latest-offset',"
_QUERIES: Final = {
    "windows": (
        """window_start TIMESTAMP(3), customer_id BIGINT, order_count BIGINT,
sum_price DECIMAL(38, 2)""",
        """SELECT window_start, customer_id, count(*), sum(price)
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(order_time), INTERVAL '{window_s}' SECOND))
GROUP BY window_start, window_end, customer_id""",
    ),
    "copy": (
        "id BIGINT, order_time TIMESTAMP(6), price DECIMAL(10, 2), customer_id BIGINT{note}",
        "SELECT id, order_time, price, customer_id{note_name} FROM orders",
    ),
    "sort": (
        "id BIGINT, order_time TIMESTAMP(6), price DECIMAL(10, 2), customer_id BIGINT{note}",
        """SELECT id, order_time, price, customer_id{note_name} FROM orders
ORDER BY order_time EMIT ON WINDOW CLOSE""",
    ),
}


def sql_of(
    query: str,
    servers: str,
    sources: Mapping[str, str],
    target: str,
    *,
    padded: bool,
    bounded: bool = True,
    window_s: int = 60,
) -> str:
    """The job's file. ``sources`` are the topics by table."""
    if query in WRITTEN:
        return _as_written(query, servers, sources, target, bounded)
    if query in nexmark.QUERIES:
        return _nexmark(query, servers, sources, target, bounded)
    columns, select = _QUERIES[query]
    sink = f"CREATE TABLE written ({columns}) {_SINK}"
    text = f"{_SOURCE}{sink}INSERT INTO written\n{select};\n"
    return text.format(
        servers=servers,
        source=sources["orders"],
        target=target,
        bounded=_BOUNDED if bounded else "",
        window_s=window_s,
        note=", note STRING" if padded else "",
        note_name=", note" if padded else "",
    )


def _nexmark(
    query: str, servers: str, sources: Mapping[str, str], target: str, bounded: bool
) -> str:
    """The packaged job, between topics."""
    options = {table: _kafka(servers, topic, bounded) for table, topic in sources.items()}
    return reference.job_over(query, options, _KAFKA.format(servers=servers, topic=target))


def _as_written(
    query: str, servers: str, sources: Mapping[str, str], target: str, bounded: bool
) -> str:
    """One of `nexmark.as_written`; what its rows are told apart by is the key of its messages."""
    written = WRITTEN[query]
    tables = reference.sources_over(
        {table: _kafka(servers, topic, bounded) for table, topic in sources.items()}
    )
    sink = f"WITH ({_KAFKA.format(servers=servers, topic=target)}, format = 'json')"
    if written.key:
        sink = sink.replace("'kafka'", "'upsert-kafka'").replace(
            "format = 'json'", "key.format = 'json', value.format = 'json'"
        )
    unbounded = "" if query == "q22" else " ALLOW UNBOUNDED"
    return (
        f"{tables}CREATE TABLE written ({written.declared}) {sink};\n"
        f"INSERT INTO written {written.select}{unbounded};\n"
    )


def _kafka(servers: str, topic: str, bounded: bool) -> str:
    """The options of a topic that is read."""
    read = "format = 'json', scan.startup.mode = 'earliest'"
    read += ", scan.bounded.mode = 'latest-offset'" if bounded else ""
    return f"{_KAFKA.format(servers=servers, topic=topic)}, {read}"
