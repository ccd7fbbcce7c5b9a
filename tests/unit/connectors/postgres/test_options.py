"""Options of `postgres` tables: what is read, and what is refused."""

from __future__ import annotations

import pytest

from tidegate.connectors.option_types import OptionProblem, parsed
from tidegate.connectors.options import validate_options
from tidegate.connectors.postgres.options import PostgresOptions, exposed

PLAIN = {"host": "db", "database": "shop", "table": "t"}


def read(**raw: str) -> PostgresOptions:
    given = {name.replace("_", "-"): value for name, value in raw.items()}
    pairs = validate_options("jdbc", "sink", given)
    return parsed(PostgresOptions, pairs)


def test_names_of_flink_and_risingwave() -> None:
    flink = read(url="jdbc:postgresql://db:5433/sh%20op", table_name="sales.t", username="u")
    assert str(flink.place) == "db:5433"
    assert (flink.place.database, flink.target, flink.user) == ("sh op", ("sales", "t"), "u")
    raw = {**PLAIN, "schema": "s", "primary_key": "a, b", "type": "upsert", "ssl_mode": "Require"}
    pairs = validate_options("postgres", "sink", raw)
    risingwave = parsed(PostgresOptions, pairs)
    assert risingwave.target == ("s", "t")
    assert (risingwave.key_fields, risingwave.sslmode) == (("a", "b"), "require")


@pytest.mark.parametrize(
    ("table", "schema", "target"),
    [
        ("t", "", ("public", "t")),
        ("s.t", "", ("s", "t")),
        ("s.t", "x", ("x", "s.t")),
        ("a.b.c", "", ("public", "a.b.c")),
        (".t", "", ("public", ".t")),
        ("s" * 63 + "." + "ä" * 31, "", ("s" * 63, "ä" * 31)),
    ],
)
def test_the_table_that_is_meant(table: str, schema: str, target: tuple[str, str]) -> None:
    assert read(**{**PLAIN, "table": table, "schema": schema}).target == target


def test_what_looks_like_a_secret_and_is_none() -> None:
    assert read(url="postgresql://db:5432/sh@op", table="t").place.database == "sh@op"
    assert read(**{**PLAIN, "host": "/run/postgresql", "database": "a@b"}).place.database == "a@b"


def test_several_hosts() -> None:
    many = read(url="postgresql://a,b:5433/shop", table="t").place
    assert (many.hosts, many.ports, str(many)) == ("a,b", "5432,5433", "a:5432,b:5433")
    assert str(read(**{**PLAIN, "host": "a,b"}).place) == "a:5432,b:5432"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"password": "geheim"}, "must be a reference"),
        ({"port": "0"}, "greater than or equal to 1"),
        ({"table": "x" * 64}, "at most 63 bytes"),
        ({"table": "x" * 64 + ".t"}, "at most 63 bytes"),
        ({"table": "t." + "x" * 64}, "at most 63 bytes"),
        ({"table": "s." + "x" * 62, "schema": "s"}, "at most 63 bytes"),
        ({"schema": "ä" * 32}, "at most 63 bytes"),
        ({"sink.epochs-table": ""}, "at least 1 character"),
        ({"sslmode": "maybe"}, "'disable', 'allow'"),
        ({"host": "u:geheim@db"}, "must be a reference"),
        ({"database": "postgresql://u:geheim@db/shop"}, "must be a reference"),
        ({"url": "jdbc:postgresql://db/shop"}, "write it once"),
        ({"database": ""}, "needs 'host' and 'database'"),
        ({"type": "append-only", "key.fields": "a"}, "leave out one of the two"),
        ({"connect.timeout": "5ms"}, "greater than or equal"),
        ({"sink.buffer-flush.max-rows": "5"}, "unknown option"),
    ],
)
def test_what_is_refused(raw: dict[str, str], words: str) -> None:
    with pytest.raises(OptionProblem) as caught:
        validate_options("postgres", "sink", {**PLAIN, **raw})
    assert words in caught.value.message
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "words", "secret"),
    [
        ("jdbc:mysql://db/shop", "write 'jdbc:postgresql://", False),
        ("jdbc:postgresql://db", "write 'jdbc:postgresql://", False),
        ("jdbc:postgresql://u:geheim@db/shop", "must be a reference", True),
        ("jdbc:postgresql://db/shop?user=u&password=geheim", "must be a reference", True),
        ("jdbc:postgresql://db/shop?sslpassword=geheim", "must be a reference", True),
        ("jdbc:postgresql://db/shop?ssl=1&PASS%57ORD=geheim", "must be a reference", True),
        ("postgresql://u:ge/heim@db/shop", "must be a reference", True),
        ("jdbc:postgresql://db/shop?password=${env:A}", "leave user and password out", True),
        ("postgresql://db/x?password=${env:A}&sslpassword=geheim", "leave user and", True),
        ("postgresql://u:geheim@db/${env:X}", "leave user and password out", True),
        ("jdbc:postgresql://db/shop?ssl=true", "'ssl' behind '?'", False),
        ("jdbc:postgresql://db:x/shop", "no HOST:PORT", False),
    ],
)
def test_urls_that_are_refused(url: str, words: str, secret: bool) -> None:
    with pytest.raises(OptionProblem) as caught:
        read(url=url, table="t")
    assert words in caught.value.message
    assert caught.value.secret == secret
    assert "geheim" not in str(caught.value)


def test_a_password_that_may_go_without_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(host: str = "db,/run/postgresql", **raw: str) -> list[str]:
        return list(exposed(read(**{**PLAIN, "host": host, **raw})))

    monkeypatch.delenv("PGPASSWORD", raising=False)
    (line,) = said(password="${env:P}")
    assert line.startswith("the password goes to db with 'sslmode' = 'prefer'")
    assert said(password="${env:P}", sslmode="require") == []
    assert said("localhost,127.0.0.1", password="${env:P}", sslmode="disable") == []
    assert said() == []
    monkeypatch.setenv("PGPASSWORD", "sesame")
    assert len(said(sslmode="allow")) == 1
