from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        ("--help", "pyarrow, duckdb, sqlglot, pandas, tidegate.commands"),
        ("check jobs/orders.sql", "pandas, pyspark, confluent_kafka, obstore, psycopg, deltalake"),
    ],
)
def test_a_command_loads_what_it_needs(arguments: str, heavy: str) -> None:
    """Half of a second here or there is what a person waits for each time."""
    program = f"""
import sys
from tidegate.cli import app
try:
    app({arguments.split()!r})
except SystemExit as ended:
    assert not ended.code
found = set({heavy.split(", ")!r}) & set(sys.modules)
assert not found, found
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
