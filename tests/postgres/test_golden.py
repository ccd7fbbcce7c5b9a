"""A checkpoint of 0.1 with tables of a server for sinks is resumed (tests/goldens): its guard rows,
what it had staged, and what it remembers."""

from __future__ import annotations

import pytest

from goldens.check import goes_on_as_before
from goldens.golden import POSTGRES
from goldens.postgres_world import PostgresWorld
from postgres.server import Server
from spark.shared_jvm import SharedJvm

pytestmark = pytest.mark.spark


def test_it_goes_on_as_before(server: Server, jvm: SharedJvm) -> None:
    goes_on_as_before(POSTGRES, jvm, PostgresWorld(server))
