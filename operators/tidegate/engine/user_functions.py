"""Makes the users' Python functions callable in an `Engine` (seed 003: strategies by functions).

The source comes with the plan, is run once in each process, and is the job's owner's: never what
was read from a topic. What a function raises fails the row, as any expression does.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import duckdb
from duckdb.func import FunctionNullHandling, PythonUDFType

from tidegate.errors import RunError
from tidegate.plan.user_functions import UserFunction


def install(connection: duckdb.DuckDBPyConnection, functions: Iterable[UserFunction]) -> None:
    """Adds ``functions`` to DuckDB's. Raises RunError where a source does not run."""
    for function in functions:
        _create(connection, function, _entry(function))


def declare(connection: duckdb.DuckDBPyConnection, function: UserFunction) -> None:
    """Adds a function that is never called, for its types; its source is not run."""
    _create(connection, function, _Never(len(function.parameters)))


class _Never:
    """Stands for a function with so many parameters, which DuckDB counts."""

    def __init__(self, count: int) -> None:
        kind = inspect.Parameter.POSITIONAL_ONLY
        parameters = [inspect.Parameter(f"p{number}", kind) for number in range(count)]
        self.__signature__ = inspect.Signature(parameters)

    def __call__(self, *_: Any) -> None:
        raise AssertionError("a function of the planner is not called")


def _create(
    connection: duckdb.DuckDBPyConnection, function: UserFunction, call: Callable[..., Any]
) -> None:
    try:
        connection.create_function(
            function.name,
            call,
            list(function.parameters),
            function.returns,
            type=PythonUDFType.ARROW if function.vectorized else PythonUDFType.NATIVE,
            null_handling=FunctionNullHandling.SPECIAL,
            side_effects=False,
        )
    except duckdb.Error as error:
        raise RunError(f"function '{function.name}' does not fit: {error}") from None


def _entry(function: UserFunction) -> Callable[..., Any]:
    module = ModuleType(f"tidegate_function_{function.name}")
    sys.modules[module.__name__] = module  # where dataclasses look for what annotations name
    try:
        code = compile(function.code, f"<function {function.name}>", "exec", dont_inherit=True)
        exec(code, module.__dict__)
        entry = module.__dict__[function.entry]
    except (Exception, SystemExit) as error:
        raise RunError(
            f"the source of function '{function.name}' does not run:"
            f" {type(error).__name__}: {error}",
            hint="what it imports must be installed wherever the job's tasks run",
        ) from None
    assert callable(entry)
    result: Callable[..., Any] = entry
    return result
