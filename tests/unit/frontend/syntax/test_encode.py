from __future__ import annotations

import pytest

from kits.frontend import BROKER, job, tables_of
from tidegate.errors import SqlError, UnsupportedError
from tidegate.frontend import compile


def _options(encode: str, with_: str = "") -> dict[str, str]:
    (sink,) = job(
        f"CREATE SINK s FROM plain WITH (connector = 'filesystem', path = 'x'{with_})"
        f" FORMAT PLAIN ENCODE {encode}"
    ).sinks
    return {name: value for name, value in sink.table.options if name != "path"}


@pytest.mark.parametrize(
    ("encode", "options"),
    [
        ("JSON", {"format": "json"}),
        ("JSON ()", {"format": "json"}),
        ("JSON (force_append_only = 'true')", {"format": "json"}),
        ("CSV (delimiter = ';')", {"format": "csv", "csv.field-delimiter": ";"}),
        ("CSV (without_header = 'false', 'csv.null-literal' = '-')",
         {"format": "csv", "csv.header": "true", "csv.null-literal": "-"}),
        ("CSV (without_header = true)", {"format": "csv", "csv.header": "false"}),
    ],
)  # fmt: skip
def test_options_of_encode_are_options_of_with(encode: str, options: dict[str, str]) -> None:
    assert _options(encode).items() >= options.items()


@pytest.mark.parametrize("encode", ["JSON", "PARQUET", "CSV"])
def test_other_options_are_refused_by_name(encode: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        _options(f"{encode} (timestamptz.handling.mode = 'utc_string')")
    assert f"option 'timestamptz.handling.mode' of ENCODE {encode}" in caught.value.message
    assert caught.value.hint.startswith("leave it out")
    assert caught.value.position is not None
    assert caught.value.position.width == len("timestamptz.handling.mode")


@pytest.mark.parametrize(
    ("encode", "said"),
    [
        ("CSV (delimiter = ';', delimiter = ',')", "given twice"),
        ("CSV (without_header = 'perhaps')", "is true or false, not 'perhaps'"),
        ("CSV (csv.header = 'true')", "given in WITH and behind ENCODE"),
    ],
)
def test_contradictions(encode: str, said: str) -> None:
    with pytest.raises(SqlError, match=said):
        _options(encode, ", csv.header = 'false'")


def test_tables_take_them_too() -> None:
    (sink,) = job(
        "CREATE TABLE t (a INT) WITH (connector = 'filesystem', path = 'x')"
        " FORMAT PLAIN ENCODE CSV (delimiter = '|'); INSERT INTO t SELECT 1 FROM plain"
    ).sinks
    assert dict(sink.table.options)["csv.field-delimiter"] == "|"


@pytest.mark.parametrize(
    ("encode", "options"),
    [
        ("BYTES", {"format": "raw"}),
        (
            "AVRO (schema.registry = 'http://r:8081')",
            {"format": "avro-confluent", "avro-confluent.url": "http://r:8081"},
        ),
        (
            (
                "AVRO (schema.registry = 'https://r', 'schema.registry.username' = 'me',"
                " schema.registry.password = '${env:PASSWORD}', schema.registry.ca = '/ca.pem')"
            ),
            {
                "avro-confluent.url": "https://r",
                "avro-confluent.basic-auth.user-info": "me:${env:PASSWORD}",
                "avro-confluent.ssl.ca.location": "/ca.pem",
            },
        ),
    ],
    ids=["bytes", "registry", "user"],
)  # fmt: skip
def test_encodings_of_topics(encode: str, options: dict[str, str]) -> None:
    sql = f"CREATE SOURCE k (v BYTEA) WITH ({BROKER}, topic = 'k') FORMAT PLAIN ENCODE {encode};"
    table = tables_of(compile(f"{sql} SELECT * FROM k", "f.sql", {}))["k"]
    assert dict(table.options).items() >= options.items()
