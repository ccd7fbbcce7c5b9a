"""What ``job.json`` says of a job to those who read a checkpoint without its SQL file.

Releases before this one have said less; what is missing is empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import starmap

from tidegate.connectors.registry import connector_of
from tidegate.epochs.targets import sink_tables
from tidegate.plan.fragments import Plan
from tidegate.plan.nodes import Node
from tidegate.plan.physical import FinalAggregate
from tidegate.plan.tables import Table
from tidegate.types import Column, column_named

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AboutTable:
    """A source table. ``columns``, with their types, are those of a record's value, ``key`` those
    that its key alone has. Options are as in the file: secrets in them are references."""

    connector: str
    format: str
    options: Pairs
    columns: Pairs = ()
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AboutFilter:
    """A watermark filter: what it is declared on, and how."""

    table: str
    account: str
    column: str
    type: str
    unit_us: int
    strategy: str


@dataclass(frozen=True, slots=True)
class About:
    """``filters`` by id; ``sinks``: the table of each target; ``closing``, by fragment and
    operator: the type of the key by which its windows close."""

    tables: Mapping[str, AboutTable] = field(default_factory=dict)
    filters: Mapping[str, AboutFilter] = field(default_factory=dict)
    sinks: Mapping[int, str] = field(default_factory=dict)
    closing: Mapping[int, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan) -> About:
        """What is to be said of a plan."""
        tables = plan.accounts()
        return cls(
            {table.name: _table(table) for table in plan.tables},
            {
                node.id: AboutFilter(
                    tables[node.account],
                    node.account,
                    node.column,
                    column_named(node.schema, node.column).type,
                    node.unit_us,
                    node.strategy.text,
                )
                for node in plan.declared_filters()
            },
            {number: table.name for number, table in sink_tables(plan.job).items()},
            {
                number: {
                    type(node).__name__: kind
                    for node in fragment.nodes
                    if (kind := closing_type(node)) is not None
                }
                for number, fragment in enumerate(plan.fragments)
            },
        )

    def source_tables(self) -> dict[str, Table]:
        """The source tables, with the columns that are decoded."""
        return {
            name: Table(name, tuple(starmap(Column, t.columns)), t.connector, t.format, t.options)
            for name, t in self.tables.items()
        }


def _table(table: Table) -> AboutTable:
    keys = connector_of(table).columns_of_key_alone(table)
    others = {*dict(table.metadata), *keys}
    columns = tuple((c.name, c.type) for c in table.columns if c.name not in others)
    return AboutTable(table.connector, table.format, table.options, columns, tuple(keys))


def closing_type(node: Node) -> str | None:
    """The type of the key by which an operator's groups close; None for other operators.

    And for one with early results: half of its buckets are ticks, of which nobody can tell.
    """
    if not isinstance(node, FinalAggregate) or not node.aggregate.closing_key:
        return None
    if node.aggregate.early is not None:
        return None
    return column_named(node.aggregate.schema, node.aggregate.closing_key).type
