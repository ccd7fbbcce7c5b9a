"""Results that change, as the table in which they end (S5, S6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

OP = "__op"
INSERT, DELETE, UPDATE_BEFORE, UPDATE_AFTER = range(4)


class BrokenChangesError(Exception):
    """A change that does not follow from those before it."""


def ends_in(changes: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows that are there after all ``changes``; such as have no operation are just there.

    Raises BrokenChangesError for a row that is taken back and was not there, and for half an
    update.
    """
    rows: list[dict[str, Any]] = []
    half = False
    for change in changes:
        row = {name: value for name, value in change.items() if name != OP}
        op = change.get(OP, INSERT)
        if half != (op == UPDATE_AFTER):
            raise BrokenChangesError(f"half an update, then {dict(change)}")
        half = op == UPDATE_BEFORE
        if op in (INSERT, UPDATE_AFTER):
            rows.append(row)
            continue
        place = next((at for at, known in enumerate(rows) if _same(known, row)), None)
        if place is None:
            raise BrokenChangesError(f"taken back, and was not there: {dict(change)}")
        del rows[place]
    if half:
        raise BrokenChangesError("half an update at the end")
    return rows


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Equal to the last bit; NaN is NaN."""
    return repr(sorted(one.items())) == repr(sorted(other.items()))
