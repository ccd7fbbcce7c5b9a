"""The catalogue of aggregates: each as partial, merge and final SQL.

An aggregation runs in two phases around an exchange. A *partial* is what some rows of a group
contribute, one row of partial columns; partials of a group merge into one (associative and
commutative, so that state can be compacted at any time); the *final* expression turns the merged
partial into the result. Call number i has partial columns ``__p<i>_<part>``:

    count                 n                 BIGINT
    count/sum/avg DISTINCT  values          list of the distinct values, merged as a set
    sum, avg              sum, n (avg)      exact for integers and DECIMAL, DOUBLE for floats
    sum, avg (wide)       high, low, part, n   see below
    min, max              value             the argument's type
    first/last_value      pick              STRUCT(v, o, s, f): value, order, split, offset
    bool_and, bool_or     value             BOOLEAN

Results (`result_type`): COUNT is BIGINT; SUM of integers DECIMAL(38,0), of DECIMAL(p,s)
DECIMAL(38,s), of FLOAT and DOUBLE DOUBLE; AVG is DOUBLE; the others have their argument's type.
Integer and DECIMAL results are equal to the digit in any order of addition; DOUBLE ones are not
(S6). NULL arguments do not count, but for ``count(*)`` and for FIRST_VALUE and LAST_VALUE, which
respect them.

FIRST_VALUE and LAST_VALUE choose by the ``order`` column, then split, then offset (S6); NULL is the
largest order (S12), as it is in DuckDB's comparison of structs. They read `SPLIT` and `OFFSET`.

A sum that leaves 38 digits is NULL and does not kill the job: one row must not. DuckDB's SUM raises
on overflow, inside the aggregate where TRY does not reach. So arguments wide enough to get there
(HUGEINT, UHUGEINT, DECIMAL of more than 28 digits; others would need 10^10 rows of the largest
value) are summed in pieces that cannot overflow: the integer part divided by 10^18 (``high``), its
remainder (``low``), and the fraction (``part``; of more than 28 digits behind the point it is
summed as is). They are put together under TRY.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from tidegate.plan.nodes import Aggregate, AggregateCall, quoted
from tidegate.types import OFFSET, SPLIT, Column, Schema, column_named, decimal_scale

FUNCTIONS: Final = frozenset(
    ["count", "sum", "min", "max", "avg", "first_value", "last_value", "bool_and", "bool_or"]
)
"""The functions that `AggregateCall.function` may name; count, sum, avg, min, max take DISTINCT."""

DISTINCT_FUNCTIONS: Final = frozenset(["count", "sum", "avg", "min", "max"])

_INTEGERS: Final = frozenset(
    f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")
) | {"INTEGER", "UINTEGER"}
_FLOATS: Final = frozenset(["DOUBLE", "FLOAT"])
_HUGE: Final = frozenset(["HUGEINT", "UHUGEINT"])
_DECIMAL: Final = re.compile(r"DECIMAL\((\d+),\s*\d+\)")
_PRECISION_SAFE = 28
_LIMB = 10**18


@dataclass(frozen=True, slots=True)
class Part:
    """One partial column: its type, how rows make it, how partials merge (over its own name)."""

    column: Column
    partial: str
    merge: str


@dataclass(frozen=True, slots=True)
class Phases:
    """An aggregate's partial columns, and the result as an expression over the merged ones."""

    parts: tuple[Part, ...]
    final: str


def result_type(function: str, argument_type: str | None, distinct: bool = False) -> str:
    """The type of an aggregate's result. Raises ValueError for what the catalogue has not."""
    if function not in FUNCTIONS or (distinct and function not in DISTINCT_FUNCTIONS):
        raise ValueError(f"no aggregate {function}{' distinct' if distinct else ''}")
    if function == "count":
        return "BIGINT"
    if argument_type is None:
        raise ValueError(f"{function} needs an argument")
    if function == "sum":
        return _sum_type(argument_type)
    if function == "avg":
        _sum_type(argument_type)
        return "DOUBLE"
    if function in ("bool_and", "bool_or") and argument_type != "BOOLEAN":
        raise ValueError(f"{function} takes BOOLEAN, not {argument_type}")
    return argument_type


def _sum_type(argument_type: str) -> str:
    if argument_type in _FLOATS:
        return "DOUBLE"
    scale = 0 if argument_type in _INTEGERS else decimal_scale(argument_type)
    if scale is None:
        raise ValueError(f"sum and avg take numbers, not {argument_type}")
    return f"DECIMAL(38,{scale})"


def partial_schema(node: Aggregate) -> Schema:
    """The keys, then all partial columns: the schema between the two phases."""
    keys = tuple(node.input.column_of(key) for key in node.keys)
    return keys + tuple(part.column for phase in _all_phases(node) for part in phase.parts)


def partial_input(node: Aggregate) -> tuple[str, ...]:
    """The columns of the input that `partial_sql` reads."""
    names = dict.fromkeys(node.keys)
    for call in node.calls:
        for name in (call.argument, call.where, call.order):
            if name is not None:
                names[name] = None
        if call.function in ("first_value", "last_value"):
            names |= dict.fromkeys((SPLIT, OFFSET))
    return tuple(names)


def partial_sql(node: Aggregate, table: str) -> str:
    """Rows of the input in ``table`` to one partial per group."""
    parts = [part for phase in _all_phases(node) for part in phase.parts]
    keys = [_one_zero(node.input.column_of(key)) for key in node.keys]
    return _grouped(node, keys, [(part.partial, part.column.name) for part in parts], table)


def merge_sql(node: Aggregate, table: str) -> str:
    """Partials in ``table`` to one partial per group. Associative."""
    parts = [part for phase in _all_phases(node) for part in phase.parts]
    keys = [quoted(key) for key in node.keys]
    return _grouped(node, keys, [(part.merge, part.column.name) for part in parts], table)


def final_sql(node: Aggregate, table: str) -> str:
    """Partials in ``table`` to the results, ordered by the closing key, then the other keys."""
    keys = [quoted(key) for key in node.keys]
    results = [
        f"CAST({phase.final} AS {call.output.type}) AS {quoted(call.output.name)}"
        for call, phase in zip(node.calls, _all_phases(node), strict=True)
    ]
    others = [key for key in node.keys if key != node.closing_key]
    order = ", ".join(f"{quoted(key)} NULLS LAST" for key in (node.closing_key, *others))
    return f"SELECT {', '.join(keys + results)} FROM ({merge_sql(node, table)}) ORDER BY {order}"


def _one_zero(key: Column) -> str:
    """The key as a result shows it.

    0.0 and -0.0 are equal, so they are one group; which of the two it had first is chance.
    """
    name = quoted(key.name)
    return f"{name} + CAST(0 AS {key.type}) AS {name}" if key.type in ("DOUBLE", "FLOAT") else name


def _grouped(node: Aggregate, keys: list[str], outputs: list[tuple[str, str]], table: str) -> str:
    selected = keys + [f"{sql} AS {quoted(name)}" for sql, name in outputs]
    grouping = ", ".join(quoted(key) for key in node.keys)
    return f"SELECT {', '.join(selected)} FROM {table} GROUP BY {grouping}"


def _all_phases(node: Aggregate) -> list[Phases]:
    return [phases(index, call, node.input.schema) for index, call in enumerate(node.calls)]


def phases(index: int, call: AggregateCall, schema: Schema) -> Phases:
    """Call number ``index`` over rows of ``schema``."""
    given = None if call.argument is None else column_named(schema, call.argument).type
    result_type(call.function, given, call.distinct)
    maker = _Maker(f"__p{index}_", call, "" if call.argument is None else quoted(call.argument))
    if call.function == "count" and not call.distinct:
        return maker.count()
    assert given is not None
    if call.distinct and call.function in ("count", "sum", "avg"):
        return maker.distinct(given)
    if call.function in ("sum", "avg"):
        return maker.wide_sum(given) if is_wide(given) else maker.sum(given)
    if call.function in ("first_value", "last_value"):
        order = None if call.order is None else column_named(schema, call.order)
        return maker.pick(given, order)
    return maker.extreme(given)


def is_wide(type_: str) -> bool:
    """Whether a sum of such values may leave 38 digits."""
    match = _DECIMAL.fullmatch(type_)
    return type_ in _HUGE or (match is not None and int(match[1]) > _PRECISION_SAFE)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Writes the SQL of one call; ``argument`` is quoted."""

    prefix: str
    call: AggregateCall
    argument: str

    def _part(self, name: str, type_: str, partial: str, merge: str) -> Part:
        """``partial`` is an aggregate's call; ``merge`` has ``{}`` for the column's name."""
        column = self.prefix + name
        filtered = partial
        if self.call.where is not None:
            filtered = f"{partial} FILTER (WHERE {quoted(self.call.where)})"
        return Part(
            Column(column, type_),
            f"CAST({filtered} AS {type_})",
            f"CAST({merge.format(quoted(column))} AS {type_})",
        )

    def _count_part(self) -> Part:
        return self._part("n", "BIGINT", f"count({self.argument or '*'})", "sum({})")

    def count(self) -> Phases:
        part = self._count_part()
        return Phases((part,), quoted(part.column.name))

    def sum(self, given: str) -> Phases:
        part = self._part("sum", _sum_type(given), f"sum({self.argument})", "sum({})")
        return self._sum_or_avg((part,), quoted(part.column.name))

    def wide_sum(self, given: str) -> Phases:
        scale = decimal_scale(given) or 0
        kind = _sum_type(given)
        whole = self.argument
        fraction: tuple[Part, ...] = ()
        pieces = f"CAST({quoted(self.prefix + 'high')} AS HUGEINT) * {_LIMB}"
        pieces += f" + CAST({quoted(self.prefix + 'low')} AS HUGEINT)"
        if scale:
            whole = f"trunc({self.argument})"
            rest = f"sum({self.argument} - {whole})"
            fraction = (self._part("part", kind, rest, "sum({})"),)
        # Also for HUGEINT itself: Arrow carries it as DECIMAL(38,0), for which // is of DOUBLE.
        huge = "UHUGEINT" if given == "UHUGEINT" else "HUGEINT"
        integer, limb = f"CAST({whole} AS {huge})", f"{_LIMB}::{huge}"
        parts = (
            self._part(
                "high", "DECIMAL(38,0)", f"sum(CAST({integer} // {limb} AS HUGEINT))", "sum({})"
            ),
            self._part(
                "low", "DECIMAL(38,0)", f"sum(CAST({integer} % {limb} AS HUGEINT))", "sum({})"
            ),
            *fraction,
        )
        total = f"CAST({pieces} AS {kind})"
        if fraction:
            total = f"CAST({total} + {quoted(fraction[0].column.name)} AS {kind})"
        return self._sum_or_avg(parts, f"TRY({total})")

    def _sum_or_avg(self, parts: tuple[Part, ...], total: str) -> Phases:
        if self.call.function == "sum":
            return Phases(parts, total)
        count = self._count_part()
        return Phases(
            (*parts, count),
            f"CAST({total} AS DOUBLE) / nullif({quoted(count.column.name)}, 0)",
        )

    def distinct(self, given: str) -> Phases:
        column = quoted(self.prefix + "values")
        condition = f"{self.argument} IS NOT NULL"
        if self.call.where is not None:
            condition += f" AND {quoted(self.call.where)}"
        part = Part(
            Column(self.prefix + "values", f"{given}[]"),
            f"list(DISTINCT {self.argument}) FILTER (WHERE {condition})",
            f"list_distinct(flatten(list({column}) FILTER (WHERE {column} IS NOT NULL)))",
        )
        count = f"coalesce(len({column}), 0)"
        if self.call.function == "count":
            return Phases((part,), count)
        # Sorted: sums of doubles are then the same in every order of merging.
        total = f"TRY(CAST(list_sum(list_sort({column})) AS {_sum_type(given)}))"
        if self.call.function == "sum":
            return Phases((part,), total)
        return Phases((part,), f"CAST({total} AS DOUBLE) / nullif({count}, 0)")

    def pick(self, given: str, order: Column | None) -> Phases:
        fields = [("v", self.argument, given), ("s", quoted(SPLIT), "VARCHAR")]
        fields.append(("f", quoted(OFFSET), "BIGINT"))
        if order is not None:
            fields.insert(1, ("o", quoted(order.name), order.type))
        kind = f"STRUCT({', '.join(f'{name} {type_}' for name, _, type_ in fields)})"
        row = ", ".join(f"{name} := {sql}" for name, sql, _ in fields)
        keys = ", ".join(f"{name} := {sql}" for name, sql, _ in fields[1:])
        choose = "arg_min" if self.call.function == "first_value" else "arg_max"
        column = quoted(self.prefix + "pick")
        merged = ", ".join(f"{name} := {column}.{name}" for name, _, _ in fields[1:])
        part = self._part(
            "pick",
            kind,
            f"{choose}(struct_pack({row}), struct_pack({keys}))",
            f"{choose}({{0}}, struct_pack({merged})) FILTER (WHERE {{0}} IS NOT NULL)",
        )
        return Phases((part,), f"{column}.v")

    def extreme(self, given: str) -> Phases:
        function = self.call.function
        part = self._part("value", given, f"{function}({self.argument})", f"{function}({{}})")
        return Phases((part,), quoted(part.column.name))
