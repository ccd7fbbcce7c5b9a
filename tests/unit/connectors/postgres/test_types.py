"""Columns: which a table of PostgreSQL can have, and whether one that is there is wide enough."""

from __future__ import annotations

import pytest

from tidegate.connectors.option_types import OptionProblem, parsed
from tidegate.connectors.postgres.options import PostgresOptions
from tidegate.connectors.postgres.types import check_postgres, holds, pg_type
from tidegate.plan.tables import Table
from tidegate.types import Column


@pytest.mark.parametrize(
    ("type_", "kept"),
    [
        ("DECIMAL(28, 10)", "numeric(28,10)"),
        ("TIMESTAMP", "timestamp without time zone"),
        ("STRUCT(a INTEGER, b DECIMAL(3, 1)[])", "jsonb"),
        ("STRUCT(a INTERVAL)", None),
        ("MAP(VARCHAR, BIGINT)", None),
        ("INTEGER[3]", None),
        ("INTERVAL", None),
    ],
)
def test_types(type_: str, kept: str | None) -> None:
    assert pg_type(type_) == kept


@pytest.mark.parametrize(
    ("there", "wanted", "fits"),
    [
        ("bigint", "integer", True),
        ("integer", "bigint", False),
        ("numeric", "bigint", True),
        ("numeric", "numeric(38,2)", True),
        ("numeric", "double precision", False),
        ("numeric(19,0)", "bigint", True),
        ("numeric(18,0)", "bigint", False),
        ("numeric(12,2)", "numeric(10,2)", True),
        ("numeric(10,4)", "numeric(10,2)", False),
        ("numeric(12,1)", "numeric(10,2)", False),
        ("bigint", "numeric(10,0)", False),
        ("double precision", "real", True),
        ("character varying", "text", True),
        ("character varying(20)", "text", False),
        ("timestamp(3) without time zone", "timestamp without time zone", False),
        ("timestamp with time zone", "timestamp without time zone", False),
    ],
)
def test_a_column_that_is_there(there: str, wanted: str, fits: bool) -> None:
    assert holds(there, wanted) == fits


@pytest.mark.parametrize(
    ("column", "more", "words"),
    [
        (("d", "INTERVAL"), {}, "is INTERVAL"),
        (("d" * 64, "BIGINT"), {}, "at most 63 bytes"),
        (("d", "BIGINT"), {"key.fields": "e"}, "which is not a column"),
        (("d", "BIGINT[]"), {"key.fields": "d"}, "cannot be in a key"),
        (("d", "BIGINT"), {"key.fields": ""}, "names no column"),
        (("d", "BIGINT"), {"type": "upsert"}, "without a key"),
    ],
)
def test_what_is_refused(column: tuple[str, str], more: dict[str, str], words: str) -> None:
    pairs = tuple({"host": "h", "database": "d", "table": "t", **more}.items())
    table = Table("t", (Column(*column),), "postgres", "", pairs)
    with pytest.raises(OptionProblem) as caught:
        check_postgres(table, parsed(PostgresOptions, pairs))
    assert words in caught.value.message
