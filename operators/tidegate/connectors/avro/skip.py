"""One datum at a time: where its parts begin and end, nothing of what they are.

Lockstep (`connectors.avro.cursor`) costs the same for one row as for a thousand. So where few rows
are left, in collections much longer than those of the others or deep inside of a record that
contains itself, the way is found by this plain loop. It counts bytes; the values it passes are
read in lockstep, or not at all.
"""

from __future__ import annotations

from typing import Final

from tidegate.connectors.avro.schema import (
    KEY,
    Entries,
    Items,
    Leaf,
    Node,
    Record,
    Union,
    bytes_min,
)

DEPTH_MAX: Final = 64
"""How many records, arrays and maps may be inside of one another; what is deeper is malformed."""


class Broken(Exception):  # noqa: N818 -- a verdict on a datum, not an error of ours
    """The bytes are no datum of their schema."""


def parts_of(collection: Items | Entries) -> tuple[Node, ...]:
    """What each item consists of."""
    return (collection.items,) if isinstance(collection, Items) else (KEY, collection.values)


def count_max(parts: tuple[Node, ...], room: int) -> int:
    """How many items there can be in ``room`` bytes.

    Items without bytes (``null``) count as one each: any number of them would cost the writer
    nothing, and us memory.
    """
    return room // item_bytes(parts)


def item_bytes(parts: tuple[Node, ...]) -> int:
    """The fewest bytes of an item, as `count_max` counts."""
    return max(1, sum(bytes_min(part) for part in parts))


def skip(node: Node, data: memoryview, pos: int, end: int, depth: int = 0) -> int:
    """The position behind the value of ``node`` at ``pos``. Raises Broken."""
    if depth > DEPTH_MAX:
        raise Broken
    match node:
        case Leaf():
            pos = _skip_leaf(node, data, pos, end)
        case Record(fields=fields):
            for _, child in fields:
                pos = skip(child, data, pos, end, depth + 1)
        case Union(branches=branches):
            index, pos = varint(data, pos, end)
            if not 0 <= index < len(branches):
                raise Broken
            pos = skip(branches[index], data, pos, end, depth)
        case Items() | Entries():
            _, pos = items_of(node, 0, data, pos, end, depth)
    return pos


def items_of(
    collection: Items | Entries, left: int, data: memoryview, pos: int, end: int, depth: int
) -> tuple[list[int], int]:
    """Where the items of a collection begin, of which ``left`` are left in the block at ``pos``.

    Gives the position behind the collection too. Raises Broken.
    """
    parts = parts_of(collection)
    starts: list[int] = []
    while True:
        for _ in range(left):
            starts.append(pos)
            for part in parts:
                pos = skip(part, data, pos, end, depth + 1)
        left, pos = varint(data, pos, end)
        if left == 0:
            return starts, pos
        if left < 0:
            left = -left
            _, pos = varint(data, pos, end)
        if left > count_max(parts, end - pos):
            raise Broken


def _skip_leaf(leaf: Leaf, data: memoryview, pos: int, end: int) -> int:
    match leaf.form:
        case "null":
            return pos
        case "int" | "long" | "enum":
            value, pos = varint(data, pos, end)
            if leaf.form == "int" and not -(2**31) <= value < 2**31:
                raise Broken
            if leaf.form == "enum" and not 0 <= value < len(leaf.symbols):
                raise Broken
        case "bytes" | "string":
            size, pos = varint(data, pos, end)
            if size < 0:
                raise Broken
            pos += size
        case "boolean":
            pos += 1
            if pos <= end and data[pos - 1] > 1:
                raise Broken
        case _:
            pos += bytes_min(leaf)
    if pos > end:
        raise Broken
    return pos


def varint(data: memoryview, pos: int, end: int) -> tuple[int, int]:
    """The int or long at ``pos``, and the position behind it. Raises Broken."""
    bits = shift = 0
    while pos < end:
        byte = data[pos]
        pos += 1
        bits |= (byte & 0x7F) << shift
        if byte < 0x80:
            if bits >= 2**64:
                break
            return (bits >> 1) ^ -(bits & 1), pos
        shift += 7
        if shift > 63:
            break
    raise Broken
