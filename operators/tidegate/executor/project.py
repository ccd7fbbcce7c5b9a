"""Project: computes the output columns; hidden columns ride along.

Contract. Rows in, the same rows out, in the same order: columns of ``node.columns``, then the
hidden columns of the input. A plain column is passed by reference; all others share one query. An
expression that fails on a row is NULL for that row, as in RisingWave.

Watermarks (S4). ``Watermark(c, v)`` becomes ``Watermark(out, f(v))`` for every output ``out =
f(c)`` that never falls while ``c`` rises and whose type can carry a watermark; all others end here.
f is evaluated by DuckDB on a literal, once per value. `END` stays `END`, None stays None. Where f
fails (an interval leaves the range of timestamps) or is NULL, the last derived value is repeated: a
watermark may always be lower than it could be (RFC, Prop 1.1).
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import Executor
from tidegate.executor.columns import hidden_columns
from tidegate.executor.evaluate import evaluate, try_sql
from tidegate.plan.nodes import Expr, Project, quoted
from tidegate.types import (
    END,
    Chunk,
    Message,
    Watermark,
    event_time_literal,
    event_time_sql,
    is_event_time_type,
)


class ProjectExecutor(Executor):
    """Evaluates ``node.columns`` over each chunk and derives the watermarks of the outputs."""

    def __init__(self, node: Project, engine: Engine) -> None:
        self.schema = node.schema
        self._node = node
        self._engine = engine
        self._derived: dict[str, dict[str, Expr]] = {}  # outputs by column
        for name, expr in node.columns:
            if expr.monotone_in is not None and is_event_time_type(expr.type):
                self._derived.setdefault(expr.monotone_in, {})[name] = expr
        self._values: dict[str, int] = {}  # of columns, those that outputs were derived from
        self._outputs: dict[str, int] = {}  # what was derived last

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        data = chunk.data
        names = [name for name, _ in self._node.columns]
        columns = evaluate(self._engine, data, [expr for _, expr in self._node.columns])
        for name in hidden_columns(data):
            if name not in names:
                names.append(name)
                columns.append(data.column(name))
        yield Chunk(pa.table(columns, names=names), chunk.split)

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        outputs = self._derived.get(watermark.column, {})
        value = watermark.value
        if outputs and value is not None and value != END:
            self._derive(watermark.column, value, outputs)
        for name in outputs:
            shown = value if value is None or value == END else self._outputs.get(name)
            yield Watermark(name, shown, watermark.status)

    def _derive(self, column: str, value: int, outputs: dict[str, Expr]) -> None:
        """Brings the outputs' values up to input value ``value``."""
        if self._values.get(column) == value:
            return
        self._values[column] = value
        computed = {name: expr for name, expr in outputs.items() if not expr.is_column}
        self._outputs |= dict.fromkeys(outputs.keys() - computed.keys(), value)
        if not computed:
            return
        literal = event_time_literal(value, self._node.input.column_of(column).type)
        sqls = [event_time_sql(expr.sql, expr.type) for expr in computed.values()]
        source = f"(SELECT {literal} AS {quoted(column)}) AS w"
        results = try_sql(self._engine, sqls, source)
        for name, result in zip(computed, results.columns, strict=True):
            derived = result[0].as_py()
            if derived is not None:
                self._outputs[name] = min(derived, END - 1)
