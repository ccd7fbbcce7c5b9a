"""Which module may import which (design §2 "Layers, imports point down only")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tidy.tree import Module, imports_of, modules_of

_VALUES: Final = ("types", "reasons", "errors")
_SMALL: Final = (
    *("version", "codec", "clock", "patience", "metrics", "refusals"),
    *("phases", "events", "state", "failpoints", "careful", "policy"),
)
_GROUND: Final = (*_VALUES, *_SMALL)

_BELOW_RUNTIMES: Final = (
    *_GROUND,
    "plan",
    "engine",
    "ports",
    "store",
    "executor",
    "connectors",
    "epochs",
    "settings",
)

ALLOWED: Final[Mapping[str, tuple[str, ...]]] = {
    "types": ("codec",),
    "reasons": (),
    "errors": (),
    "version": (),
    "codec": (),
    "clock": (),
    "patience": ("clock",),
    "refusals": _VALUES,
    "failpoints": _VALUES,
    "metrics": _VALUES,
    "phases": ("clock",),
    "events": (),
    "careful": (),
    "policy": _VALUES,
    "state": _VALUES,
    "plan": (*_VALUES, "plan"),
    "store": (*_VALUES, "clock", "patience", "refusals", "store"),
    "ports": _VALUES,
    "engine": (*_VALUES, "plan.user_functions", "engine"),
    # Side by side: neither knows the other.
    "executor": (*_GROUND, "plan", "engine", "ports", "executor"),
    "connectors": (*_GROUND, "plan.nodes", "plan.tables", "engine", "ports", "store", "connectors"),
    "epochs": (*_GROUND, "plan", "engine", "ports", "store", "executor", "connectors", "epochs"),
    "settings": (*_VALUES, "policy", "connectors.durations", "connectors.secrets"),
    "frontend": (
        *_VALUES,
        "policy",
        "plan",
        "engine",
        "connectors.connector",
        "connectors.option_types",
        "connectors.options",
        "connectors.durations",
        "connectors.secrets",
        "connectors.registry",  # which connectors there are, what their options may be
        "settings",
        "frontend",
    ),
    # Text to data, before any name is looked up.
    "frontend.source": (*_VALUES, "connectors.secrets"),
    "frontend.ast": (*_VALUES, "plan", "frontend.source", "frontend.ast"),
    "frontend.syntax": (
        *_VALUES,
        "plan",
        "frontend.source",
        "frontend.ast",
        "frontend.failures",
        "frontend.syntax",
    ),
    "reports": (
        *_GROUND,
        "plan",
        "store",
        "connectors",
        "ports",
        "engine",
        "epochs",
        "settings",
        "reports",
    ),
    "spark": (*_BELOW_RUNTIMES, "reports", "spark"),
    "simulator": (*_BELOW_RUNTIMES, "frontend", "simulator"),
    "session": ("",),
    "dataframes": ("",),
    "cli": ("",),
    "commands": ("",),
    "pod": ("",),
    "__main__": ("",),
    "": ("",),  # tidegate/__init__.py: the public names
}
"""By longest prefix: what a module of tidegate may import of tidegate; "" is everything."""

OWNED: Final[Mapping[str, tuple[str, ...]]] = {
    "sqlglot": ("frontend",),
    "pyspark": ("spark",),
    "py4j": ("spark",),
    "confluent_kafka": ("connectors",),
    "psycopg": ("connectors",),
    "obstore": ("store",),
    "prometheus_client": ("reports",),
    "typer": ("cli", "commands"),
    "rich": ("cli", "commands", "reports"),
}
"""Packages from outside that have a sole importer."""

ORACLE_REFUSES: Final = ("tidegate", "duckdb", "numpy", "pyarrow", "pandas", "pyspark", "sqlglot")


def check_layers(root: Path) -> Iterator[str]:
    """Imports that point up, or at what another layer owns."""
    known = {module.name for module in modules_of(root)}
    for module in modules_of(root):
        layer = _layer(module.name.removeprefix("tidegate").removeprefix("."))
        for line, target in imports_of(module, known):
            place = f"{module.path}:{line}"
            if target.split(".")[0] != "tidegate":
                owners = OWNED.get(target.split(".")[0])
                if owners is not None and layer.split(".")[0] not in owners:
                    yield f"{place}: only {' and '.join(owners)} may import {target}"
            elif not _may(layer, target.removeprefix("tidegate").removeprefix(".")):
                yield f"{place}: {layer} must not import {target}"


def _layer(name: str) -> str:
    prefixes = [prefix for prefix in ALLOWED if prefix and _is_in(name, prefix)]
    return max(prefixes, key=len, default=name if name else "")


def _may(layer: str, target: str) -> bool:
    if not target:  # `import tidegate`: the package itself has only a version
        return True
    return any(not prefix or _is_in(target, prefix) for prefix in ALLOWED.get(layer, ()))


def _is_in(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def check_cycles(root: Path) -> Iterator[str]:
    """Modules that import each other, if only for their types (``if TYPE_CHECKING``)."""
    modules = {module.name: module for module in modules_of(root)}
    graph = {
        name: sorted(
            {
                target
                for _, target in imports_of(module, set(modules), outside_functions=True)
                if target in modules and target != name
            }
        )
        for name, module in modules.items()
    }
    done: set[str] = set()

    def walk(name: str, way: tuple[str, ...]) -> Iterator[str]:
        if name in way:
            yield "cycle: " + " → ".join([*way[way.index(name) :], name])
        elif name not in done:
            for target in graph[name]:
                yield from walk(target, (*way, name))
            done.add(name)

    for name in sorted(graph):
        yield from walk(name, ())


def check_oracle(root: Path) -> Iterator[str]:
    """The judge shares no code with the product."""
    for path in sorted((root / "tests" / "oracle").glob("*.py")):
        module = Module(f"oracle.{path.stem}", path.relative_to(root).as_posix(), path.read_text())
        for line, target in imports_of(module, set()):
            if target.split(".")[0] in ORACLE_REFUSES:
                yield f"{module.path}:{line}: the oracle must not import {target}"
