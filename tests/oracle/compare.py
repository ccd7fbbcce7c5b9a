"""Is what the product wrote what it had to write? Answers with a diff that a person can read.

Outputs are equal as multisets of rows (as lists where the sink's order is promised). Timestamps
may be int microseconds, datetime or text; decimals are equal as numbers; doubles within 1e-12
relative. An empty reference proves nothing and is refused, unless the caller says it is right.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

from oracle.account import Counts, LedgerRow
from oracle.changes import DELETE, INSERT, OP, UPDATE_BEFORE
from oracle.decode import Column, MalformedError, micros
from oracle.query import Output

Canonical: TypeAlias = "tuple[Any, ...]"

LEDGER_FIELDS = ("table", "split", "offset", "event_time", "watermark", "lateness", "reason")
"""What of a ledger row is judged. The operator's name is only required to be there."""

_DOUBLE_RELATIVE = 1e-12
_ROWS_SHOWN = 5


class EmptyReferenceError(Exception):
    """The oracle expects no row at all: the test would pass on a product that does nothing."""


def diff_output(
    expected: Output, actual: Iterable[Mapping[str, Any]], *, allow_empty: bool = False
) -> str:
    """The empty text if ``actual`` is right; otherwise which rows are missing or too many."""
    if not expected.rows and not allow_empty:
        raise EmptyReferenceError("the expected output has no rows")
    names = [column.name for column in expected.columns]
    actual_rows = list(actual)
    for row in actual_rows:
        if sorted(row) != sorted(names):
            return f"columns differ: expected {sorted(names)}, a row has {sorted(row)}"
    wanted = [_canonical(row, expected.columns) for row in expected.rows]
    found = [_canonical(row, expected.columns) for row in actual_rows]
    diff = _diff_multisets(names, wanted, found)
    if diff or not expected.ordered:
        return diff
    for place, (want, got) in enumerate(zip(wanted, found, strict=True)):
        if not _same(want, got):
            shown = f"expected {_shown(names, want)}, found {_shown(names, got)}"
            return f"the order differs first at row {place}: {shown}"
    return ""


def diff_steps(expected: Output, changes: Iterable[Mapping[str, Any]]) -> str:
    """The same for the way to an output whose rows are shown before they are final (``steps``).

    Each row that ``changes`` bring is one that its group may have next; steps may be left out.
    """
    keys = [
        column
        for column in expected.columns
        if expected.steps and column.name in expected.steps[0][0]
    ]
    ahead = {
        _canonical(key, keys): [
            None if row is None else _canonical(row, expected.columns) for row in way
        ]
        for key, way in expected.steps
    }
    for change in changes:
        op = change.get(OP, INSERT)
        if not expected.steps or op == UPDATE_BEFORE:
            continue
        row = _canonical(change, expected.columns)
        way = ahead.get(_canonical(change, keys), [])
        steps = (
            place
            for place, step in enumerate(way)
            if (step is None) == (op == DELETE) and (step is None or _same(step, row))
        )
        place = next(steps, None)
        if place is None:
            return f"no result of a tick to come: {dict(change)}"
        del way[: place + 1]
    return ""


def diff_ledger(
    expected: Sequence[LedgerRow],
    actual: Iterable[Mapping[str, Any]],
    *,
    time_type: str | Mapping[str, str] = "BIGINT",
    allow_empty: bool = False,
) -> str:
    """The same for ledgers.

    ``time_type`` is the type of the watermark column, or one for each table: it says how texts in
    event_time and watermark are read. Integers are always taken in the column's unit.
    """
    if not expected and not allow_empty:
        raise EmptyReferenceError("the expected ledger has no rows")
    actual_rows = list(actual)
    for row in actual_rows:
        lacking = {*LEDGER_FIELDS, "operator"} - set(row)
        if lacking:
            return f"a ledger row lacks {sorted(lacking)}: {dict(row)}"
        if not row["operator"]:
            return f"a ledger row names no operator: {dict(row)}"
    return _diff_multisets(
        LEDGER_FIELDS,
        [_canonical_ledger(asdict(row), time_type) for row in expected],
        [_canonical_ledger(row, time_type) for row in actual_rows],
    )


def diff_counts(expected: Counts, actual: Mapping[str, Any] | Any) -> str:
    """The same for one account's counts; ``actual`` is a mapping or has the counts as attributes.

    Also demands that the actual counts balance.
    """
    found = {
        name: actual[name] if isinstance(actual, Mapping) else getattr(actual, name)
        for name in asdict(expected)
    }
    if found["read"] != sum(count for name, count in found.items() if name != "read"):
        return f"read is not used + filtered + late + quarantined: {found}"
    if found != asdict(expected):
        return f"counts differ: expected {asdict(expected)}, found {found}"
    return ""


def _canonical(row: Mapping[str, Any], columns: Sequence[Column]) -> Canonical:
    return tuple(_canonical_value(row[column.name], column) for column in columns)


def _canonical_value(value: Any, column: Column) -> Any:
    """A value that is equal to another exactly when SQL would call the two equal.

    A value that is not of the column's type becomes a text that says so: it equals nothing.
    """
    if value is None:
        return None
    try:
        if column.type.startswith("DECIMAL") or column.type in ("BIGINT", "INT"):
            return _canonical_number(value, column.type)
        match column.type:
            case "DOUBLE" if not isinstance(value, bool | str):
                return float(value)
            case "BOOLEAN" if isinstance(value, bool):
                return value
            case "VARCHAR" if isinstance(value, str):
                return value
            case "TIMESTAMP" | "TIMESTAMPTZ":
                return _canonical_time(value)
            case "STRUCT" if isinstance(value, Mapping):
                return _canonical(value, column.fields)
    except (MalformedError, InvalidOperation, KeyError, TypeError, ValueError):
        pass
    return f"<{value!r} is no {column.type}>"


def _canonical_number(value: Any, type_: str) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise TypeError
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not type_.startswith("DECIMAL") and (
        isinstance(value, float) or number != number.to_integral_value()
    ):
        raise TypeError
    return number


def _canonical_time(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError
    if isinstance(value, int):
        return value
    if isinstance(value, datetime):
        utc = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        return (utc - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return micros(value)


def _canonical_ledger(row: Mapping[str, Any], time_type: str | Mapping[str, str]) -> Canonical:
    type_ = time_type if isinstance(time_type, str) else time_type[row["table"]]
    types = {"event_time": type_, "watermark": type_, "offset": "BIGINT", "lateness": "BIGINT"}
    return tuple(
        _canonical_value(row[name], Column(name, types.get(name, "VARCHAR")))
        for name in LEDGER_FIELDS
    )


def _diff_multisets(names: Sequence[str], wanted: list[Canonical], found: list[Canonical]) -> str:
    missing = list((Counter(wanted) - Counter(found)).elements())
    extra = list((Counter(found) - Counter(wanted)).elements())
    missing, extra = _without_near_pairs(missing, extra)
    if not missing and not extra:
        return ""
    lines = [f"expected {len(wanted)} rows, found {len(found)}"]
    for title, rows in (("missing", missing), ("extra", extra)):
        if rows:
            lines.append(f"{title}: {len(rows)}")
            lines += [f"  {_shown(names, row)}" for row in sorted(rows, key=repr)[:_ROWS_SHOWN]]
    return "\n".join(lines)


def _without_near_pairs(
    missing: list[Canonical], extra: list[Canonical]
) -> tuple[list[Canonical], list[Canonical]]:
    """Takes out pairs that differ only in the last bits of doubles."""
    if not any(isinstance(value, float) for row in missing for value in row):
        return missing, extra
    near: dict[Canonical, list[Canonical]] = {}
    for row in extra:
        near.setdefault(_without_doubles(row), []).append(row)
    unmatched = []
    for row in missing:
        candidates = near.get(_without_doubles(row), [])
        match = next((other for other in candidates if _same(row, other)), None)
        if match is None:
            unmatched.append(row)
        else:
            candidates.remove(match)
    return unmatched, [row for rows in near.values() for row in rows]


def _without_doubles(row: Canonical) -> Canonical:
    return tuple("double" if isinstance(value, float) else value for value in row)


def _same(left: Canonical, right: Canonical) -> bool:
    return all(
        math.isclose(one, other, rel_tol=_DOUBLE_RELATIVE)
        if isinstance(one, float) and isinstance(other, float)
        else one == other
        for one, other in zip(left, right, strict=True)
    )


def _shown(names: Sequence[str], row: Canonical) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in zip(names, row, strict=True)) + "}"
