"""The aggregates that there are, and the types of their results.

COUNT is BIGINT; SUM of integers DECIMAL(38,0), of DECIMAL(p,s) DECIMAL(38,s), of FLOAT and DOUBLE
DOUBLE; AVG, MEDIAN, QUANTILE_CONT, the deviations and the variances are DOUBLE; STRING_AGG is text,
ARRAY_AGG a list of its argument's type; the others have their argument's type.
"""

from __future__ import annotations

from typing import Final

from tidegate.types import decimal_digits, decimal_scale

PICKS: Final = frozenset({"first_value", "last_value", "min_by", "max_by"})
"""One row's value: that of the first or last one in an order."""
MERGED_AGAIN: Final = frozenset(
    {"min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"}
)
"""The aggregate of partial results is the result."""
LISTS: Final = frozenset({"array_agg", "string_agg"})
"""All values in an order."""
MOMENTS: Final = frozenset({"stddev_samp", "stddev_pop", "var_samp", "var_pop"})
SORTED: Final = MOMENTS | {"median", "quantile_cont", "quantile_disc", "mode"}
"""Functions of all values, whatever their order."""
FUNCTIONS: Final = frozenset({"count", "sum", "avg"}) | PICKS | MERGED_AGAIN | LISTS | SORTED
"""The functions that `AggregateCall.function` may name."""
DISTINCT_FUNCTIONS: Final = frozenset({"count", "sum", "avg", "min", "max"}) | LISTS

_HUGE: Final = frozenset({"HUGEINT", "UHUGEINT"})
_INTEGERS: Final = frozenset(
    f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")
) | {"INTEGER", "UINTEGER"}
_FLOATS: Final = frozenset({"DOUBLE", "FLOAT"})
_PRECISION_SAFE: Final = 28


def result_type(function: str, argument_type: str | None, distinct: bool = False) -> str:
    """The type of an aggregate's result. Raises ValueError for what the catalogue has not."""
    if function not in FUNCTIONS or (distinct and function not in DISTINCT_FUNCTIONS):
        raise ValueError(f"no aggregate {function}{' distinct' if distinct else ''}")
    if function == "count":
        return "BIGINT"
    if argument_type is None:
        raise ValueError(f"{function} needs an argument")
    if function == "sum":
        return sum_type(argument_type, function)
    if function in MOMENTS | {"avg", "median", "quantile_cont"}:
        sum_type(argument_type, function)
        return "DOUBLE"
    if function in ("bool_and", "bool_or") and argument_type != "BOOLEAN":
        raise ValueError(f"{function} takes BOOLEAN, not {argument_type}")
    if function.startswith("bit_") and argument_type not in _INTEGERS - _HUGE:
        raise ValueError(f"{function} takes integers of up to 64 bits, not {argument_type}")
    if function == "array_agg":
        return f"{argument_type}[]"
    return "VARCHAR" if function == "string_agg" else argument_type


def sum_type(argument_type: str, function: str = "sum") -> str:
    """The type of a sum of such values. Raises ValueError for what is no number."""
    if argument_type in _FLOATS:
        return "DOUBLE"
    scale = 0 if argument_type in _INTEGERS else decimal_scale(argument_type)
    if scale is None:
        raise ValueError(f"{function} takes numbers, not {argument_type}")
    return f"DECIMAL(38,{scale})"


def is_wide(type_: str) -> bool:
    """Whether a sum of such values may leave 38 digits."""
    digits = decimal_digits(type_)
    return type_ in _HUGE or (digits is not None and digits[0] > _PRECISION_SAFE)
