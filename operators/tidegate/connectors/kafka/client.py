"""Clients of a cluster: how they are made, and what their errors mean to a user.

librdkafka tells of trouble in two ways: results of calls, and events in the background ("no broker
can be reached", "authentication failed") while it tries again. `Trouble` collects the latter, so
that a wait that ends in vain can say why.

    authentication or authorisation refused     OptionsError (2): the file's credentials are wrong
    unknown topic                               OptionsError (2)
    no broker can be reached                    RunError (1): it may be there the next time
    topic recreated, offsets lost               TrustError (4), raised by planner and reader
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException

from tidegate.connectors.kafka.options import KafkaOptions
from tidegate.connectors.secrets import has_reference, resolve
from tidegate.errors import OptionsError, RunError, TidegateError

REQUEST_S: Final = 10.0
"""How long one question to the cluster may take."""

_LOG: Final = logging.getLogger("tidegate.kafka")
_LOG.addHandler(logging.NullHandler())
_LOG.propagate = False

_REFUSED: Final = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError._SSL,
    }
)
_UNKNOWN_TOPIC: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.UNKNOWN_TOPIC_ID,
    }
)


@dataclass(slots=True)
class Trouble:
    """What a client said in the background since the last `clear`."""

    refused: KafkaError | None = None
    last: KafkaError | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def on_error(self, error: KafkaError) -> None:
        """librdkafka's ``error_cb``."""
        self.last = error
        if error.code() in _REFUSED:
            self.refused = error

    def clear(self) -> None:
        self.refused = self.last = None

    def reason(self) -> str:
        """The last word, without secrets."""
        error = self.refused or self.last
        text = "" if error is None else error.str()
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def config(options: KafkaOptions, trouble: Trouble, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a client: the table's properties, resolved, then ``extra``."""
    given = options.properties
    values = {name: resolve(value) for name, value in given.items()}
    hidden = [values[name] for name, value in given.items() if has_reference(value)]
    trouble.secrets = tuple(secret for secret in hidden if secret)
    ours = {"error_cb": trouble.on_error, "logger": _LOG, "socket.keepalive.enable": True}
    # A broker that is restarted is there again within seconds.
    ours |= {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 2_000}
    return {**ours, **values, **extra}


def made(kind: Any, configuration: Mapping[str, Any]) -> Any:
    """A client of class ``kind``. Raises OptionsError when a property is unknown or wrong."""
    try:
        return kind(dict(configuration))
    except KafkaException as error:
        problem: KafkaError = error.args[0]
        raise OptionsError(
            f"the Kafka client refuses the table's properties: {problem.str()}",
            hint="properties.* are librdkafka's: see its CONFIGURATION.md",
        ) from None


def is_unknown_topic(error: KafkaError) -> bool:
    """Whether the topic or partition does not exist."""
    return error.code() in _UNKNOWN_TOPIC


def is_refused(error: KafkaError) -> bool:
    """Whether credentials or rights are wrong: trying again does not help."""
    return error.code() in _REFUSED


def explained(what: str, servers: str, error: KafkaError | None, trouble: Trouble) -> TidegateError:
    """``what`` failed: the error that says why, with the exit code that fits."""
    told = trouble.reason()
    if (error is not None and is_refused(error)) or trouble.refused is not None:
        return OptionsError(
            f"{what}: the brokers at {servers} refuse it",
            detail=told or ("" if error is None else error.str()),
            hint="check the table's security properties (properties.security.protocol,"
            " properties.sasl.*), and the rights of that user",
        )
    return RunError(
        f"{what}: no answer from the brokers at {servers}",
        detail=told or ("" if error is None else error.str()),
        hint="check properties.bootstrap.servers, and that a broker is running there",
    )
