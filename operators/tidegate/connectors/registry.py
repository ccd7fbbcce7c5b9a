"""The connectors that there are, by name: those of this package, and those that others bring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Final, cast

from tidegate.connectors.connector import Connector
from tidegate.connectors.option_types import OptionProblem
from tidegate.errors import did_you_mean
from tidegate.plan.tables import Table

BUILT_IN: Final = (
    "tidegate.connectors.kafka.connector",
    "tidegate.connectors.filesystem.connector",
    "tidegate.connectors.datagen.connector",
    "tidegate.connectors.nexmark.connector",
    "tidegate.connectors.delta.connector",
    "tidegate.connectors.postgres.connector",
    "tidegate.connectors.print.connector",
    "tidegate.connectors.blackhole.connector",
)
"""Modules with a ``CONNECTOR``, called as their folder is: each is loaded when it is named. They
are no entry points, since code is also run from a tree that is not installed."""
GROUP: Final = "tidegate.connectors"
"""Of entry points: the name of a connector, and a `Connector`."""
VIEWS: Final = "delta"
"""What keeps materialized views."""
SHOWN: Final = "print"
"""What gets the rows of a query that is written nowhere."""
_MODULES: Final = {module.split(".")[-2]: module for module in BUILT_IN}


def connector_of(table: Table) -> Connector:
    """The connector of a table. Raises OptionProblem as `named`."""
    return named(table.connector)


def named(word: str) -> Connector:
    """The connector that a user's ``word`` means. Raises OptionProblem where there is none."""
    connector = found(word)
    if connector is not None:
        return connector
    name = word.strip().lower()
    if name in _brought():
        return _loaded(_brought()[name])  # `meant` could not do it: this says why
    known = (*_MODULES, *_brought())
    raise OptionProblem("connector", f"unknown connector '{word}'", hint=did_you_mean(name, known))


def found(word: str) -> Connector | None:
    """The connector that a user's ``word`` means, if there is one."""
    connector = meant(word)
    return None if connector and word.strip().lower() in connector.variants else connector


@cache
def meant(word: str) -> Connector | None:
    """As `found`, or the connector of which ``word`` is a variant."""
    name = word.strip().lower()
    if name in _MODULES:
        return _built_in(name)
    words = ((each, (each.name, *each.words, *each.variants)) for each in connectors())
    return next((each for each, known in words if name in known), None)


def connectors() -> Iterator[Connector]:
    """All, those of this package first, but for those of others that cannot be loaded."""
    yield from map(_built_in, _MODULES)
    for point in _brought().values():
        with suppress(OptionProblem):
            yield _loaded(point)


def _built_in(name: str) -> Connector:
    return cast(Connector, import_module(_MODULES[name]).CONNECTOR)


@cache
def _brought() -> Mapping[str, EntryPoint]:
    points = entry_points(group=GROUP)
    return {point.name: point for point in points if point.name not in _MODULES}


def _loaded(point: EntryPoint) -> Connector:
    package = point.dist.name if point.dist else "?"
    try:
        connector = point.load()
    except Exception as error:  # what the code of others does is not known
        raise OptionProblem(
            "connector",
            f"connector '{point.name}' cannot be loaded: {error}",
            hint=f"it is {point.value} of the package {package}",
        ) from error
    if not isinstance(connector, Connector) or connector.name != point.name:
        raise OptionProblem(
            "connector",
            f"{point.value} of the package {package} is not a connector '{point.name}'",
            hint="its entry point has the name of a tidegate.connectors.connector.Connector",
        )
    return connector
