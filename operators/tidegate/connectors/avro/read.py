"""Datums of one writer's schema to Arrow arrays of the declared types, all rows in lockstep.

Fields are found by name: one that the writer does not have is NULL, one that is not declared is
passed over. Of the branches of a union each row takes its own, so a column may come from several
types. What cannot fit makes only those rows bad that have a value there, and so does a map in which
two keys are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.connectors.avro.cursor import Cursor, Ints
from tidegate.connectors.avro.leaf import read_leaf, skip_leaf
from tidegate.connectors.avro.schema import KEY, Entries, Items, Leaf, Node, Record, Union
from tidegate.connectors.avro.skip import (
    DEPTH_MAX,
    Broken,
    item_bytes,
    items_of,
    parts_of,
    skip,
)
from tidegate.connectors.avro.target import Target
from tidegate.connectors.formats.json_texts import repeated
from tidegate.engine.engine import Engine

FEW_ROWS: Final = 64
LOCKSTEP_ITEMS: Final = 64
"""After so many items, and with fewer rows, the rest of a collection is found one by one."""
FEW_PASSED: Final = 16
"""So few values of records, unions and collections are passed over one by one."""


def read(node: Node, target: Target, cursor: Cursor, engine: Engine) -> pa.Array:
    """The values of ``node`` as ``target``'s type; rows with one that does not fit become bad."""
    if cursor.depth > DEPTH_MAX:
        return _misfit(target, cursor)
    match node:
        case Leaf():
            return read_leaf(node, target, cursor, engine)
        case Union():
            return _read_union(node, target, cursor, engine)
        case Record() if target.kind is None:
            return _read_record(node, target, cursor, engine)
        case Items() if target.is_list:
            return _read_items(node, target, cursor, engine)
        case Entries() if target.is_map:
            return _read_entries(node, target, cursor, engine)
        case _:
            pass_over(node, cursor)
            return _misfit(target, cursor)


def _misfit(target: Target, cursor: Cursor) -> pa.Array:
    cursor.fail(np.ones(len(cursor), np.bool_))
    return pa.nulls(len(cursor), target.arrow)


def _read_record(node: Record, target: Target, cursor: Cursor, engine: Engine) -> pa.Array:
    wanted = dict(target.below)
    found: dict[str, pa.Array] = {}
    cursor.depth += 1
    for name, child in node.fields:
        if name in wanted:
            found[name] = read(child, wanted[name], cursor, engine)
        else:
            pass_over(child, cursor)
    cursor.depth -= 1
    columns = [
        found[name] if name in found else pa.nulls(len(cursor), child.arrow)
        for name, child in target.below
    ]
    if not columns:
        return pa.array([{}] * len(cursor), target.arrow)
    return pa.StructArray.from_arrays(columns, fields=list(target.arrow))


def _branches(node: Union, cursor: Cursor) -> list[tuple[Node, Ints]]:
    """The branches that occur, each with the rows that take it."""
    index = cursor.varint()
    wrong = (index < 0) | (index >= len(node.branches))
    if wrong.any():
        cursor.fail(wrong)
        index[wrong] = -1
    chosen = ((branch, np.flatnonzero(index == k)) for k, branch in enumerate(node.branches))
    return [(branch, rows) for branch, rows in chosen if len(rows)]


def _read_union(node: Union, target: Target, cursor: Cursor, engine: Engine) -> pa.Array:
    parts: list[pa.Array] = []
    places = np.full(len(cursor), -1, np.int64)
    count = 0
    for branch, rows in _branches(node, cursor):
        if len(rows) == len(cursor):
            return read(branch, target, cursor, engine)
        if branch == Leaf("null"):
            continue
        part = cursor.select(rows)
        parts.append(read(branch, target, part, engine))
        cursor.put(rows, part)
        places[rows] = np.arange(count, count + len(rows))
        count += len(rows)
    if not parts:
        return pa.nulls(len(cursor), target.arrow)
    return pa.concat_arrays(parts).take(pa.array(places, mask=places < 0))


def _read_items(node: Items, target: Target, cursor: Cursor, engine: Engine) -> pa.Array:
    element = target.below[0][1]
    found: list[pa.Array] = []
    owners = _walk(node, cursor, lambda part: found.append(read(node.items, element, part, engine)))
    order = np.argsort(owners, kind="stable")
    values = pa.concat_arrays(found or [pa.nulls(0, element.arrow)]).take(pa.array(order))
    return pa.ListArray.from_arrays(_offsets(owners, len(cursor)), values, type=target.arrow)


def _read_entries(node: Entries, target: Target, cursor: Cursor, engine: Engine) -> pa.Array:
    (_, key), (_, value) = target.below
    keys: list[pa.Array] = []
    values: list[pa.Array] = []

    def take(part: Cursor) -> None:
        keys.append(read_leaf(KEY, key, part, engine))
        values.append(read(node.values, value, part, engine))

    owners = _walk(node, cursor, take)
    all_keys = pa.concat_arrays(keys or [pa.nulls(0, key.arrow)])
    all_values = pa.concat_arrays(values or [pa.nulls(0, value.arrow)])
    order = np.argsort(owners, kind="stable")
    if all_keys.null_count:  # which did not fit
        order = order[all_keys.is_valid().to_numpy(zero_copy_only=False)[order]]
    chosen, offsets = pa.array(order), _offsets(owners[order], len(cursor))
    own_keys = all_keys.take(chosen)
    twice = repeated(own_keys, offsets, engine)
    if twice is not None:
        cursor.fail(twice)
    return pa.MapArray.from_arrays(offsets, own_keys, all_values.take(chosen), type=target.arrow)


def _offsets(owners: Ints, count: int) -> pa.Array:
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(owners, minlength=count), out=offsets[1:])
    return pa.array(offsets)


def _walk(node: Items | Entries, cursor: Cursor, take: Callable[[Cursor], None]) -> Ints:
    """Calls ``take`` at every item; gives the row (of ``cursor``) of each, in the order of calls.

    One call is for one item of each row that has as many. When few rows are left, the rest of
    their items is found one by one, and one call is for all of them.
    """
    least = item_bytes(parts_of(node))
    owners: list[Ints] = [np.empty(0, np.int64)]
    left = np.zeros(len(cursor), np.int64)
    active = np.arange(len(cursor))
    rounds = 0
    while len(active):
        fresh = active[left[active] == 0]
        if len(fresh):
            part = cursor.select(fresh)
            left[fresh] = _block(part, least)
            cursor.put(fresh, part)
            active = active[left[active] > 0]
        elif len(active) < FEW_ROWS and rounds >= LOCKSTEP_ITEMS:
            owners += _one_by_one(node, cursor, active, left, take)
            break
        else:
            part = cursor.select(active)
            part.depth += 1
            take(part)
            cursor.put(active, part)
            owners.append(active)
            left[active] -= 1
            rounds += 1
            spent = part.exhausted()
            if spent.any():  # bad, or at the end of the data without the collection's end
                part.fail(spent)
                cursor.put(active, part)
                active = active[~spent]
    return np.concatenate(owners)


def _block(cursor: Cursor, least: int) -> Ints:
    """How many items the next block of each row has; 0: the collection ends."""
    count = cursor.varint()
    sized = np.flatnonzero(count < 0)
    if len(sized):
        part = cursor.select(sized)
        part.varint()  # the bytes of the block, for readers that jump
        cursor.put(sized, part)
        count = np.abs(count)
    wrong = (count < 0) | (count > np.maximum(cursor.end - cursor.pos, 0) // least)
    if wrong.any():
        cursor.fail(wrong)
        count = np.where(wrong, 0, count)
    return count


def _one_by_one(
    node: Items | Entries,
    cursor: Cursor,
    active: Ints,
    left: Ints,
    take: Callable[[Cursor], None],
) -> list[Ints]:
    data = memoryview(cursor.datums.data)  # type: ignore[arg-type]
    owners: list[Ints] = []
    places: list[Ints] = []
    broken = np.zeros(len(cursor), np.bool_)
    for row in active.tolist():
        at, end = int(cursor.pos[row]), int(cursor.end[row])
        try:
            starts, pos = items_of(node, int(left[row]), data, at, end, cursor.depth)
        except Broken:
            broken[row] = True
            continue
        cursor.pos[row] = pos
        places.append(np.array(starts, np.int64))
        owners.append(np.full(len(starts), row))
    cursor.fail(broken)
    if places:
        rows = np.concatenate(owners)
        part = Cursor(
            cursor.datums,
            np.concatenate(places),
            cursor.end[rows],
            cursor.rows[rows],
            cursor.depth + 1,
        )
        take(part)
    return owners


def pass_over(node: Node, cursor: Cursor) -> None:
    """Moves behind the values of ``node``; their bytes must be possible ones."""
    if len(cursor) <= FEW_PASSED and not isinstance(node, Leaf):
        _pass_one_by_one(node, cursor)
    elif cursor.depth > DEPTH_MAX:
        cursor.fail(np.ones(len(cursor), np.bool_))
    else:
        match node:
            case Leaf():
                skip_leaf(node, cursor)
            case Record():
                cursor.depth += 1
                for _, child in node.fields:
                    pass_over(child, cursor)
                cursor.depth -= 1
            case Union():
                for branch, rows in _branches(node, cursor):
                    part = cursor.select(rows)
                    pass_over(branch, part)
                    cursor.put(rows, part)
            case Items() | Entries():
                _walk(node, cursor, lambda part: _pass_parts(node, part))


def _pass_parts(node: Items | Entries, cursor: Cursor) -> None:
    for part in parts_of(node):
        pass_over(part, cursor)


def _pass_one_by_one(node: Node, cursor: Cursor) -> None:
    data = memoryview(cursor.datums.data)  # type: ignore[arg-type]
    broken = np.zeros(len(cursor), np.bool_)
    for row in range(len(cursor)):
        at, end = int(cursor.pos[row]), int(cursor.end[row])
        try:
            cursor.pos[row] = skip(node, data, at, end, cursor.depth)
        except Broken:
            broken[row] = True
    cursor.fail(broken)
