"""What is longer than the house likes, or stands alone, each with its reason."""

from __future__ import annotations

from typing import Final

FILE_LINES_MAX: Final = 400
FUNCTION_LINES_MAX: Final = 70

LONG_FILES: Final[dict[str, str]] = {}
"""Path below the repository: why it is not two files."""

LONG_FUNCTIONS: Final[dict[str, str]] = {}
"""``path::name``: why it is not two functions."""

WITHOUT_TWIN: Final[dict[str, str]] = {
    "operators/tidegate/executor/base.py": "a contract without behaviour",
    "operators/tidegate/ports.py": "ports without behaviour",
    "operators/tidegate/frontend/syntax/statement_syntax.py": "values without behaviour",
    "operators/tidegate/frontend/syntax/query_syntax.py": "values without behaviour",
    "operators/tidegate/connectors/kafka/sink.py": "a real broker says: tests/kafka/test_sink*.py",
    "operators/tidegate/connectors/kafka/delivery.py": "as sink.py",
    "operators/tidegate/connectors/kafka/markers.py": "as sink.py",
    "operators/tidegate/connectors/kafka/transactions.py": "as sink.py",
    "operators/tidegate/connectors/postgres/client.py": "a real server says: tests/postgres",
    "operators/tidegate/connectors/postgres/guard.py": "as client.py",
    "operators/tidegate/connectors/postgres/sink.py": "as client.py",
    "operators/tidegate/connectors/postgres/statements.py": "as client.py",
    "operators/tidegate/connectors/postgres/target.py": "as client.py",
}
"""Path below the repository: why there is no tests/unit/**/test_<name>.py for it."""

ENTRY_POINTS: Final[dict[str, str]] = {
    "tidegate.session": "the Python front door",
    "tidegate.pod": "the entry of the image: k8s/images/tidegate",
    "tidegate.simulator.run": "driven by tests: tests/slt, tests/simulation",
}
"""Modules that nothing imports and that are alive (those of pyproject's scripts go without)."""
