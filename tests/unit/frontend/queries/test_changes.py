from __future__ import annotations

import pytest

from kits.frontend import job, plan
from tidegate.errors import BindError, UnsupportedError
from tidegate.plan.changes import changing_key, is_changing

_GROUPS = "(SELECT id, max(order_time) AS t, count(*) AS n FROM orders GROUP BY id)"
_AS_OF = f"{_GROUPS} FOR SYSTEM_TIME AS OF o.order_time AS a"
_HOURS = (
    "(SELECT window_end, count(*) AS n FROM TUMBLE(orders, order_time, INTERVAL '1' HOUR)"
    " GROUP BY window_end)"
)
_EARLY = "EMIT ON WINDOW CLOSE EARLY EVERY INTERVAL '1' MINUTE"
_LIVE = (
    "CREATE TABLE live (id BIGINT, x BIGINT, at TIMESTAMP, WATERMARK FOR at AS at)"
    " WITH (connector = 'filesystem', path = '/tmp', format = 'json',"
    " 'source.monitor-interval' = '1 s');"
)
_TOPIC = (
    "CREATE TABLE u (id BIGINT, n BIGINT{key}) WITH (connector = 'upsert-kafka', topic = 'u',"
    " 'properties.bootstrap.servers' = 'b:1', format = 'json'{more}); INSERT INTO u "
)
_BY_ID = "SELECT id, count(*) FROM orders GROUP BY id"


_LATEST = (
    "SELECT id, price FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY order_time DESC)"
    " AS rn FROM orders) WHERE rn = 1"
)


def test_windows_of_results_that_change_change() -> None:
    query = f"SELECT window_end, count(*) AS n FROM TUMBLE({_GROUPS}, t, INTERVAL '1' HOUR)"
    (sink,) = job(f"CREATE MATERIALIZED VIEW v AS {query} GROUP BY window_end").sinks
    assert is_changing(sink)
    assert changing_key(sink) == ("window_end",)


@pytest.mark.parametrize(
    ("query", "what"),
    [
        (f"SELECT o.id FROM orders o JOIN {_AS_OF} ON a.id = o.id", "FOR SYSTEM_TIME AS OF"),
        (
            f"SELECT a.n FROM {_HOURS} a JOIN orders o ON a.window_end = o.order_time {_EARLY}",
            "EMIT ON WINDOW CLOSE of a join of",
        ),
    ],
)
def test_what_cannot_be_done_with_results_that_change(query: str, what: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        job(query)
    assert caught.value.position is not None
    assert caught.value.message == f"{what} results that change is not supported"


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT n, count(*) FROM {_GROUPS} GROUP BY n",
        f"SELECT DISTINCT n FROM {_GROUPS}",
        f"SELECT sum(n) FROM {_GROUPS}",
        f"SELECT id, row_number() OVER (PARTITION BY n ORDER BY t) FROM {_GROUPS}",
        f"SELECT a.n FROM {_GROUPS} AS a LEFT JOIN orders AS o ON a.t = o.order_time",
        _LATEST,
    ],
)
def test_what_is_computed_anew_changes_too(query: str) -> None:
    (sink,) = job(query).sinks
    assert is_changing(sink.input)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (
            "SELECT sum(id) OVER (PARTITION BY x) FROM live",
            "Over sum(id) OVER (PARTITION BY x) by x",
        ),
        ("SELECT live.id FROM live JOIN orders o ON live.id = o.id ALLOW UNBOUNDED", ""),
        ("SELECT sum(id) OVER (PARTITION BY x) FROM live ALLOW UNBOUNDED", ""),
        (f"SELECT live.id FROM live JOIN {_GROUPS} g ON live.id = g.id", "Join inner on id = id#2"),
    ],
)
def test_what_would_be_kept_for_ever_is_said(query: str, says: str) -> None:
    if not says:
        assert job(_LIVE + query).sinks
        return
    with pytest.raises(BindError) as caught:
        job(_LIVE + query)
    assert caught.value.message.startswith(says)
    assert caught.value.message.endswith("all rows of live would be kept for ever")
    assert "ALLOW UNBOUNDED" in caught.value.hint


@pytest.mark.parametrize(
    ("query", "key"),
    [
        (_LATEST, ("id",)),
        (_LATEST.replace("rn = 1", "rn <= 2").replace("id, price", "id, rn"), ("id", "rn")),
        (_LATEST.replace("rn = 1", "rn <= 2"), None),
        (_LATEST.replace("row_number", "rank").replace("id, price", "id, rn"), None),
        (f"SELECT a.id, b.n FROM {_GROUPS} a JOIN {_GROUPS} b ON a.n = b.id", ("id",)),
        (
            f"SELECT a.id, b.id AS o FROM {_GROUPS} a JOIN {_GROUPS} b ON a.n = b.n",
            ("id", "o"),
        ),
        (f"SELECT a.id, b.n FROM {_GROUPS} a JOIN {_GROUPS} b ON a.n = b.n", None),
        (f"SELECT a.id, b.id AS o FROM {_GROUPS} a FULL JOIN {_GROUPS} b ON a.n = b.n", None),
    ],
)
def test_what_tells_rows_apart(query: str, key: tuple[str, ...] | None) -> None:
    (sink,) = job(query).sinks
    assert changing_key(sink.input) == key


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT n, PROC_TIME() AS p FROM {_GROUPS}",
        f"SELECT n FROM {_GROUPS} WHERE n > extract(hour FROM now())",
        f"SELECT a.n FROM {_GROUPS} a JOIN orders o ON a.id = o.id AND a.t < now()",
    ],
)
def test_the_clock_is_not_read_of_rows_that_may_be_taken_back(query: str) -> None:
    with pytest.raises(UnsupportedError, match="the clock over results that change"):
        job(query)
    assert job("SELECT id, max(p) FROM (SELECT id, PROC_TIME() AS p FROM orders) GROUP BY id")


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


def test_a_materialized_view_of_a_type_that_delta_has_not() -> None:
    with pytest.raises(BindError, match="Delta has not"):
        job(
            "CREATE MATERIALIZED VIEW v AS SELECT id, max(order_time::TIME) AS s FROM orders"
            " GROUP BY id"
        )


def test_a_view_whose_rows_nothing_tells_apart_counts_equal_ones() -> None:
    (sink,) = job(
        "CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM orders GROUP BY id"
    ).sinks
    assert (sink.table.option("changes.by"), sink.table.option("key.fields")) == ("row", "")


def test_an_upsert_topic_is_read_as_a_table_that_changes() -> None:
    text = _TOPIC.format(key=", PRIMARY KEY (id)", more="").partition(";")[0]
    assert is_changing(job(f"{text}; SELECT id FROM u").sinks[0])


def test_a_sink_that_keeps_all_it_gets_takes_no_changes() -> None:
    with pytest.raises(BindError) as caught:
        job(f"INSERT INTO target (id) {_BY_ID.replace(', count(*)', '')}")
    assert caught.value.message == (
        "this query updates its results, and 'target' (filesystem) takes only final rows"
    )
    assert "upsert-kafka" in caught.value.hint
