"""Bytewax: a Rust core that calls Python for each row; as many workers as there are cores."""

import json
import sys
from datetime import UTC, datetime, timedelta
from typing import Any


def main(
    query: str,
    servers: str,
    sources: dict[str, str],
    target: str,
    directory: str,
    settings: dict[str, Any],
) -> None:
    import bytewax.operators as op
    import bytewax.operators.windowing as win
    from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource
    from bytewax.dataflow import Dataflow
    from bytewax.run import cli_main

    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    flow = Dataflow("orders")
    source = KafkaSource([servers], [sources["orders"]], tail=False, batch_size=5_000)
    messages = op.input("in", flow, source)

    if query == "windows":

        def order(message: Any) -> tuple[Any, ...]:
            value = json.loads(message.value)
            time = datetime.fromisoformat(value["order_time"]).replace(tzinfo=UTC)
            return str(value["customer_id"]), (time, value["price"])

        keyed = op.map("order", messages, order)
        clock = win.EventClock(
            ts_getter=lambda value: value[0],
            wait_for_system_duration=timedelta(seconds=settings["wait_s"]),
        )
        windower = win.TumblingWindower(length=timedelta(minutes=1), align_to=epoch)
        closed = win.fold_window(
            "minutes", keyed, clock, windower,
            lambda: (0, 0.0),
            lambda state, value: (state[0] + 1, state[1] + value[1]),
            lambda one, other: (one[0] + other[0], one[1] + other[1]),
        )  # fmt: skip

        def result(row: tuple[Any, ...]) -> object:
            key, (window, (count, total)) = row
            start = epoch + timedelta(minutes=window)
            value = {
                "window_start": start.strftime("%Y-%m-%d %H:%M:%S"),
                "customer_id": int(key),
                "order_count": count,
                "sum_price": total,
            }
            return KafkaSinkMessage(None, json.dumps(value).encode())

        out = op.map("result", closed.down, result)
    else:
        out = op.map(
            "copy", messages,
            lambda message: KafkaSinkMessage(None, json.dumps(json.loads(message.value)).encode()),
        )  # fmt: skip
    op.output("out", out, KafkaSink([servers], target))
    cli_main(flow, workers_per_process=settings["workers"])


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
