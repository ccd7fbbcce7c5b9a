"""What the planners of a file know besides the statement that they plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.frontend.ast.queries import Option
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.tables.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Context:
    """``catalog`` is what has been declared so far; ``hints`` are those that count for each table,
    by its name in lower case; ``settings`` are those of the job.

    ``names_rowtime``: something in the file names the system column ``$rowtime``. ``taken`` are the
    names of the sinks so far.
    """

    checker: TypeChecker
    catalog: Catalog
    hints: Mapping[str, tuple[Option, ...]]
    settings: Mapping[str, str]
    names_rowtime: bool = False
    taken: tuple[str, ...] = ()
