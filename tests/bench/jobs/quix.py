"""Quix Streams: pure Python, one process."""

import json
import sys
from datetime import UTC, datetime
from typing import Any


def main(
    query: str,
    servers: str,
    sources: dict[str, str],
    target: str,
    directory: str,
    settings: dict[str, Any],
) -> None:
    from quixstreams import Application
    from quixstreams.dataframe.windows import Count, Sum

    app = Application(
        broker_address=servers,
        consumer_group=f"quix-{target}",
        auto_offset_reset="earliest",
        state_dir=f"{directory}/state",
        loglevel="WARNING",
        commit_interval=5.0,
    )

    def event_time(value: dict[str, Any], *_: object) -> int:
        parsed = datetime.fromisoformat(value["order_time"]).replace(tzinfo=UTC)
        return int(parsed.timestamp() * 1000)

    orders = app.topic(sources["orders"], value_deserializer="json", timestamp_extractor=event_time)
    result = app.topic(target, value_serializer="json")
    rows = app.dataframe(orders)
    if query == "windows":
        rows = rows.group_by(lambda value: str(value["customer_id"]), name="customer")
        rows = (
            rows.tumbling_window(60_000, grace_ms=5_000)
            .agg(order_count=Count(), sum_price=Sum("price"))
            .final(closing_strategy="partition")
        )
        rows = rows.apply(
            lambda value, key, *_: {
                "window_start": datetime.fromtimestamp(value["start"] / 1000, UTC).strftime(
                    "%Y-%m-%d %H:%M:%S"
                ),
                "customer_id": int(key),
                "order_count": value["order_count"],
                "sum_price": value["sum_price"],
            },
            metadata=True,
        )
    rows.to_topic(result)
    app.run()


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
