from __future__ import annotations

import pytest

from kits.frontend import job, plan
from tidegate.errors import BindError, SqlError, UnsupportedError
from tidegate.plan.changes import is_changing

_GROUPS = "(SELECT id, max(order_time) AS t, count(*) AS n FROM orders GROUP BY id)"
_TOPIC = (
    "CREATE TABLE u (id BIGINT, n BIGINT{key}) WITH (connector = 'upsert-kafka', topic = 'u',"
    " 'properties.bootstrap.servers' = 'b:1', format = 'json'{more}); INSERT INTO u "
)
_BY_ID = "SELECT id, count(*) FROM orders GROUP BY id"


@pytest.mark.parametrize(
    ("query", "what"),
    [
        (f"SELECT n, count(*) FROM {_GROUPS} GROUP BY n", "GROUP BY over"),
        (f"SELECT DISTINCT n FROM {_GROUPS}", "DISTINCT over"),
        (f"SELECT sum(n) FROM {_GROUPS}", "GROUP BY over"),
        (f"SELECT id, row_number() OVER (PARTITION BY n ORDER BY t) FROM {_GROUPS}", "OVER"),
        (f"SELECT * FROM TUMBLE({_GROUPS}, t, INTERVAL '1' HOUR)", "windows of"),
        (f"SELECT a.n FROM {_GROUPS} AS a JOIN orders AS o ON a.t = o.order_time", "a join of"),
    ],
)
def test_what_cannot_be_done_with_results_that_change(query: str, what: str) -> None:
    with pytest.raises(SqlError) as caught:
        job(query)
    assert caught.value.position is not None
    if isinstance(caught.value, UnsupportedError):
        assert caught.value.message == f"{what} results that change is not supported"
        assert "EMIT ON WINDOW CLOSE" in caught.value.hint
    else:  # an order without a watermark is refused before
        assert what == "OVER"


def test_projections_filters_and_unions_take_changes() -> None:
    text = plan(f"SELECT n + 1 AS m FROM {_GROUPS} WHERE id > 3 UNION ALL SELECT n FROM {_GROUPS}")
    assert "on update" in text


def test_an_upsert_topic_has_the_primary_key_of_its_table() -> None:
    (sink,) = job(_TOPIC.format(key=", PRIMARY KEY (id) NOT ENFORCED", more="") + _BY_ID).sinks
    assert sink.table.connector == "kafka"
    assert (sink.table.option("type"), sink.table.option("key.fields")) == ("upsert", "id")


def test_risingwave_says_it_with_options() -> None:
    options = "connector = 'kafka', topic = 'u', properties.bootstrap.server = 'b:1'"
    head = f"CREATE SINK u AS {_BY_ID} WITH ({options}, primary_key = 'id'"
    for rest in (", type = 'upsert') FORMAT PLAIN ENCODE JSON", ") FORMAT UPSERT ENCODE JSON"):
        (sink,) = job(head + rest).sinks
        assert (sink.table.option("type"), sink.table.option("key.fields")) == ("upsert", "id")


@pytest.mark.parametrize(
    ("key", "more", "query", "says"),
    [
        ("", "", _BY_ID, "without a key"),
        (
            ", PRIMARY KEY (n)",
            "",
            _BY_ID,
            "the key of 'u' is n, but the rows of the query are told apart by id",
        ),
        (", PRIMARY KEY (id)", "", "SELECT min(id), count(*) FROM orders", "nothing, there is one"),
        (
            ", PRIMARY KEY (id)",
            "",
            "SELECT min(price)::BIGINT, count(*) FROM orders GROUP BY id",
            "nothing in 'u' tells the results apart",
        ),
        (", PRIMARY KEY (id)", ", 'sink.partitioner' = 'fixed'", _BY_ID, "go by their key"),
    ],
)
def test_a_key_that_does_not_fit(key: str, more: str, query: str, says: str) -> None:
    with pytest.raises(BindError) as caught:
        job(_TOPIC.format(key=key, more=more) + query)
    assert says in caught.value.message


@pytest.mark.slow
def test_a_materialized_view_is_a_delta_table_and_can_be_read() -> None:
    view = f"CREATE MATERIALIZED VIEW v (k, n) AS {_BY_ID}"
    final = f"{view.replace(' v ', ' w ')}, order_time EMIT ON WINDOW CLOSE".replace("(k, n)", "")
    sinks = job(f"{view}; {final}; SELECT k FROM v WHERE n > 1").sinks
    assert [(s.table.name, s.table.connector) for s in sinks] == [
        ("v", "delta"), ("w", "delta"), ("print", "print"),
    ]  # fmt: skip
    assert [s.table.option("key.fields") for s in sinks] == ["k", "", ""]
    assert is_changing(sinks[2])
    (declared,) = job(
        "CREATE TABLE d (id BIGINT, n BIGINT, PRIMARY KEY (id) NOT ENFORCED)"
        f" WITH (connector = 'delta', path = '/d'); INSERT INTO d {_BY_ID}"
    ).sinks
    assert (declared.table.option("path"), declared.table.option("key.fields")) == ("/d", "id")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT count(*) AS n FROM orders GROUP BY id", "nothing in 'v' tells the results apart"),
        ("SELECT id, max(order_time::TIME) AS s FROM orders GROUP BY id", "Delta has not"),
    ],
)
def test_a_materialized_view_that_cannot_be(query: str, says: str) -> None:
    with pytest.raises(BindError) as caught:
        job(f"CREATE MATERIALIZED VIEW v AS {query}")
    assert says in caught.value.message


def test_an_upsert_topic_is_not_read() -> None:
    text = _TOPIC.format(key=", PRIMARY KEY (id)", more="").partition(";")[0]
    with pytest.raises(UnsupportedError, match="reading one is not supported"):
        job(f"{text}; SELECT id FROM u")


def test_a_sink_that_keeps_all_it_gets_takes_no_changes() -> None:
    with pytest.raises(BindError) as caught:
        job(f"INSERT INTO target (id) {_BY_ID.replace(', count(*)', '')}")
    assert caught.value.message == (
        "this query updates its results, and 'target' (filesystem) takes only final rows"
    )
    assert "upsert-kafka" in caught.value.hint
