"""The partial columns of each aggregate, how they merge, and what they come to.

Call number i has the partial columns ``__p<i>_<part>``:

    count                       n                 BIGINT
    count/sum/avg DISTINCT      values            list of the distinct values, merged as a set
    sum, avg                    sum, n (avg)      exact for integers and DECIMAL, DOUBLE for floats
    sum, avg (wide)             high, low, part, n   see below
    min, max, bool_*, bit_*     value             the argument's type
    first/last_value, min/max_by   pick           STRUCT(v, o0…, s, f): value, order, split, offset
    median, mode, stddev, …     rows              list of the values
    array_agg, string_agg       rows              list of STRUCT(v, o0…, s, f)
    the same DISTINCT           values, null      list of the distinct values; is NULL one of them?

Where values stand in an order, that is the order of the call, then split, then offset (S6; read
from `SPLIT` and `OFFSET`), or, of rows that are of no split any more, the value. NULL is the
largest (S12), as it is in DuckDB's comparison of structs. Functions of all values get them in
ascending order, so that also their DOUBLE results are the same however partials met.

A sum that leaves 38 digits is NULL and does not kill the job: one row must not. DuckDB's SUM raises
on overflow, inside the aggregate where TRY does not reach. So arguments wide enough to get there
(HUGEINT, UHUGEINT, DECIMAL of more than 28 digits; others would need 10^10 rows of the largest
value) are summed in pieces that cannot overflow: the integer part divided by 10^18 (``high``), its
remainder (``low``), and the fraction (``part``; of more than 28 digits behind the point it is
summed as is). They are put together under TRY.

Of rows that may be taken back, an aggregate that is counts and exact sums has the difference of
those that came and went; a sum then has ``n`` too, since a difference of 0 may be that of no rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tidegate.plan.aggregate_types import sum_type
from tidegate.plan.aggregates import AggregateCall
from tidegate.plan.nodes import SortKey, quoted
from tidegate.types import OFFSET, OP, SPLIT, Column, Op, decimal_scale

_LIMB: Final = 10**18
_IS_TAKEN: Final = f"{quoted(OP)} IN ({int(Op.DELETE)}, {int(Op.UPDATE_BEFORE)})"


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


@dataclass(frozen=True, slots=True)
class Maker:
    """Writes the SQL of one call.

    ``argument`` is quoted, ``given`` its type; ``order`` are the call's keys with their types. With
    ``subtracts`` rows that are taken back count against the others, in counts and exact sums.
    """

    prefix: str
    call: AggregateCall
    argument: str
    given: str
    order: tuple[tuple[SortKey, str], ...] = ()
    subtracts: bool = False

    def _part(self, name: str, type_: str, partial: str, merge: str, condition: str = "") -> Part:
        """``partial`` is an aggregate's call; ``merge`` has ``{}`` for the column's name."""
        column = self.prefix + name
        conditions = [condition] * bool(condition)
        if self.call.where is not None:
            conditions.append(quoted(self.call.where))
        filtered = filtered_sql(partial, conditions)
        if self.subtracts:
            filtered = net_sql(partial, conditions)
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

    def sum(self) -> Phases:
        part = self._part("sum", sum_type(self.given), f"sum({self.argument})", "sum({})")
        return self._sum_or_avg((part,), quoted(part.column.name))

    def wide_sum(self) -> Phases:
        scale = decimal_scale(self.given) or 0
        kind = sum_type(self.given)
        whole = f"trunc({self.argument})" if scale else self.argument
        # Also for HUGEINT itself: Arrow carries it as DECIMAL(38,0), for which // is of DOUBLE.
        huge = "UHUGEINT" if self.given == "UHUGEINT" else "HUGEINT"
        integer, limb = f"CAST({whole} AS {huge})", f"{_LIMB}::{huge}"
        pieces = {"high": f"{integer} // {limb}", "low": f"{integer} % {limb}"}
        parts = [
            self._part(name, "DECIMAL(38,0)", f"sum(CAST({piece} AS HUGEINT))", "sum({})")
            for name, piece in pieces.items()
        ]
        high, low = (f"CAST({quoted(part.column.name)} AS HUGEINT)" for part in parts)
        total = f"CAST({high} * {_LIMB} + {low} AS {kind})"
        if scale:
            fraction = self._part("part", kind, f"sum({self.argument} - {whole})", "sum({})")
            parts.append(fraction)
            total = f"CAST({total} + {quoted(fraction.column.name)} AS {kind})"
        return self._sum_or_avg(tuple(parts), f"TRY({total})")

    def _sum_or_avg(self, parts: tuple[Part, ...], total: str) -> Phases:
        if self.call.function == "sum" and not self.subtracts:
            return Phases(parts, total)
        count = self._count_part()
        if self.call.function == "sum":  # of no values it is NULL, also where there were some
            return Phases(
                (*parts, count), f"CASE WHEN {quoted(count.column.name)} > 0 THEN {total} END"
            )
        return Phases(
            (*parts, count),
            f"CAST({total} AS DOUBLE) / nullif({quoted(count.column.name)}, 0)",
        )

    @property
    def _value(self) -> str:
        """The argument, with one zero: which of 0.0 and -0.0 comes first is chance."""
        is_float = self.given in ("DOUBLE", "FLOAT")
        return f"({self.argument} + CAST(0 AS {self.given}))" if is_float else self.argument

    def merged_again(self) -> Phases:
        function = self.call.function
        part = self._part("value", self.given, f"{function}({self._value})", f"{function}({{}})")
        return Phases((part,), quoted(part.column.name))

    def distinct(self) -> Phases:
        part = self._set()
        column = quoted(part.column.name)
        count = f"coalesce(len({column}), 0)"
        if self.call.function == "count":
            return Phases((part,), count)
        # Sorted: sums of doubles are then the same in every order of merging.
        total = f"TRY(CAST(list_sum(list_sort({column})) AS {sum_type(self.given)}))"
        if self.call.function == "sum":
            return Phases((part,), total)
        return Phases((part,), f"CAST({total} AS DOUBLE) / nullif({count}, 0)")

    def pick(self) -> Phases:
        fields = self._row_fields()
        keys = [*fields[1:], ("v", self.argument, self.given)]
        column = quoted(self.prefix + "pick")
        merged = ", ".join(f"{name} := {column}.{name}" for name, _, _ in keys)
        first = self.call.function in ("first_value", "min_by")
        choose = "arg_min" if first else "arg_max"
        condition = ""
        if self.call.function in ("min_by", "max_by"):
            condition = f"{fields[1][1]} IS NOT NULL"
        part = self._part(
            "pick",
            _struct_type(fields),
            f"{choose}({_packed(fields)}, {_packed(keys)})",
            f"{choose}({{0}}, struct_pack({merged})) FILTER (WHERE {{0}} IS NOT NULL)",
            condition,
        )
        return Phases((part,), f"{column}.v")

    def sorted_values(self) -> Phases:
        """The value of a function of all values, which it gets in ascending order."""
        call = self.call
        type_ = self.given if call.function in ("quantile_disc", "mode") else "DOUBLE"
        value = f"CAST({self._value} AS {type_})"
        part = self._list(f"list({value})", f"{type_}[]", f"{self.argument} IS NOT NULL")
        parameter = "" if call.parameter is None else f", {call.parameter}"
        listed = f"list_sort({quoted(part.column.name)})"
        return Phases((part,), f"TRY(list_aggregate({listed}, '{call.function}'{parameter}))")

    def ordered_list(self) -> Phases:
        fields = self._row_fields()
        keys = [f"e.o{n}, '{key.sql}'" for n, (key, _) in enumerate(self.order)]
        keys += [f"e.{name}, 'ASC NULLS LAST'" for name, _, _ in fields[1 + len(self.order) :]]
        is_text = self.call.function == "string_agg"
        condition = f"{self.argument} IS NOT NULL" if is_text else ""
        part = self._list(f"list({_packed(fields)})", f"{_struct_type(fields)}[]", condition)
        listed = quoted(part.column.name)
        # By a value that has the order in it, then by what is equal in all respects but that.
        keyed = f"k := create_sort_key({', '.join(keys)}), v := e.v" if keys else "v := e.v"
        listed = f"list_transform({listed}, lambda e: struct_pack({keyed}))"
        return self._as_list(part, f"list_transform(list_sort({listed}), lambda e: e.v)")

    def distinct_list(self) -> Phases:
        """The different values, ascending, NULL last."""
        part = self._set()
        listed = f"list_sort({quoted(part.column.name)})"
        if self.call.function == "string_agg":
            return self._as_list(part, listed)
        null = self._part("null", "BOOLEAN", f"bool_or({self.argument} IS NULL)", "bool_or({})")
        nulls = f"CASE WHEN {quoted(null.column.name)} THEN [NULL] END"
        both = f"list_concat({listed}, {nulls})"
        return Phases((part, null), f"CASE WHEN len({both}) > 0 THEN {both} END")

    def _as_list(self, part: Part, listed: str) -> Phases:
        if self.call.function == "string_agg":
            listed = f"list_aggregate({listed}, 'string_agg', {self.call.parameter})"
        return Phases((part,), listed)

    def _set(self) -> Part:
        """The different values that are not NULL."""
        column = quoted(self.prefix + "values")
        condition = f"{self.argument} IS NOT NULL"
        if self.call.where is not None:
            condition += f" AND {quoted(self.call.where)}"
        return Part(
            Column(self.prefix + "values", f"{self.given}[]"),
            f"list(DISTINCT {self._value}) FILTER (WHERE {condition})",
            f"list_distinct(flatten(list({column}) FILTER (WHERE {column} IS NOT NULL)))",
        )

    def _list(self, partial: str, type_: str, condition: str) -> Part:
        merge = "flatten(list({0}) FILTER (WHERE {0} IS NOT NULL))"
        return self._part("rows", type_, partial, merge, condition)

    def _row_fields(self) -> list[tuple[str, str, str]]:
        """A row's value, and what orders it: (name, SQL, type)."""
        fields = [("v", self.argument, self.given)]
        fields += [(f"o{n}", quoted(key.column), t) for n, (key, t) in enumerate(self.order)]
        if self.call.by_source:
            fields += [("s", quoted(SPLIT), "VARCHAR"), ("f", quoted(OFFSET), "BIGINT")]
        return fields


def filtered_sql(call: str, conditions: Sequence[str]) -> str:
    """The aggregate ``call`` of the rows for which all ``conditions`` hold."""
    return f"{call} FILTER (WHERE {' AND '.join(conditions)})" if conditions else call


def net_sql(call: str, conditions: Sequence[str]) -> str:
    """The same, a number, of the rows that came, less that of those that are taken back."""
    came, went = (
        f"coalesce({filtered_sql(call, [*conditions, each])}, 0)"
        for each in (f"NOT {_IS_TAKEN}", _IS_TAKEN)
    )
    return f"{came} - {went}"


def _packed(fields: list[tuple[str, str, str]]) -> str:
    return f"struct_pack({', '.join(f'{name} := {sql}' for name, sql, _ in fields)})"


def _struct_type(fields: list[tuple[str, str, str]]) -> str:
    return f"STRUCT({', '.join(f'{name} {type_}' for name, _, type_ in fields)})"
