"""Checks of the tree. Each takes the repository's root and gives one sentence a violation."""

from __future__ import annotations

import ast
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tidy import limits
from tidy.tree import PACKAGE, Module, functions_of, imports_of, modules_of, python_files

_TWINNED: Final = (
    "executor",
    "plan",
    "frontend",
    "connectors",
    "engine",
    "epochs",
    "reports",
)
_TYPED: Final = ("epochs/", "spark/")
_ANYTHING: Final = re.compile(r"\b([dD]ict|Mapping)\[str, (Any|object)\]")
_WORDS: Final = (
    (re.compile(r"\bshard(s|ed|ing)?\b", re.IGNORECASE), "split or vnode"),
    (re.compile(r"\blate (row|record)s? (is|are|was|were|gets?) dropped\b"), "late"),
    (re.compile(r"\b(drop|drops|dropped|dropping) late\b"), "late"),
)
_PROSE: Final = (".py", ".md", ".sql", ".slt", ".yaml", ".yml")
_MADE: Final = ("out", "build", "dist")
_CLOCKS: Final = {
    "time": {
        "time",
        "time_ns",
        "monotonic",
        "monotonic_ns",
        "perf_counter",
        "perf_counter_ns",
        "sleep",
        "localtime",
        "gmtime",
    },
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
}


def check_twins(root: Path, without: Mapping[str, str] = limits.WITHOUT_TWIN) -> Iterator[str]:
    """Every module of the ground floor and of the pure layers has its unit test."""
    for module in modules_of(root):
        parts = Path(module.path).relative_to(PACKAGE).parts
        name = Path(module.path).stem
        if name.startswith("__") or module.path in without:
            continue
        if len(parts) == 1 or parts[0] in _TWINNED:
            twin = Path("tests/unit", *parts[:-1], f"test_{name}.py")
            if not (root / twin).is_file():
                yield f"{module.path}: has no twin {twin.as_posix()}"
    for path in without:
        if not (root / path).is_file():
            yield f"tests/tidy/limits.py: {path} is gone, take it off the list"


def check_wall_clock(root: Path) -> Iterator[str]:
    """Only clock.py reads wall time or sleeps; nothing is random without a seed (rule 4)."""
    for module in modules_of(root):
        if module.path != f"{PACKAGE}/clock.py":
            for node in module.nodes:
                for what in _unruly(node):
                    yield f"{module.path}:{getattr(node, 'lineno', 0)}: {what}"


def _unruly(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and node.module in ("time", "random"):
        allowed = {"Random"} if node.module == "random" else {"struct_time"}
        for alias in node.names:
            if alias.name not in allowed:
                yield f"from {node.module} import {alias.name}: time comes from tidegate.clock"
    if isinstance(node, ast.Attribute):
        owner = ast.unparse(node.value).split(".")[-1]
        if node.attr in _CLOCKS.get(owner, ()):
            yield f"{owner}.{node.attr}: time comes from tidegate.clock"
        if owner == "random" and node.attr not in ("Random", "default_rng", "Generator"):
            yield f"random.{node.attr}: randomness comes from a seeded Random"
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        name = ast.unparse(node.func).split(".")[-1]
        if name in ("Random", "default_rng"):
            yield f"{name}() has no seed"


def check_dead_modules(
    root: Path, entry_points: Mapping[str, str] = limits.ENTRY_POINTS
) -> Iterator[str]:
    """Every module is imported by another of the package or of jobs/, or is an entry point."""
    modules = modules_of(root)
    known = {module.name for module in modules}
    alive = set(entry_points) | _scripts(root)
    jobs = [
        Module(f"jobs.{path.stem}", path.relative_to(root).as_posix(), path.read_text("utf-8"))
        for path in python_files(root, "jobs")
    ]
    for module in [*modules, *jobs]:
        alive |= {target for _, target in imports_of(module, known) if target != module.name}
        alive |= {  # modules that are loaded by name
            node.value
            for node in module.nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
    for module in modules:
        is_package = module.path.endswith(("/__init__.py", "/__main__.py"))
        if not is_package and module.name not in alive:
            yield f"{module.path}: nothing imports it"


def _scripts(root: Path) -> set[str]:
    file = root / "pyproject.toml"
    project = tomllib.loads(file.read_text("utf-8")).get("project", {}) if file.is_file() else {}
    return {target.split(":")[0] for target in project.get("scripts", {}).values()}


def check_lengths(
    root: Path,
    long_files: Mapping[str, str] = limits.LONG_FILES,
    long_functions: Mapping[str, str] = limits.LONG_FUNCTIONS,
) -> Iterator[str]:
    """Files of at most 400 lines, functions of at most 70; the exceptions still are ones."""
    files, functions = set(), set()
    for path in python_files(root, "operators", "tests", "jobs", "monitoring", "k8s"):
        place, text = path.relative_to(root).as_posix(), path.read_text("utf-8")
        lines = text.count("\n")
        if lines > limits.FILE_LINES_MAX:
            files.add(place)
            if place not in long_files:
                yield f"{place}: has {lines} lines, more than {limits.FILE_LINES_MAX}"
        if lines < limits.FUNCTION_LINES_MAX:
            continue
        for node in functions_of(Module("", place, text).syntax):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > limits.FUNCTION_LINES_MAX:
                functions.add(f"{place}::{node.name}")
                if f"{place}::{node.name}" not in long_functions:
                    yield f"{place}:{node.lineno}: {node.name} has {length} lines"
    for stale in sorted((set(long_files) - files) | (set(long_functions) - functions)):
        yield f"tests/tidy/limits.py: {stale} is short now, take it off the list"


def check_spark(
    root: Path,
    lines_max: int = limits.SPARK_LINES_MAX,
    without: Mapping[str, str] = limits.WITHOUT_PYSPARK,
) -> Iterator[str]:
    """The folder of Spark is about Spark, file by file, and stays small."""
    known = {module.name for module in modules_of(root)}
    lines, stale = 0, set(without)
    for module in modules_of(root):
        if not module.name.startswith("tidegate.spark"):
            continue
        lines += module.text.count("\n")
        place = Path(module.path).relative_to(f"{PACKAGE}/spark").as_posix()
        owned = {target.split(".")[0] for _, target in imports_of(module, known)}
        if owned & {"pyspark", "py4j"} or place.endswith("__init__.py"):
            continue
        if place not in without:
            yield f"{module.path}: imports no Spark, so it belongs on a floor below"
        stale.discard(place)
    for place in sorted(stale):
        yield f"tests/tidy/limits.py: spark/{place} imports Spark or is gone, take it off the list"
    if lines > lines_max:
        yield f"{PACKAGE}/spark: has {lines} lines, more than {lines_max}"


def check_untyped(
    root: Path, untyped: Mapping[str, str] = limits.UNTYPED, folders: tuple[str, ...] = _TYPED
) -> Iterator[str]:
    """No document in the clothes of a dict crosses a module's border; the exceptions still do."""
    stale = set(untyped)
    for module in modules_of(root):
        place = Path(module.path).relative_to(PACKAGE).as_posix()
        if not place.startswith(folders):
            continue
        for name, line, annotation in _annotations(module.syntax.body):
            if _ANYTHING.search(annotation):
                stale.discard(f"{place}::{name}")
                if f"{place}::{name}" not in untyped:
                    yield f"{module.path}:{line}: {name} is {annotation}: give it a type"
    for name in sorted(stale):
        yield f"tests/tidy/limits.py: {name} is typed or gone, take it off the list"


def _annotations(body: Iterable[ast.stmt]) -> Iterator[tuple[str, int, str]]:
    """Name, line and annotation of what is public: fields, parameters, what functions return."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _annotations(node.body)
        elif isinstance(node, ast.AnnAssign):
            name = ast.unparse(node.target)
            if not name.startswith("_"):
                yield name, node.lineno, ast.unparse(node.annotation)
        elif isinstance(node, ast.FunctionDef) and (
            not node.name.startswith("_") or node.name.startswith("__")
        ):
            arguments = [
                each.annotation for each in ast.walk(node.args) if isinstance(each, ast.arg)
            ]
            for annotation in (*arguments, node.returns):
                if annotation is not None:
                    yield node.name, node.lineno, ast.unparse(annotation)


def check_size(root: Path, lines_max: int = limits.PRODUCT_LINES_MAX) -> Iterator[str]:
    """The package does not grow unseen."""
    lines = sum(module.text.count("\n") for module in modules_of(root))
    if lines > lines_max:
        yield f"{PACKAGE}: has {lines} lines, more than {lines_max}"


def check_connectors(
    root: Path, mentions_max: int = limits.CONNECTOR_MENTIONS_MAX
) -> Iterator[str]:
    """A connector is named in its folder; elsewhere its object is asked, whichever it is."""
    folders = {path.parent for path in (root / PACKAGE / "connectors").glob("*/connector.py")}
    known = {module.name for module in modules_of(root)}
    mentions = []
    for module in modules_of(root):
        prose = {node.value for node in module.nodes if isinstance(node, ast.Expr)}
        said = [
            (node.lineno, node.value)
            for node in module.nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose
        ]
        others = {each.name for each in folders if each not in (root / module.path).parents}
        for line, text in sorted({*said, *imports_of(module, known)}):
            name, inside = re.subn(r"^tidegate\.connectors\.(\w+).*", r"\1", text)
            if name in others and (inside or name == text):
                mentions.append(f"{module.path}:{line}: names the connector {name}")
    if len(mentions) > mentions_max:
        yield from mentions
        yield f"{PACKAGE}: {len(mentions)} mentions of connectors, more than {mentions_max}"


def check_makefile(root: Path) -> Iterator[str]:
    """`make help` tells of every target."""
    text = (root / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE))
    for target, rest in re.findall(r"^([a-z][a-z0-9-]*):(.*)$", text, re.MULTILINE):
        targets.discard(target)
        if not re.search(r" ## \S", rest):
            yield f"Makefile: {target} has no ## help"
    for target in sorted(targets):
        yield f"Makefile: .PHONY names {target}, which has no rule"


def check_words(root: Path) -> Iterator[str]:
    """The house's words (style "Words"), where another is unambiguously the wrong one."""
    for path in _prose(root):
        place, text = path.relative_to(root), path.read_text("utf-8", "replace")
        if place.parts[:2] == ("tests", "tidy"):
            continue
        wrong = [(pattern, better) for pattern, better in _WORDS if pattern.search(text)]
        for number, line in enumerate(text.splitlines() if wrong else (), 1):
            for pattern, better in wrong:
                match = pattern.search(line)
                if match:
                    yield f"{place.as_posix()}:{number}: '{match[0]}': say {better}"


def _prose(root: Path) -> list[Path]:
    """What people read, but for hidden folders and what is made."""
    found = []
    for folder, below, files in os.walk(root):
        made = _MADE if Path(folder) == root else ()
        below[:] = [name for name in below if not name.startswith(".") and name not in made]
        found += [Path(folder, name) for name in files if not name.startswith(".")]
    return sorted(path for path in found if path.suffix in _PROSE)
