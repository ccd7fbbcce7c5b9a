"""Clients of a cluster: how they are made, and what their errors mean to a user.

librdkafka tells of trouble in two ways: results of calls, and events in the background ("no broker
can be reached", "authentication failed") while it tries again. `Trouble` collects the latter, so
that a wait that ends in vain can say why. From some kinds it does not recover (`quirks`): then
`Trouble.is_stuck`, and another client must take its place.

    authentication or authorisation refused     OptionsError (2): the file's credentials are wrong
    unknown topic                               OptionsError (2)
    no broker can be reached                    RunError (1): it may be there the next time
    topic recreated, offsets lost               TrustError (4), raised by planner and reader
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException

from tidegate.connectors.kafka.options import KafkaOptions
from tidegate.connectors.kafka.quirks import BrokenLogin, MissedLeader, NeedlessGroup
from tidegate.connectors.secrets import masked, resolved
from tidegate.errors import OptionsError, RunError, TidegateError

_REFUSED: Final = (
    KafkaError._AUTHENTICATION,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError._SSL,
)
_UNKNOWN_TOPIC: Final = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.UNKNOWN_TOPIC_ID,
)


@dataclass(slots=True)
class Trouble:
    """What a client said in the background since the last `clear`. It is its ``error_cb``."""

    refused: KafkaError | None = None
    last: KafkaError | None = None
    is_stuck: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def __call__(self, error: KafkaError) -> None:
        # That none of the brokers is left says less than why the last one went.
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self.last = error
        if is_refused(error) and not NeedlessGroup.is_it(error):
            self.refused = error

    def stick(self) -> None:
        """Another client must take the place of this one."""
        self.is_stuck = True

    def clear(self) -> None:
        """Forgets what was said. It stays stuck."""
        self.refused = self.last = None

    def reason(self, error: KafkaError | None = None) -> str:
        """The last word, else ``error``, without secrets."""
        known = self.refused or self.last or error
        return "" if known is None else self.masked(known.str())

    def masked(self, text: str) -> str:
        """``text`` without secrets."""
        return masked(text, self.secrets)


def config(options: KafkaOptions, trouble: Trouble, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a client: the table's properties, resolved, then ``extra``.

    Raises OptionsError when a reference names nothing.
    """
    values: dict[str, str] = {}
    secrets: set[str] = set()
    for name, value in options.properties.items():
        try:
            values[name], found = resolved(value)
        except OptionsError as error:
            message = f"option 'properties.{name}': {error.message}"
            raise OptionsError(message, hint=error.hint) from None
        secrets |= found
    trouble.secrets = tuple(secrets)
    ours = {"logger": MissedLeader(trouble.stick), "socket.keepalive.enable": True}
    # A broker that is restarted is there again within seconds.
    ours |= {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 2_000}
    return {**ours, **values, **extra, "error_cb": trouble}


def made(kind: Any, options: KafkaOptions, trouble: Trouble, extra: Mapping[str, Any]) -> Any:
    """A client of class ``kind`` (see `config`). Raises OptionsError when a property is unknown or
    wrong."""
    configuration = config(options, trouble, extra)
    try:
        return kind(configuration)
    except (KafkaException, TypeError, ValueError) as error:
        problem = error.args[0]
        text = problem.str() if isinstance(problem, KafkaError) else str(problem)
        raise OptionsError(
            f"the Kafka client refuses the table's properties: {trouble.masked(text)}",
            hint="properties.* are librdkafka's: see its CONFIGURATION.md",
        ) from None


def is_unknown_topic(error: KafkaError) -> bool:
    """Whether the topic or partition does not exist."""
    return error.code() in _UNKNOWN_TOPIC


def is_refused(error: KafkaError) -> bool:
    """Whether credentials or rights are wrong: trying again does not help."""
    return error.code() in _REFUSED and not BrokenLogin.is_it(error)


def explained(
    what: str, servers: str, error: KafkaError | None, trouble: Trouble | None
) -> TidegateError:
    """``what`` failed: the error that says why, with the exit code that fits."""
    trouble = trouble or Trouble()
    detail = trouble.reason(error)
    if (error is not None and is_refused(error)) or trouble.refused is not None:
        return OptionsError(
            f"{what}: the brokers at {servers} refuse it",
            detail=detail,
            hint="check the table's security properties (properties.security.protocol,"
            " properties.sasl.*), and the rights of that user",
        )
    return RunError(
        f"{what}: no answer from the brokers at {servers}",
        detail=detail,
        hint="check properties.bootstrap.servers and properties.security.protocol, and that a"
        " broker is running there",
    )
