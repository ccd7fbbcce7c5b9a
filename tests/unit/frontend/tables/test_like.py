from __future__ import annotations

import pytest

from kits.frontend import TABLES, listings
from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend import compile_file
from tidegate.frontend.ast.statements import CreateTable
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file
from tidegate.frontend.tables.like import made_like

_BASE = (
    "CREATE TABLE base (id BIGINT PRIMARY KEY, t TIMESTAMP(3), day AS CAST(t AS DATE),"
    " k STRING METADATA FROM 'key', WATERMARK FOR t AS t - INTERVAL '5' SECOND)"
    " DISTRIBUTED BY HASH(id) INTO 4 BUCKETS WITH (connector = 'kafka', topic = 'base');"
)


def _like(sql: str) -> CreateTable:
    source = Source("f.sql", _BASE + sql)
    base, new = parse_file(source)
    assert isinstance(base, CreateTable)
    assert isinstance(new, CreateTable)
    return made_like(base, new)


def _columns(table: CreateTable) -> list[str]:
    return [column.name.text for column in table.columns]


def _options(table: CreateTable) -> dict[str, str]:
    return {option.key.value: option.value.value for option in table.options.items}


def test_all_is_taken_over_and_options_win() -> None:
    table = _like("CREATE TABLE more (extra INT) WITH (topic = 'more', format = 'json') LIKE base")
    assert _columns(table) == ["id", "t", "day", "k", "extra"]
    assert _options(table) == {"connector": "kafka", "topic": "more", "format": "json"}
    assert [mark.span.shown for mark in table.watermarks] == [
        "WATERMARK FOR t AS t - INTERVAL '5' SECOND"
    ]
    assert [key.text for key in table.keys] == ["id"]
    assert table.buckets is not None
    assert (table.like, table.name.text) == (None, "more")


@pytest.mark.parametrize(
    ("rules", "columns", "watermarks", "options", "keys", "buckets"),
    [
        ("EXCLUDING ALL", "id t", 0, 0, 0, False),
        ("EXCLUDING ALL INCLUDING WATERMARKS", "id t", 1, 0, 0, False),
        ("INCLUDING OPTIONS EXCLUDING ALL", "id t", 0, 2, 0, False),
        ("EXCLUDING GENERATED, EXCLUDING METADATA", "id t", 1, 2, 1, True),
        ("EXCLUDING CONSTRAINTS EXCLUDING DISTRIBUTION", "id t day k", 1, 2, 0, False),
        ("EXCLUDING WATERMARKS EXCLUDING OPTIONS", "id t day k", 0, 0, 1, True),
    ],
)  # fmt: skip
def test_what_is_left_out(
    rules: str, columns: str, watermarks: int, options: int, keys: int, buckets: bool
) -> None:
    table = _like(f"CREATE TABLE less LIKE base ({rules})")
    assert _columns(table) == columns.split()
    found = (len(table.watermarks), len(table.options.items), len(table.keys))
    assert found == (watermarks, options, keys)
    assert (table.buckets is not None) == buckets


def test_what_is_declared_anew() -> None:
    table = _like(
        "CREATE TABLE other (day AS CAST(t AS STRING), WATERMARK FOR t AS t)"
        " LIKE base (OVERWRITING GENERATED OVERWRITING WATERMARKS)"
    )
    assert _columns(table) == ["id", "t", "day", "k"]
    day = table.columns[2]
    assert day.computed is not None
    assert day.computed.span.shown == "CAST(t AS STRING)"
    assert [mark.strategy.span.shown for mark in table.watermarks] == ["t"]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("CREATE TABLE x (id INT) LIKE base", "column 'id' already exists"),
        ("CREATE TABLE x (day AS id + 1) LIKE base", "column 'day' already exists"),
        ("CREATE TABLE x (day INT) LIKE base (OVERWRITING GENERATED)", "'day' already exists"),
        ("CREATE TABLE x (WATERMARK FOR T AS t) LIKE base", "a watermark for t already exists"),
        ("CREATE TABLE x (a INT PRIMARY KEY) LIKE base", "has a PRIMARY KEY already"),
        (
            "CREATE TABLE x WITH (topic = 'y') LIKE base (INCLUDING OPTIONS)",
            "has the option 'topic' already",
        ),
    ],
)
def test_what_only_one_may_say(sql: str, said: str) -> None:
    with pytest.raises(BindError, match=said):
        _like(sql)


def test_a_table_is_not_like_a_view() -> None:
    sql = "CREATE VIEW v AS SELECT id FROM orders; CREATE TABLE x LIKE v; SELECT * FROM x"
    with pytest.raises(UnsupportedError, match="'v' is a view"):
        compile_file(TABLES + sql, "f.sql", {})


def test_in_a_job() -> None:
    sql = (
        "CREATE TABLE late WITH (path = 'late') LIKE orders;"
        " SELECT id FROM late ORDER BY order_time EMIT ON WINDOW CLOSE; DESCRIBE late"
    )
    (answer,) = listings(TABLES + sql.replace("SELECT id", "SELECT id, order_time"))
    assert answer.rows[1][1] == "TIMESTAMP *ROWTIME*"


@pytest.mark.parametrize(
    ("words", "format_", "options"),
    [
        ("WITH ('path' = 'q') FORMAT PLAIN ENCODE JSON", "json", {}),
        ("WITH ('path' = 'q', 'format' = 'parquet')", "", {"format": "parquet"}),
        ("WITH ('path' = 'q')", "", {"format": "csv", "csv.field-delimiter": ";"}),
    ],
)
def test_a_new_format_takes_the_place_of_the_other(
    words: str, format_: str, options: dict[str, str]
) -> None:
    source = Source(
        "f.sql",
        "CREATE TABLE a (i INT) WITH ('connector' = 'filesystem', 'path' = 'p', 'format' = 'csv',"
        f" 'csv.field-delimiter' = ';'); CREATE TABLE b {words} LIKE a",
    )
    base, new = parse_file(source)
    assert isinstance(base, CreateTable)
    assert isinstance(new, CreateTable)
    table = made_like(base, new)
    assert (table.options.encode.value if table.options.encode else "") == format_
    assert _options(table) == {"connector": "filesystem", "path": "q", **options}
