"""Functions that a file declares in Python: they travel with the plan, as their source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A scalar function: ``entry`` of the Python source ``code``, called ``name`` in expressions.

    ``parameters`` and ``returns`` are DuckDB's types. It is called for each row, NULL being None;
    if ``vectorized`` for many, with a pyarrow array for each parameter, and gives one.
    """

    name: str
    parameters: tuple[str, ...]
    returns: str
    code: str
    entry: str
    vectorized: bool = False
