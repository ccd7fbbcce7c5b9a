"""The catalogue of aggregates: each as partial, merge and final SQL.

An aggregation runs in two phases around an exchange. A *partial* is what some rows of a group
contribute, one row of partial columns; partials of a group merge into one (associative and
commutative, so that state can be compacted at any time); the *final* expression turns the merged
partial into the result. Which columns a partial has is in `aggregate_parts`, the results' types are
in `aggregate_types`.

Integer and DECIMAL results are equal to the digit in any order of addition; DOUBLE sums and
averages are not (S6). NULL arguments do not count, but for ``count(*)``, and for FIRST_VALUE,
LAST_VALUE, MIN_BY, MAX_BY and ARRAY_AGG, which respect them.
"""

from __future__ import annotations

from typing import Final

from tidegate.executor.aggregation.aggregate_parts import Maker, Part, Phases, net_sql
from tidegate.plan.aggregate_types import LISTS, PICKS, SORTED, is_wide, result_type
from tidegate.plan.aggregates import Aggregate, AggregateCall
from tidegate.plan.nodes import quoted
from tidegate.types import OFFSET, OP, SPLIT, Column, Schema, column_named

_ROWS: Final = Part(Column("__rows", "BIGINT"), net_sql("count(*)", ()), 'sum("__rows")')
"""How many rows a group has, of an aggregate that ``subtracts``."""


def partial_schema(node: Aggregate) -> Schema:
    """The keys, then all partial columns: the schema between the two phases."""
    keys = tuple(node.input.column_of(key) for key in node.keys)
    return keys + tuple(part.column for part in _all_parts(node))


def partial_input(node: Aggregate) -> tuple[str, ...]:
    """The columns of the input that `partial_sql` reads."""
    names = dict.fromkeys(node.keys)
    for call in node.calls:
        names |= dict.fromkeys(call.columns)
        if call.by_source:
            names |= dict.fromkeys((SPLIT, OFFSET))
    if node.subtracts:
        names[OP] = None
    return tuple(names) or (node.input.schema[0].name,)  # rows without a column are not counted


def partial_sql(node: Aggregate, table: str, *, whole: bool = False) -> str:
    """Rows of the input in ``table`` to one partial per group; of no rows, if they are the
    ``whole`` and there are no keys, to one, too."""
    parts = _all_parts(node)
    keys = [_one_zero(node.input.column_of(key)) for key in node.keys]
    return _grouped(node, keys, [(part.partial, part.column.name) for part in parts], table, whole)


def merge_sql(node: Aggregate, table: str) -> str:
    """Partials in ``table`` to one partial per group. Associative."""
    parts = _all_parts(node)
    keys = [quoted(key) for key in node.keys]
    return _grouped(node, keys, [(part.merge, part.column.name) for part in parts], table)


def final_sql(node: Aggregate, table: str) -> str:
    """Partials in ``table`` to the results, ordered by the closing key, then the other keys."""
    keys = [quoted(key) for key in node.keys]
    results = [
        f"CAST({phase.final} AS {call.output.type}) AS {quoted(call.output.name)}"
        for call, phase in zip(node.calls, _all_phases(node), strict=True)
    ]
    order = ", ".join(f"{quoted(key)} NULLS LAST" for key in node.ordered_keys)
    ordered = f" ORDER BY {order}" if order else ""
    there = f" WHERE {has_rows(node)}" if node.subtracts and keys else ""
    return f"SELECT {', '.join(keys + results)} FROM ({merge_sql(node, table)}){there}{ordered}"


def has_rows(node: Aggregate) -> str:
    """Of a partial: whether its group has rows. Groups of one that ``subtracts`` may lose all."""
    return f"{quoted(_ROWS.column.name)} > 0" if node.subtracts else "true"


def _one_zero(key: Column) -> str:
    """The key as a result shows it.

    0.0 and -0.0 are equal, so they are one group; which of the two it had first is chance.
    """
    name = quoted(key.name)
    return f"{name} + CAST(0 AS {key.type}) AS {name}" if key.type in ("DOUBLE", "FLOAT") else name


def _grouped(
    node: Aggregate,
    keys: list[str],
    outputs: list[tuple[str, str]],
    table: str,
    whole: bool = False,
) -> str:
    selected = keys + [f"{sql} AS {quoted(name)}" for sql, name in outputs]
    # Without keys SQL makes a group of no rows too.
    no_keys = "()" if whole else "() HAVING count(*) > 0"
    grouping = ", ".join(quoted(key) for key in node.keys) or no_keys
    return f"SELECT {', '.join(selected)} FROM {table} GROUP BY {grouping}"


def _all_phases(node: Aggregate) -> list[Phases]:
    schema, subtracts = node.input.schema, node.subtracts
    return [phases(number, call, schema, subtracts) for number, call in enumerate(node.calls)]


def _all_parts(node: Aggregate) -> list[Part]:
    parts = [part for phase in _all_phases(node) for part in phase.parts]
    return [*parts, _ROWS] if node.subtracts else parts


def phases(index: int, call: AggregateCall, schema: Schema, subtracts: bool = False) -> Phases:
    """Call number ``index`` over rows of ``schema``."""
    given = None if call.argument is None else column_named(schema, call.argument).type
    result_type(call.function, given, call.distinct)
    order = tuple((key, column_named(schema, key.column).type) for key in call.order)
    argument = "" if call.argument is None else quoted(call.argument)
    maker = Maker(f"__p{index}_", call, argument, given or "", order, subtracts)
    match call.function:
        case "count" | "sum" | "avg" if call.distinct:
            return maker.distinct()
        case "count":
            return maker.count()
        case "sum" | "avg":
            return maker.wide_sum() if is_wide(maker.given) else maker.sum()
        case function if function in PICKS:
            return maker.pick()
        case function if function in SORTED:
            return maker.sorted_values()
        case function if function in LISTS:
            return maker.distinct_list() if call.distinct else maker.ordered_list()
    return maker.merged_again()
