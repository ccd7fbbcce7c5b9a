"""The `nexmark` connector: persons, auctions and bids are made."""

from __future__ import annotations

from tidegate.connectors.connector import Connector
from tidegate.connectors.generated import GeneratedPlanner, GeneratedReader
from tidegate.connectors.nexmark.events import NexmarkOptions, check_nexmark, nexmark_of

CONNECTOR = Connector(
    name="nexmark",
    aliases={"rows": "number-of-rows", "nexmark.split.num": "splits"},
    source=NexmarkOptions,
    planner=lambda table, available_now: GeneratedPlanner(nexmark_of(table), available_now),
    reader=lambda table, engine: GeneratedReader(nexmark_of(table), engine),
    is_bounded=lambda table: nexmark_of(table).rows is not None,
    check=lambda table, _: check_nexmark(table),
)
