"""What a job sends over networks so that others may have it: told before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.connectors.locations import exposed_store
from tidegate.connectors.registry import connector_of
from tidegate.plan.tables import Table


def exposures(tables: Iterable[Table], checkpoint: str) -> list[str]:
    """A sentence for each password or token of ``tables``, and of the store of ``checkpoint``,
    that goes where TLS is off, or does not look at who answers; none of what stays on this machine.
    """
    named = [(table, line) for table in tables for line in connector_of(table).exposes(table)]
    found = [f"checkpoint: {line}" for line in exposed_store(checkpoint)]
    return list(dict.fromkeys([*found, *(f"table '{t.name}': {line}" for t, line in named)]))
