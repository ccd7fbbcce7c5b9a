"""What the frontend's tests share: declared tables, and plans as text."""

from __future__ import annotations

from tidegate.frontend import compile, compile_file
from tidegate.frontend.statements.answers import Listing
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.joins import Join, Union
from tidegate.plan.nodes import Filter, Job, Node, Project, Scan, Sink, Sort, WatermarkFilter
from tidegate.plan.over import Frame, OverCall, OverWindow
from tidegate.plan.tables import Table
from tidegate.plan.windows import Tumble

_FILES = "WITH (connector = 'filesystem', path = 'p', format = 'json');"
_OUT = _FILES.replace("'p'", "'o'")
TABLES = (
    "CREATE TABLE orders (id BIGINT, order_time TIMESTAMP, price DECIMAL, customer_id BIGINT,"
    f" WATERMARK FOR order_time AS order_time - INTERVAL '5' SECOND) {_FILES}"
    f" CREATE TABLE plain (customer_name STRING, t TIMESTAMP, id BIGINT, z TIMESTAMPTZ) {_FILES}"
    " CREATE TABLE events (event ROW<log_ts TIMESTAMP(3), message STRING, type INT>,"
    f" WATERMARK FOR event.log_ts AS event.log_ts - '5' SECOND) {_FILES}"
    f" CREATE TABLE target (id BIGINT, t TIMESTAMP, price DECIMAL) {_OUT}\n"
)
"""The tables of all cases, on one line: a case begins in line 2."""

BROKER = "connector = 'kafka', properties.bootstrap.servers = 'b:9092'"
"""The options of all kafka tables but their topic."""
KAFKA_TABLES = (
    f"CREATE TABLE clicks (id INT, url STRING, ts TIMESTAMP(3)) WITH ({BROKER}, topic = 'clicks',"
    f" format = 'json'); CREATE TABLE carts (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - '5'"
    f" SECOND) WITH ({BROKER}, topic = 'carts', format = 'json');\n"
)
"""Kafka tables, one with the default watermark and one with its own; a case begins in line 2."""


def kafka_job(sql: str, **overrides: str) -> Job:
    """The job of ``sql`` after `KAFKA_TABLES`."""
    return compile(KAFKA_TABLES + sql, "f.sql", overrides)


def listings(text: str) -> list[Listing]:
    """What DESCRIBE and SHOW answer in a file."""
    found = []
    for answer in compile_file(text, "f.sql", {}).descriptions:
        assert isinstance(answer, Listing)
        found.append(answer)
    return found


def kafka_plan(sql: str) -> str:
    """The plans of the sinks of ``sql`` after `KAFKA_TABLES`, with a blank line between."""
    return "\n\n".join("\n".join(lines(sink)) for sink in kafka_job(sql).sinks)


def tables_of(compiled: Job) -> dict[str, Table]:
    """The tables that a job reads, each of which must be one."""
    scans = {
        node.table for sink in compiled.sinks for node in sink.walk() if isinstance(node, Scan)
    }
    found = {table.name: table for table in scans}
    assert len(found) == len(scans), "a source is read once"
    return found


def filters_of(compiled: Job) -> list[WatermarkFilter]:
    """The watermark filters of a job, each once, in the order of the file."""
    nodes = (node for sink in compiled.sinks for node in sink.walk())
    return list(dict.fromkeys(node for node in nodes if isinstance(node, WatermarkFilter)))


def job(sql: str, **overrides: str) -> Job:
    """The job of ``sql`` after `TABLES`."""
    return compile(TABLES + sql, "f.sql", overrides)


def plan(sql: str) -> str:
    """The plan of the one sink of ``sql``, a node a line, the sink first."""
    (sink,) = job(sql).sinks
    return "\n".join(lines(sink))


def lines(node: Node) -> list[str]:
    """``node`` and what is below it."""
    return [_line(node), *(line for below in node.inputs for line in lines(below))]


def _line(node: Node) -> str:
    match node:
        case Scan():
            computed = "".join(f", {name} = {expr.sql}" for name, expr in node.computed)
            return f"Scan {node.account}{computed}"
        case WatermarkFilter():
            return f"WatermarkFilter {node.id} ({node.account}): {node.strategy.sql}"
        case Project():
            return "Project " + ", ".join(f"{name} = {expr.sql}" for name, expr in node.columns)
        case Filter():
            return f"Filter {node.predicate.sql}"
        case Tumble():
            time = " with window_time" * node.with_time
            return f"Tumble {node.time_column} size {node.size} offset {node.offset}{time}"
        case Aggregate():
            calls = "".join(
                f", {call.output.name} = {call.function}({'distinct ' * call.distinct}"
                f"{call.argument or '*'})"
                + (f" where {call.where}" if call.where else "")
                + (f" order {', '.join(k.column for k in call.order)}" if call.order else "")
                for call in node.calls
            )
            closing = f" closing {node.closing_key}" if node.closing_key else ""
            updates = " on update" if node.updates else ""
            return f"Aggregate by {', '.join(node.keys)}{closing}{updates}{calls}"
        case Sort():
            keys = "".join(f", {key.column} {key.sql}" for key in node.keys)
            return f"Sort {node.column}{keys} ties {', '.join(node.ties)}"
        case Join():
            keys = "".join(f", {left} = {right}" for left, right in node.keys)
            where = f" where {node.condition.sql}" if node.condition else ""
            between = f"{node.times[1]} - {node.times[0]} in {node.lower}..{node.upper}"
            return f"Join {node.kind} {between}{keys}{where}"
        case OverWindow():
            order = ", ".join(f"{key.column} {key.sql}" for key in node.order)
            parts = [f"by {', '.join(node.keys)}"] * bool(node.keys) + [f"order {order}"] * bool(
                order
            )
            return f"Over {' '.join(parts)} at {node.time}: {', '.join(map(_call, node.calls))}"
        case Union():
            return f"Union {_columns(node)}"
        case Sink():
            return f"Sink {node.table.name} {node.table.connector}: {_columns(node)}"
    raise AssertionError(node)


def _call(call: OverCall) -> str:
    """``n = sum(price) rows -2..0 where flag``, ``l = lag(price, 2, d)``."""
    arguments = [*call.arguments, *[str(call.offset)] * bool(call.offset)]
    arguments += [call.default] if call.default else []
    frame = f" {_frame(call.frame)}" if call.frame else ""
    where = f" where {call.where}" if call.where else ""
    return f"{call.output.name} = {call.function}({', '.join(arguments)}){frame}{where}"


def _frame(frame: Frame) -> str:
    start, end = ("" if edge is None else edge for edge in (frame.start, frame.end))
    return f"{'rows' if frame.in_rows else 'range'} {start}..{end}"


def _columns(node: Node) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in node.schema)
