"""The source tree as the checks see it: modules and what they import."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
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
        return _syntax_of(self.text, self.path)

    @property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of its syntax, in no order."""
        return _nodes_of(self.text, self.path)


@cache
def _syntax_of(text: str, path: str) -> ast.Module:
    return ast.parse(text, path)


@cache
def _nodes_of(text: str, path: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(_syntax_of(text, path)))


@contextmanager
def kept() -> Iterator[None]:
    """Each file is parsed and walked once for all checks, and forgotten in the end.

    Meanwhile nothing is collected: Python would look through all nodes again and again.
    """
    gc.disable()
    try:
        yield
    finally:
        _nodes_of.cache_clear()
        _syntax_of.cache_clear()
        gc.enable()


def functions_of(syntax: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions, wherever they stand. Only statements are walked, a tenth of all nodes."""
    waiting: list[ast.AST] = [syntax]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        for name in ("body", "orelse", "handlers", "finalbody", "cases"):
            below = getattr(node, name, ())
            if isinstance(below, list):  # that of a lambda or of `a if b else c` is an expression
                waiting += below


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
    nodes: Iterable[ast.AST] = _loaded(module.syntax) if outside_functions else module.nodes
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(module, node)
            for alias in node.names:
                full = f"{source}.{alias.name}"
                yield node.lineno, full if full in known else source


def _loaded(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below ``node`` that stand in no function."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _loaded(child)


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if node.level == 0:
        return node.module or ""
    base = module.name.split(".")
    if not module.path.endswith("/__init__.py"):
        base = base[:-1]
    base = base[: len(base) - (node.level - 1)]
    return ".".join([*base, *([node.module] if node.module else [])])
