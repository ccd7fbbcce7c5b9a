"""What is said of logins that go where TLS is off, or does not look at who answers."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.connectors.kafka.connector import CONNECTOR
from unit.connectors.kafka.kafka_kit import table

A = ("a", "BIGINT")
LOGIN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "me",
    "sasl.password": "${env:NO_SUCH}",
}


def said(servers: str = "kafka-1:9092,localhost:9092", **properties: str) -> list[str]:
    """What is said of a table with LOGIN, but for ``properties``, whose dots are ``_``."""
    own = {name.replace("_", "."): value for name, value in properties.items()}
    options: dict[str, Any] = {
        f"properties_{n}".replace(".", "_"): v for n, v in {**LOGIN, **own}.items() if v
    }
    given = table(A, properties_bootstrap_servers=servers, **options)
    return list(CONNECTOR.exposes(given))


def test_a_login_by_tls_is_no_matter() -> None:
    assert said() == []
    assert said(sasl_mechanism="SCRAM-SHA-512", enable_ssl_certificate_verification="true") == []


def test_a_login_without_tls() -> None:
    (line,) = said(security_protocol="sasl_plaintext")
    assert line.startswith("the login at kafka-1 goes without TLS (properties.security.protocol =")
    assert "use SASL_SSL" in line
    (line,) = said("SASL_PLAINTEXT://10.0.0.1:1", security_protocol="SASL_PLAINTEXT")
    assert "at 10.0.0.1 goes" in line


def test_this_machine_has_no_way_to_read_on() -> None:
    assert said("127.0.0.1:9092,[::1]:9092", security_protocol="SASL_PLAINTEXT") == []


@pytest.mark.parametrize(
    "without",
    [
        {"security_protocol": "PLAINTEXT"},
        {"security_protocol": "SSL", "enable_ssl_certificate_verification": "false"},
        {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "GSSAPI"},
    ],
)
def test_where_nothing_is_sent_nothing_is_said(without: dict[str, str]) -> None:
    assert said(**without) == []


def test_a_certificate_that_is_not_looked_at() -> None:
    (line,) = said(enable_ssl_certificate_verification="false")
    assert "goes to whoever answers" in line
    (line,) = said(ssl_endpoint_identification_algorithm="none")
    assert "goes to whoever has any certificate" in line


def test_references_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(security_protocol="${env:NO_SUCH}") == []
    monkeypatch.setenv("PROTOCOL", "SASL_PLAINTEXT")
    assert len(said(security_protocol="${env:PROTOCOL}")) == 1


def test_tokens_from_a_server_without_tls() -> None:
    (line,) = said(
        sasl_mechanism="OAUTHBEARER", sasl_oauthbearer_token_endpoint_url="http://idp:80/token"
    )
    assert line.startswith("the client's secret goes to idp without TLS")


def test_a_registry_without_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    def registry(url: str, user: str = "${env:NO_SUCH}") -> list[str]:
        given: dict[str, Any] = {
            "avro__confluent_url": url,
            "avro__confluent_basic__auth_user__info": user,
        }
        return list(CONNECTOR.exposes(table(A, **{n: v for n, v in given.items() if v})))

    (line,) = registry("https://a, http://registry:8081")
    assert line.startswith("user and password go to the schema registry at registry without TLS")
    assert registry("https://registry") == registry("http://localhost:8081") == []
    assert registry("http://registry", "") == []
    monkeypatch.setenv("WITH_USER", "me:sesame@registry")
    (line,) = registry("http://${env:WITH_USER}", "")
    assert "sesame" not in line
