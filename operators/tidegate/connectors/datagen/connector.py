"""The `datagen` connector: orders are made."""

from __future__ import annotations

from tidegate.connectors.connector import Connector
from tidegate.connectors.datagen.orders import DatagenOptions, orders_of
from tidegate.connectors.generated import GeneratedPlanner, GeneratedReader

CONNECTOR = Connector(
    name="datagen",
    aliases={
        "rows": "number-of-rows",
        "datagen.split.num": "splits",
        "datagen.rows.per.second": "rows-per-second",
    },
    source=DatagenOptions,
    planner=lambda table, available_now: GeneratedPlanner(orders_of(table), available_now),
    reader=lambda table, engine: GeneratedReader(orders_of(table), engine),
    is_bounded=lambda table: orders_of(table).rows is not None,
)
