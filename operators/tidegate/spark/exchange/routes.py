"""Routes: the integers by which Spark groups messages, chosen so that they land evenly.

A route stands for a vnode of any fragment: one Spark key serves all fragments of a depth, because
every key costs Spark about a millisecond in every epoch. Spark places a key by its hash (Murmur3,
seed 42), which puts small integers unevenly on partitions; so the route of vnode v is the smallest
integer whose hash is v modulo the number of vnodes. For every number of partitions that divides it
each partition gets equally many vnodes. Routes don't depend on the number of partitions, so state
that is keyed by them can be repartitioned.
"""

from __future__ import annotations

from functools import cache

_MASK = 0xFFFFFFFF


def spark_hash(value: int) -> int:
    """Spark's hash of an ``int`` column: Murmur3_x86_32 with seed 42, as a signed integer."""
    mixed = (value & _MASK) * 0xCC9E2D51 & _MASK
    mixed = (mixed << 15 | mixed >> 17) & _MASK
    state = 42 ^ (mixed * 0x1B873593 & _MASK)
    state = (state << 13 | state >> 19) & _MASK
    state = (state * 5 + 0xE6546B64 & _MASK) ^ 4
    state = (state ^ state >> 16) * 0x85EBCA6B & _MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & _MASK
    state ^= state >> 16
    return state - (1 << 32) if state >= 1 << 31 else state


@cache
def routes(vnodes: int) -> tuple[int, ...]:
    """The route of each vnode."""
    found: dict[int, int] = {}
    candidate = 0
    while len(found) < vnodes:
        found.setdefault(spark_hash(candidate) % vnodes, candidate)
        candidate += 1
    return tuple(found[vnode] for vnode in range(vnodes))
