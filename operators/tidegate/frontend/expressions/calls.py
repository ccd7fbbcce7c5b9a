"""Whether a function may be called where it stands; if not, what to write."""

from __future__ import annotations

from tidegate.errors import BindError, UnsupportedError, did_you_mean
from tidegate.frontend.expressions import allowlist, functions, rewrites
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.source import Span


def check_call(written: str, checker: TypeChecker, span: Span) -> None:
    """Raises BindError or UnsupportedError for a function that no expression of a row may call."""
    name = written.lower()
    if name in functions.LATER:
        raise UnsupportedError(
            f"{written} is not supported", span.place, hint=functions.LATER[name]
        )
    if name in functions.MISPLACED:
        raise BindError(
            f"{written} is not allowed here", span.place, hint=functions.MISPLACED[name]
        )
    if name in functions.AGGREGATES:
        raise BindError(
            f"aggregate '{written}' is not allowed here",
            span.place,
            hint="aggregates stand in SELECT and HAVING of a query with GROUP BY",
        )
    own = {function.name for function in checker.declared}
    if name in allowlist.FUNCTIONS or name in rewrites.REWRITES or name in own:
        return
    if name in checker.functions("aggregate") | checker.functions("window"):
        there = ", ".join(sorted(functions.AGGREGATES))
        raise UnsupportedError(
            f"aggregate '{written}' is not supported", span.place, hint=f"supported: {there}"
        )
    hint = rewrites.HINTS.get(name)
    reason = allowlist.refusal(name)
    if reason is not None:
        raise BindError(
            f"function '{written}' is not allowed: {reason}", span.place, hint=hint or ""
        )
    known = allowlist.FUNCTIONS | rewrites.REWRITES.keys() | functions.AGGREGATES
    near = did_you_mean(name, known | functions.PROC_TIME | own, parts=False)
    raise BindError(
        f"unknown function '{written}'",
        span.place,
        hint=hint or (near if near.startswith("did") else "docs/functions.md has all that are"),
    )
