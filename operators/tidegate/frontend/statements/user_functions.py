"""``CREATE FUNCTION``: functions in Python, in RisingWave's form and in Flink's.

    CREATE FUNCTION on_flag(t TIMESTAMP, flag BOOLEAN) RETURNS TIMESTAMP LANGUAGE python AS $$
    def on_flag(t, flag):
        return t if flag else None
    $$;
    CREATE TEMPORARY FUNCTION on_flag AS 'strategies.on_flag' LANGUAGE PYTHON;

Flink's names a module that lies beside the file; its types are the annotations. The source travels
with the plan. It is read here, not run: `tidegate check` runs nothing of the user's.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Final

from sqlglot import exp

from tidegate.errors import BindError, SqlError
from tidegate.frontend.ast.queries import Name
from tidegate.frontend.ast.statements import CreateFunction
from tidegate.frontend.expressions import allowlist, functions
from tidegate.frontend.expressions.rewrites import REWRITES
from tidegate.frontend.expressions.typecheck import TypeChecker, words_of_sql
from tidegate.frontend.failures import blamed
from tidegate.frontend.source import Source, Span
from tidegate.frontend.syntax.create_function import DOLLARS
from tidegate.frontend.syntax.datatypes import shown_type
from tidegate.frontend.syntax.dialect import cursor_over, parse_scalar
from tidegate.plan.user_functions import UserFunction
from tidegate.policy import policy

_TYPES: Final[Mapping[str, str]] = {
    "bool": "BOOLEAN",
    "int": "BIGINT",
    "float": "DOUBLE",
    "str": "VARCHAR",
    "bytes": "BLOB",
    "Decimal": "DECIMAL(38,18)",
    "date": "DATE",
    "time": "TIME",
    "datetime": "TIMESTAMP",
    "timedelta": "INTERVAL",
}
"""What annotations are in SQL."""


def declare_function(checker: TypeChecker, statement: CreateFunction) -> UserFunction | None:
    """Makes the function known to what follows; None where IF NOT EXISTS has found it.

    Raises BindError.
    """
    name = statement.name.text.lower()
    place = statement.name.span.place
    with blamed(place):
        policy().check_code("CREATE FUNCTION")
    if any(known.name == name for known in checker.declared):
        if statement.if_not_exists:
            return None
        raise BindError(f"function '{name}' already exists", place, hint="give it another name")
    kinds = ("scalar", "macro", "aggregate", "window")
    taken = name in functions.RESERVED | functions.LATER.keys() | functions.MISPLACED.keys()
    taken = taken or name in REWRITES or any(name in checker.functions(kind) for kind in kinds)
    if taken or allowlist.refusal(name):
        raise BindError(
            f"'{name}' is a function of the language", place, hint="give it another name"
        )
    code, entry, span = _source_of(statement)
    found = _definition(code, entry, span)
    takes = [*found.args.posonlyargs, *found.args.args]
    parameters = statement.parameters
    if parameters is None:
        parameters = tuple(_annotated(part, part.annotation, span) for part in takes)
    elif len(parameters) != len(takes):
        raise BindError(
            f"'{entry}' takes {len(takes)} parameters, the statement names {len(parameters)}",
            span.place,
        )
    _check_callable(statement.name, len(parameters))
    returns = statement.returns or _annotated(None, found.returns, span)
    declared = UserFunction(name, parameters, returns, code, found.name, statement.vectorized)
    checker.declare(declared)
    return declared


def _check_callable(name: Name, count: int) -> None:
    """Raises BindError for a word that SQL reads otherwise: ``date(x)`` is a cast."""
    arguments = ", ".join(f"a{number}" for number in range(count))
    call = Source("", f"{name.text.lower()}({arguments})")
    try:
        node = parse_scalar(cursor_over(call.whole), "a call").node
    except SqlError:
        node = exp.Null()
    is_call = isinstance(node, exp.Anonymous) and node.name.lower() == name.text.lower()
    if not is_call or name.text.lower() in words_of_sql():
        raise BindError(
            f"'{name.text}' is a word of SQL, and cannot be called",
            name.span.place,
            hint="give the function another name",
        )


def _source_of(statement: CreateFunction) -> tuple[str, str, Span]:
    """The Python source, the name of the function in it, and where the file says so."""
    if statement.code is not None:
        text = statement.code.value
        if text.lstrip(" \t").startswith("\n"):
            text = dedent(text)  # the source may be indented like the statement
        entry = statement.entry or statement.name.text
        return text.lstrip(" \t"), entry, statement.code.span
    assert statement.module is not None
    module, _, entry = statement.module.value.rpartition(".")
    file = Path(statement.module.span.source.file).parent / (module.replace(".", "/") + ".py")
    place = statement.module.span.place
    if not module:
        raise BindError(
            f"'{entry}' names no function of a module",
            place,
            hint=f"write AS 'module.function'; or {DOLLARS}",
        )
    try:
        return file.read_text("utf-8"), entry, statement.module.span
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise BindError(
            f"cannot read the module '{module}': {file}: {reason}",
            place,
            hint=f"it lies beside the SQL file; or {DOLLARS}",
        ) from None


def _definition(code: str, entry: str, span: Span) -> ast.FunctionDef:
    """The function called ``entry`` in ``code``."""
    place = span.place
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError) as error:
        line = f" in its line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise BindError(f"this is no Python{line}: {error.args[0]}", place) from None
    named = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for node in reversed(named):  # the last one is what the name is in the end
        if node.name.lower() == entry.lower():
            return node
    there = ", ".join(node.name for node in named)
    raise BindError(
        f"the source defines no function '{entry}'",
        place,
        hint=f"it defines {there}" if there else f"write def {entry}(…):",
    )


def _annotated(parameter: ast.arg | None, annotation: ast.expr | None, span: Span) -> str:
    """The type of a parameter, or (None) of the result."""
    what = f"parameter '{parameter.arg}'" if parameter else "the result"
    type_ = _TYPES.get(_plain(annotation)) if annotation is not None else None
    if type_ is None:
        raise BindError(
            f"the type of {what} is not known",
            span.place,
            hint=f"annotate it with {', '.join(_TYPES)}; or declare it: f(a"
            f" {shown_type('BIGINT')}) RETURNS …",
        )
    return type_


def _plain(node: ast.expr) -> str:
    """``datetime`` of ``dt.datetime``, ``datetime | None`` and ``Optional[datetime]``."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _plain(left)
        case ast.BinOp(left=ast.Constant(value=None), op=ast.BitOr(), right=right):
            return _plain(right)
        case ast.Subscript(value=outer, slice=inner) if _plain(outer) == "Optional":
            return _plain(inner)
        case ast.Constant(value=str(text)):
            try:
                return _plain(ast.parse(text, mode="eval").body)
            except SyntaxError:
                return ""
    return ""
