"""Frames of over-windows: ``ROWS | RANGE [BETWEEN] … PRECEDING | CURRENT ROW | … FOLLOWING``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.ast.queries import Scalar
from tidegate.frontend.expressions.scalar import Binder, argument_span
from tidegate.frontend.expressions.times import bind_size, unit_us_in
from tidegate.frontend.source import Span
from tidegate.plan.nodes import SortKey
from tidegate.plan.over import Frame
from tidegate.types import Column

ROWS_MAX: Final = 2**31
"""Of a frame, and of LAG and LEAD."""


@dataclass(frozen=True, slots=True)
class FramePlanner:
    """The frames over one partition and order, whose ``time`` has the watermark."""

    binder: Binder
    time: Column
    order: tuple[SortKey, ...]
    by_partition: bool

    def frame(self, spec: exp.Expr | None, span: Span) -> Frame:
        """The frame that ``spec`` says, or the one that SQL means where nothing is said."""
        if spec is None:
            return Frame(False, None) if self.order else Frame(True, None, None)
        place = span.place
        kind = str(spec.args.get("kind") or "").upper()
        if kind not in ("ROWS", "RANGE") or spec.args.get("exclude"):
            raise UnsupportedError(
                f"{'EXCLUDE' if spec.args.get('exclude') else kind} in a frame is not supported",
                place,
                hint="write ROWS or RANGE BETWEEN … PRECEDING AND CURRENT ROW",
            )
        in_rows = kind == "ROWS"
        start = self._edge(spec, "start", in_rows, span)
        end = self._edge(spec, "end", in_rows, span) if spec.args.get("end") is not None else 0
        if start is not None and end is not None and start > end:
            raise BindError("the frame ends before it begins", place)
        if not self.by_partition and end is None:
            raise UnsupportedError(
                "a frame up to UNBOUNDED FOLLOWING would wait for the end of the stream",
                place,
                hint="say how far ahead it reaches: ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING",
            )
        if not self.by_partition and start is None and end != 0:
            raise UnsupportedError(
                "a frame from UNBOUNDED PRECEDING ends at CURRENT ROW",
                place,
                hint="bound its start, or end it at CURRENT ROW",
            )
        return Frame(in_rows, start, end)

    def _edge(self, spec: exp.Expr, name: str, in_rows: bool, span: Span) -> int | None:
        """Where the frame begins or ends, from the current row; None: not before the partition."""
        value, side = spec.args[name], str(spec.args.get(f"{name}_side") or "").upper()
        if isinstance(value, str):
            return 0 if value.upper() == "CURRENT ROW" else None
        shown = Scalar(value, argument_span(value, span))
        sign = 1 if side == "FOLLOWING" else -1
        if in_rows:
            return sign * self._rows(shown)
        place = shown.span.place
        if self.by_partition or len(self.order) != 1:
            raise UnsupportedError(
                "RANGE with a length takes ORDER BY one column, the time",
                place,
                hint="write ROWS, or order by the time column alone",
            )
        unit_us = unit_us_in(self.binder.scope.relation.node, self.time)
        return sign * bind_size(self.binder, shown, self.time, unit_us, "length of the frame")

    def _rows(self, scalar: Scalar) -> int:
        node = scalar.node
        if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
            rows = int(node.name)
            if rows <= ROWS_MAX:
                return rows
        raise BindError(
            "ROWS counts a whole number of rows",
            scalar.span.place,
            hint="write ROWS BETWEEN 3 PRECEDING AND CURRENT ROW",
        )
