"""What is asked of Tidegate: the same as of the others, in its own SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bench import nexmark
from nexmark import reference

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
    kafka = f"connector = 'kafka', properties.bootstrap.server = '{servers}', topic = "
    read = ", format = 'json', scan.startup.mode = 'earliest'"
    read += ", scan.bounded.mode = 'latest-offset'" if bounded else ""
    options = {table: f"{kafka}'{source}'{read}" for table, source in sources.items()}
    return reference.job_over(query, options, f"{kafka}'{target}'")
