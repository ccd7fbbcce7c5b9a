from __future__ import annotations

import pytest

from kits.frontend import BROKER, kafka_job
from tidegate.connectors.registry import named
from tidegate.errors import BindError
from tidegate.frontend.ast.statements import Buckets, CreateTable
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file
from tidegate.frontend.tables.buckets import bound, bucket_options


def _buckets(clause: str) -> Buckets | None:
    source = Source("f.sql", f"CREATE TABLE t (a INT, b INT) {clause} WITH (connector = 'print')")
    (table,) = parse_file(source)
    assert isinstance(table, CreateTable)
    return table.buckets


def test_keys_are_columns() -> None:
    buckets = _buckets("DISTRIBUTED BY HASH(a) INTO 4 BUCKETS")
    found = bound(buckets, ["A"])
    assert found is not None
    assert [key.text for key in found.keys] == ["A"], "as the table spells it"
    with pytest.raises(BindError, match="no column 'a'"):
        bound(buckets, ["ab"])
    assert bound(None, []) is None


def test_what_a_sink_gets() -> None:
    buckets = _buckets("DISTRIBUTED BY HASH(a, b) INTO 4 BUCKETS")
    assert buckets is not None
    assert bucket_options("t", buckets, named("kafka"), {}) == {
        "key.fields": "a;b",
        "sink.buckets": "4",
    }
    said = {"primary_key": "a, b", "sink.buckets": "5"}
    assert bucket_options("t", buckets, named("kafka"), said) == {"key.fields": "a;b"}
    with pytest.raises(BindError, match="key of its messages is b, the buckets are by a, b"):
        bucket_options("t", buckets, named("kafka"), {"key.fields": "b"})
    with pytest.raises(BindError, match="'filesystem' has no buckets"):
        bucket_options("t", buckets, named("filesystem"), {})


def test_a_source_is_as_it_is() -> None:
    compiled = kafka_job(
        "CREATE TABLE wide (id INT) DISTRIBUTED BY HASH(id) INTO 4 BUCKETS"
        f" WITH ({BROKER}, topic = 'wide', format = 'json', 'changelog.mode' = 'append');"
        " INSERT INTO wide SELECT id FROM clicks; SELECT id FROM carts"
    )
    options = dict(compiled.sinks[0].table.options)
    assert (options["sink.buckets"], options["key.fields"]) == ("4", "id")
    assert "changelog.mode" not in options
    read = kafka_job(
        "CREATE TABLE wide (id INT) DISTRIBUTED BY HASH(id) INTO 4 BUCKETS"
        f" WITH ({BROKER}, topic = 'wide', format = 'json'); SELECT id FROM wide"
    )
    assert len(read.sinks) == 1
