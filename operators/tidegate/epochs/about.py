"""What ``job.json`` says of a job to those who read a checkpoint without its SQL file.

    {"tables":  {table: {"connector", "format", "options": [[name, value], …],
                         "columns": [[name, type], …], "key": [name, …]}},
     "filters": {id: {"table", "account", "column", "type", "unit_us", "strategy"}},
     "sinks":   {number: table},
     "closing": {fragment: {operator: type of the key by which its windows close}}}

``columns`` are those of a record's value, ``key`` those that its key alone has. Options are as in
the file: secrets in them are references.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.connectors.registry import columns_of_key_alone
from tidegate.epochs.targets import sink_tables
from tidegate.plan.fragments import Plan
from tidegate.plan.nodes import Node, Table
from tidegate.plan.physical import FinalAggregate
from tidegate.types import Column, column_named


def about(plan: Plan) -> dict[str, Any]:
    """The document of a plan."""
    tables = plan.accounts()
    return {
        "tables": {
            table.name: {
                "connector": table.connector,
                "format": table.format,
                "options": [list(pair) for pair in table.options],
                "columns": [
                    [column.name, column.type]
                    for column in table.columns
                    if column.name not in (*dict(table.metadata), *columns_of_key_alone(table))
                ],
                "key": list(columns_of_key_alone(table)),
            }
            for table in plan.tables
        },
        "filters": {
            node.id: {
                "table": tables[node.account],
                "account": node.account,
                "column": node.column,
                "type": column_named(node.schema, node.column).type,
                "unit_us": node.unit_us,
                "strategy": node.strategy.text,
            }
            for node in plan.declared_filters()
        },
        "sinks": {str(number): table.name for number, table in sink_tables(plan.job).items()},
        "closing": {
            str(number): {
                type(node).__name__: kind
                for node in fragment.nodes
                if (kind := closing_type(node)) is not None
            }
            for number, fragment in enumerate(plan.fragments)
        },
    }


def closing_type(node: Node) -> str | None:
    """The type of the key by which an operator's groups close; None for other operators.

    And for one with early results: half of its buckets are ticks, of which nobody can tell.
    """
    if not isinstance(node, FinalAggregate) or not node.aggregate.closing_key:
        return None
    if node.aggregate.early is not None:
        return None
    return column_named(node.aggregate.schema, node.aggregate.closing_key).type


def tables_of(document: Mapping[str, Any]) -> dict[str, Table]:
    """The source tables, with the columns that are decoded."""
    return {
        name: Table(
            name,
            tuple(Column(column, type_) for column, type_ in table["columns"]),
            table["connector"],
            table["format"],
            tuple((key, value) for key, value in table["options"]),
        )
        for name, table in document.get("tables", {}).items()
    }
