"""Flink SQL, through PyFlink: a mini cluster in one JVM. Its rows never meet Python."""

import json
import sys
from typing import Any

SOURCE = """
CREATE TABLE orders (
  id BIGINT, order_time TIMESTAMP(3), price DECIMAL(10, 2), customer_id BIGINT{note},
  WATERMARK FOR order_time AS order_time - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka', 'topic' = '{source}', 'properties.bootstrap.servers' = '{servers}',
  'scan.startup.mode' = 'earliest-offset',{bounded} 'format' = 'json',
  'json.timestamp-format.standard' = 'SQL'
)"""
SINK = """
CREATE TABLE written ({columns}) WITH (
  'connector' = 'kafka', 'topic' = '{target}', 'properties.bootstrap.servers' = '{servers}',
  'format' = 'json', 'sink.delivery-guarantee' = '{guarantee}',
  'sink.transactional-id-prefix' = 'flink-{target}'
)"""
WINDOWS = """
INSERT INTO written SELECT window_start, customer_id, count(*), sum(price)
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(order_time), INTERVAL '{window_s}' SECOND))
GROUP BY window_start, window_end, customer_id"""


def main(
    query: str, servers: str, source: str, target: str, directory: str, *, settings: dict[str, Any]
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
    note = ", note STRING" if settings["padded"] else ""
    order = f"id BIGINT, order_time TIMESTAMP(3), price DECIMAL(10, 2), customer_id BIGINT{note}"
    window = (
        "window_start TIMESTAMP(3), customer_id BIGINT, order_count BIGINT,"
        " sum_price DECIMAL(38, 2)"
    )
    bounded = " 'scan.bounded.mode' = 'latest-offset'," if settings["bounded"] else ""
    places = {"servers": servers, "source": source, "target": target, "note": note}
    env.execute_sql(SOURCE.format(**places, bounded=bounded))
    columns = window if query == "windows" else order
    env.execute_sql(SINK.format(**places, columns=columns, guarantee=settings["guarantee"]))
    if query == "windows":
        env.execute_sql(WINDOWS.format(**settings)).wait()
    else:
        names = "id, order_time, price, customer_id" + (", note" if note else "")
        env.execute_sql(f"INSERT INTO written SELECT {names} FROM orders").wait()


if __name__ == "__main__":
    main(*sys.argv[1:6], settings=json.loads(sys.argv[6]))
