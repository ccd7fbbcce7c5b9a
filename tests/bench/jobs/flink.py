"""Flink SQL, through PyFlink: a mini cluster in one JVM. Its rows never meet Python.

Nexmark's queries are of windowing table functions, window joins and an interval join, whose state
ends with their windows. (A window join of bids for q7 seemed slower.) Flink merges sessions that
touch, where Tidegate begins the next one: times being whole milliseconds, the same sessions have a
gap that is one shorter here, and an end one earlier, which is put right.
"""

import json
import sys
from typing import Any

SOURCE = """
CREATE TABLE {table} (
  {columns}, WATERMARK FOR {time} AS {time} - INTERVAL '{delay_s}' SECOND
) WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}',
  'scan.startup.mode' = 'earliest-offset',{bounded} 'format' = 'json',
  'json.timestamp-format.standard' = 'SQL'
)"""
SINK = """
CREATE TABLE written ({columns}) WITH (
  'connector' = 'kafka', 'topic' = '{target}', 'properties.bootstrap.servers' = '{servers}',
  'format' = 'json', 'sink.delivery-guarantee' = '{guarantee}',
  'sink.transactional-id-prefix' = 'flink-{target}'
)"""
UPSERTED = """
CREATE TABLE written ({columns}) WITH (
  'connector' = 'upsert-kafka', 'topic' = '{target}', 'properties.bootstrap.servers' = '{servers}',
  'key.format' = 'json', 'value.format' = 'json', 'sink.delivery-guarantee' = '{guarantee}'
)"""
ORDER = "id BIGINT, order_time TIMESTAMP(3), price DECIMAL(10, 2), customer_id BIGINT{note}"
PERSON = """id BIGINT, name STRING, email_address STRING, city STRING, state STRING,
  date_time TIMESTAMP(3)"""
AUCTION = """id BIGINT, item_name STRING, initial_bid BIGINT, reserve BIGINT,
  date_time TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, category BIGINT"""
BID = """auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,
  date_time TIMESTAMP(3)"""
TABLES = {
    "orders": (ORDER, "order_time", 5),
    "person": (PERSON, "date_time", 4),
    "auction": (AUCTION, "date_time", 4),
    "bid": (BID, "date_time", 4),
}
"""Columns, time, the watermark's delay in seconds."""
WINDOW = "window_start TIMESTAMP(3), window_end TIMESTAMP(3)"
COUNTED = """
SELECT auction, count(*) AS num, window_start, window_end
FROM TABLE(HOP(TABLE bid, DESCRIPTOR(date_time), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
GROUP BY window_start, window_end, auction"""
TUMBLED = "TABLE(TUMBLE(TABLE {table}, DESCRIPTOR(date_time), INTERVAL '10' SECOND))"
QUERIES = {
    "windows": (
        """window_start TIMESTAMP(3), customer_id BIGINT, order_count BIGINT,
  sum_price DECIMAL(38, 2)""",
        """SELECT window_start, customer_id, count(*), sum(price)
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(order_time), INTERVAL '{window_s}' SECOND))
GROUP BY window_start, window_end, customer_id""",
    ),
    "copy": (ORDER, "SELECT id, order_time, price, customer_id{note_name} FROM orders"),
    "q5": (
        f"{WINDOW}, auction BIGINT, num BIGINT",
        f"""SELECT c.window_start, c.window_end, c.auction, c.num
FROM ({COUNTED}) AS c JOIN (
  SELECT max(num) AS num, window_start, window_end
  FROM ({COUNTED})
  GROUP BY window_start, window_end
) AS m
ON c.window_start = m.window_start AND c.window_end = m.window_end AND c.num >= m.num""",
    ),
    "q7": (
        """auction BIGINT, price BIGINT, bidder BIGINT, date_time TIMESTAMP(3),
  window_end TIMESTAMP(3)""",
        f"""SELECT b.auction, b.price, b.bidder, b.date_time, h.window_end
FROM bid AS b JOIN (
  SELECT max(price) AS price, window_start, window_end, window_time
  FROM {TUMBLED.format(table="bid")}
  GROUP BY window_start, window_end, window_time
) AS h
ON b.price = h.price
AND b.date_time BETWEEN h.window_time - INTERVAL '9.999' SECOND AND h.window_time""",
    ),
    "q8": (
        "id BIGINT, name STRING, window_start TIMESTAMP(3)",
        f"""SELECT p.id, p.name, p.window_start
FROM (
  SELECT id, name, window_start, window_end
  FROM {TUMBLED.format(table="person")}
  GROUP BY id, name, window_start, window_end
) AS p JOIN (
  SELECT seller, window_start, window_end
  FROM {TUMBLED.format(table="auction")}
  GROUP BY seller, window_start, window_end
) AS a
ON p.id = a.seller AND p.window_start = a.window_start AND p.window_end = a.window_end""",
    ),
    "q11": (
        f"bidder BIGINT, bids BIGINT, {WINDOW}",
        """SELECT bidder, count(*), window_start, window_end + INTERVAL '0.001' SECOND
FROM TABLE(
  SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(date_time), INTERVAL '9.999' SECOND)
)
GROUP BY bidder, window_start, window_end""",
    ),
}
"""By name: the columns of what is written, and the query."""


def main(
    query: str,
    servers: str,
    sources: dict[str, str],
    target: str,
    directory: str,
    settings: dict[str, Any],
) -> None:
    from pyflink.common import Configuration
    from pyflink.table import EnvironmentSettings, TableEnvironment

    conf = Configuration()
    conf.set_string("pipeline.jars", settings["jar"])
    for key, value in settings["flink"].items():
        conf.set_string(key, value.format(directory=directory))
    env = TableEnvironment.create(
        EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(conf).build()
    )
    bounded = " 'scan.bounded.mode' = 'latest-offset'," if settings["bounded"] else ""
    note = ", note STRING" if settings["padded"] else ""
    for table, topic in sources.items():
        columns, time, delay_s = TABLES[table]
        env.execute_sql(
            SOURCE.format(
                table=table, columns=columns.format(note=note), time=time, delay_s=delay_s,
                topic=topic, servers=servers, bounded=bounded,
            )
        )  # fmt: skip
    written = settings.get("written")
    if written:
        columns, select = written["columns"], written["select"]
    else:
        columns, select = QUERIES[query]
    sink = UPSERTED if written and written["keyed"] else SINK
    env.execute_sql(
        sink.format(
            columns=columns.format(note=note), target=target, servers=servers,
            guarantee=settings["guarantee"],
        )
    )  # fmt: skip
    note_name = ", note" if note else ""
    text = select.format(window_s=settings["window_s"], note_name=note_name)
    env.execute_sql(f"INSERT INTO written {text}").wait()


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
