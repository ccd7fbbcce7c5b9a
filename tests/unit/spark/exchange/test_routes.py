from __future__ import annotations

from collections import Counter

import pytest

from tidegate.spark.exchange.routes import routes, spark_hash


@pytest.mark.parametrize(
    ("value", "hashed"),  # SELECT hash(value) in Spark 4.2
    [(0, 933211791), (1, -559580957), (42, 29417773), (-1, -1604776387)],
)
def test_the_hash_is_sparks(value: int, hashed: int) -> None:
    assert spark_hash(value) == hashed


@pytest.mark.parametrize("vnodes", [1, 2, 8, 12, 256])
def test_routes_land_evenly(vnodes: int) -> None:
    found = routes(vnodes)
    assert len(set(found)) == vnodes
    for partitions in (p for p in range(1, vnodes + 1) if vnodes % p == 0):
        placed = Counter(spark_hash(route) % partitions for route in found)
        assert set(placed.values()) == {vnodes // partitions}


def test_routes_are_pinned() -> None:
    """State is stored under them: they may never change."""
    assert routes(8) == ROUTES_OF_8


ROUTES_OF_8 = (12, 6, 5, 1, 25, 15, 2, 0)
