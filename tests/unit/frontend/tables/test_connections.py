from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.errors import BindError
from tidegate.frontend import compile
from tidegate.frontend.ast.statements import CreateTable
from tidegate.frontend.ast.uses import Uses
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file
from tidegate.frontend.tables.connections import connect
from tidegate.plan.nodes import Scan

_SQL = "CREATE TABLE t (a INT) WITH (Connector = 'filesystem', path = 'x') FORMAT PLAIN ENCODE CSV"


def _entry() -> CreateTable:
    (entry,) = parse_file(Source("f.sql", _SQL))
    assert isinstance(entry, CreateTable)
    return entry


def test_encode_is_the_format_and_hints_win() -> None:
    plain = connect("table 't'", _entry().options, (), "source")
    assert (plain.connector, plain.format, dict(plain.options)["path"]) == (
        "filesystem",
        "csv",
        "x",
    )
    hinted = parse_file(Source("f.sql", "SELECT a FROM T /*+ OPTIONS('PATH' = 'y') */"))
    hints = dict(Uses.of(hinted).hints)["t"]
    assert dict(connect("t", _entry().options, hints, "source").options)["path"] == "y"


def test_a_job_knows_where_its_sources_say_what_they_read() -> None:
    compiled = job("SELECT p.id FROM plain p; SELECT id FROM orders /*+ OPTIONS('path' = 'y') */")
    assert [(name, place.line) for name, place in compiled.places] == [("orders", 2), ("plain", 1)]
    (orders, plain) = (place for _, place in compiled.places)
    assert orders.source_line[orders.column - 1 :].startswith("'y'")
    assert plain.source_line[plain.column - 1 :].startswith("'p'")
    generated = "CREATE TABLE g (id INT) WITH (connector = 'datagen'); SELECT id FROM g"
    ((_, place),) = job(generated).places
    assert place.source_line[place.column - 1 :].startswith("WITH")


def _kafka(options: str, hint: str = "") -> str:
    broker = "connector = 'kafka', format = 'json', 'properties.bootstrap.servers' = 'b:1'"
    return f"CREATE TABLE t (a BIGINT) WITH ({broker}, {options}); SELECT a FROM t {hint}"


def test_a_hint_wins_over_the_same_option_by_another_name() -> None:
    job = compile(_kafka("topics = 'one'", "/*+ OPTIONS('topic' = 'two') */"), "f.sql", {})
    (table,) = {node.table for node in job.sinks[0].walk() if isinstance(node, Scan)}
    assert table.option("topic") == "two"
    moment = "topic = 't', 'scan.startup.mode' = 'timestamp', 'scan.startup.timestamp-millis' = '5'"
    hint = "/*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */"
    assert compile(_kafka(moment, hint), "f.sql", {}).sinks


def test_a_secret_is_not_shown_where_it_is_refused() -> None:
    with pytest.raises(BindError, match="must be a reference") as caught:
        compile(_kafka("topic = 't', 'properties.sasl.password' = 'hunter2'"), "f.sql", {})
    assert "hunter2" not in caught.value.render()
    assert "'***'" in caught.value.render()


@pytest.mark.parametrize(
    "path", ["s3://AKIA:hunter2@bucket/in", "s3a://b/in?secret_key=hunter2", "gs://a:hunter2/x@b"]
)
def test_a_uri_with_credentials_is_refused_and_not_shown(path: str) -> None:
    given = f"connector = 'filesystem', format = 'json', path = '{path}'"
    text = f"CREATE TABLE t (a BIGINT) WITH ({given}"
    with pytest.raises(BindError, match="credentials in it") as caught:
        compile(f"{text}); SELECT a FROM t", "f.sql", {})
    assert "hunter2" not in caught.value.render()
    with pytest.raises(BindError, match="pathh") as caught:
        compile(f"{text}, pathh = 'x'); SELECT a FROM t", "f.sql", {})
    assert "hunter2" not in caught.value.render()
