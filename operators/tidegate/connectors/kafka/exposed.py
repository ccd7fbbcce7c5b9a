"""Where a table sends a password or token so that others on the way may have it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from tidegate.connectors.hosts import host_of, remote
from tidegate.connectors.kafka.options import KafkaOptions
from tidegate.connectors.secrets import resolve
from tidegate.errors import OptionsError

_OFF: Final = ("false", "f", "0")
"""As librdkafka reads a boolean."""
_TOKENS_FROM: Final = "sasl.oauthbearer.token.endpoint.url"


def exposed(options: KafkaOptions) -> Iterator[str]:
    """See `tidegate.connectors.connector.Connector.exposes`. Nothing is said of what cannot be
    resolved: no client is made of it."""
    with suppress(OptionsError):
        yield from _to_brokers(options)
    with suppress(OptionsError):
        yield from _to_registry(options)


def _to_brokers(options: KafkaOptions) -> Iterator[str]:
    known = options.properties

    def said(name: str, default: str = "") -> str:
        return resolve(known.get(name, default)).strip()

    protocol = said("security.protocol", "plaintext").upper()
    mechanism = said("sasl.mechanism") or said("sasl.mechanisms", "GSSAPI")
    if not protocol.startswith("SASL") or mechanism.upper() == "GSSAPI":
        return  # nothing is sent, or tickets, which are of no use to others
    tokens = said(_TOKENS_FROM)
    if tokens.lower().startswith("http://") and remote([host_of(tokens)]):
        yield (
            f"the client's secret goes to {host_of(tokens)} without TLS (properties.{_TOKENS_FROM}"
            " begins with http://): whoever is on the way may read it; use https://"
        )
    away = remote(host_of(each) for each in said("bootstrap.servers").split(","))
    if not away:
        return
    what = f"the login at {', '.join(away)}"
    if protocol == "SASL_PLAINTEXT":
        yield (
            f"{what} goes without TLS (properties.security.protocol = SASL_PLAINTEXT): whoever is"
            " on the way may read it, and the messages; use SASL_SSL"
        )
    elif said("enable.ssl.certificate.verification", "true").lower() in _OFF:
        yield (
            f"{what} goes to whoever answers (properties.enable.ssl.certificate.verification ="
            " false): leave that out, and name who signs in properties.ssl.ca.location"
        )
    elif said("ssl.endpoint.identification.algorithm", "https").lower() == "none":
        yield (
            f"{what} goes to whoever has any certificate that is signed (properties.ssl.endpoint"
            ".identification.algorithm = none): leave that out"
        )


def _to_registry(options: KafkaOptions) -> Iterator[str]:
    if not options.registry_url:
        return
    urls = [each.strip() for each in resolve(options.registry_url).split(",")]
    plain = [each for each in urls if each.lower().startswith("http://")]
    with_user = [each for each in plain if options.registry_user or "@" in each.split("/")[2]]
    away = remote(map(host_of, with_user))
    if away:
        yield (
            f"user and password go to the schema registry at {', '.join(away)} without TLS"
            " ('avro-confluent.url' begins with http://): whoever is on the way may read them; use"
            " https://"
        )
