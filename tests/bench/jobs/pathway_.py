"""Pathway: a Rust engine with a Python front; as many threads as there are cores."""

import json
import sys
from datetime import timedelta
from typing import Any


def main(
    query: str,
    servers: str,
    sources: dict[str, str],
    target: str,
    directory: str,
    settings: dict[str, Any],
) -> None:
    import pathway as pw

    class Order(pw.Schema):
        id: int
        order_time: str
        price: float
        customer_id: int

    rdkafka = {
        "bootstrap.servers": servers,
        "group.id": f"pathway-{target}",
        "auto.offset.reset": "earliest",
    }
    orders = pw.io.kafka.read(
        rdkafka, topic=sources["orders"], format="json", schema=Order, mode="static",
        autocommit_duration_ms=settings["commit_ms"],
    )  # fmt: skip
    if query == "windows":
        timed = orders.select(
            time=pw.this.order_time.dt.strptime("%Y-%m-%d %H:%M:%S.%f"),
            customer_id=pw.this.customer_id,
            price=pw.this.price,
        )
        windows = timed.windowby(
            timed.time,
            window=pw.temporal.tumbling(duration=timedelta(minutes=1)),
            instance=timed.customer_id,
            behavior=pw.temporal.exactly_once_behavior(shift=timedelta(seconds=settings["wait_s"])),
        ).reduce(
            window_start=pw.this._pw_window_start.dt.strftime("%Y-%m-%d %H:%M:%S"),
            customer_id=pw.this._pw_instance,
            order_count=pw.reducers.count(),
            sum_price=pw.reducers.sum(pw.this.price),
        )
        pw.io.kafka.write(windows, rdkafka, target, format="json")
    else:
        pw.io.kafka.write(orders, rdkafka, target, format="json")
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
