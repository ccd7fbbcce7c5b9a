"""Writes docs/seeds.md: ``PYTHONPATH=tests python -m seeds.page``, or ``make tables``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from seeds.statements import SEEDS

PAGE: Final = Path(__file__).parents[2] / "docs" / "seeds.md"
_HEAD: Final = """# The five documents

Every query and statement of the documents that Tidegate is made from: RisingWave's RFC (000) and
its explanation (001, which has none), FLIP-296 (002), FLIP-66 (003), Confluent's `$rowtime` (004).
Each is a test (`tests/seeds`), and runs as it is written, except for what the last column says.

| document | statement | what differs, and why |
|---|---|---|
"""
_TAIL: Final = """
Written by `make tables`.
"""


def page() -> str:
    """The document."""
    rows = [f"| {seed.number} | {seed.about} | {seed.differs} |\n" for seed in SEEDS]
    return _HEAD + "".join(rows) + _TAIL


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
