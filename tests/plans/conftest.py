"""``--update-goldens`` writes the goldens anew; read their diff like code."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="write the goldens anew")
