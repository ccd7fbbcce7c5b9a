"""The source tree as the checks see it: modules and what they import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = "operators/tidegate"


@dataclass(frozen=True)
class Module:
    """A module: its dotted name, its path below the repository, its text."""

    name: str
    path: str
    text: str

    @property
    def syntax(self) -> ast.Module:
        return syntax_of(self.text, self.path)


@cache
def syntax_of(text: str, path: str) -> ast.Module:
    """The syntax of a file, which several checks walk."""
    return ast.parse(text, path)


def python_files(root: Path, *folders: str) -> list[Path]:
    """All Python files below ``folders``, sorted."""
    return sorted(path for folder in folders for path in (root / folder).rglob("*.py"))


def modules_of(root: Path) -> list[Module]:
    """The modules of the package tidegate."""
    modules = []
    for path in python_files(root, PACKAGE):
        parts = path.relative_to(root / PACKAGE).with_suffix("").parts
        name = ".".join(("tidegate", *parts)).removesuffix(".__init__")
        modules.append(Module(name, path.relative_to(root).as_posix(), path.read_text("utf-8")))
    return modules


def imports_of(
    module: Module, known: set[str], *, outside_functions: bool = False
) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of all imports. ``from a import b`` is ``a.b`` if that is a module.

    ``outside_functions``: only those on which the module stands: what runs when it is loaded, and
    what its types name under ``if TYPE_CHECKING``.
    """
    for node in _nodes(module.syntax, outside_functions):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(module, node)
            for alias in node.names:
                full = f"{source}.{alias.name}"
                yield node.lineno, full if full in known else source


def _nodes(node: ast.AST, outside_functions: bool) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if outside_functions and isinstance(
            child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        ):
            continue
        yield child
        yield from _nodes(child, outside_functions)


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if node.level == 0:
        return node.module or ""
    base = module.name.split(".")
    if not module.path.endswith("/__init__.py"):
        base = base[:-1]
    base = base[: len(base) - (node.level - 1)]
    return ".".join([*base, *([node.module] if node.module else [])])
