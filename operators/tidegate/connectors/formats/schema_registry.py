"""The schema registry of ``avro-confluent``: Confluent's protocol, through Confluent's client.

    id of a message's schema unknown              None: the message is malformed
    the registry refuses the credentials          OptionsError (2)
    something else answers at its URL             OptionsError (2)
    it refuses a schema (incompatible, invalid)   SinkError (1), with its reason
    it doesn't answer within `ANSWER_S` a try     RunError (1): it may be there the next time

What is known of an id stays known; the client keeps its connection. User and password may be
references (`connectors.secrets`); they are resolved when the client is made, and never shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from tidegate.connectors.secrets import resolve
from tidegate.errors import OptionsError, RunError, SinkError, TidegateError

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import Schema

ANSWER_S: Final = 5.0
_RETRIES: Final = 2
_RETRY_MS: Final = 250
_UNAUTHORIZED: Final = (401, 403)
_NOT_FOUND: Final = 404
_UNKNOWN: Final = (40401, 40402, 40403)
"""Confluent's codes for a subject, version or schema that is not there; else 404 is a wrong URL."""
_REFUSED: Final = (409, 422)


@dataclass(frozen=True, slots=True)
class WriterSchema:
    """A schema as the registry keeps it, and those that it refers to, the innermost first."""

    text: str
    references: tuple[str, ...] = ()


class Registry:
    """A schema registry. Not thread-safe."""

    def __init__(self, url: str, user_info: str = "", ca_location: str = "") -> None:
        """``url``: one or, with commas, several; ``user_info``: ``user:password``.

        Raises OptionsError when one of them is wrong.
        """
        # Here, not above: it takes 0.2 s, and most workers have no registry.
        from confluent_kafka.schema_registry import SchemaRegistryClient

        resolved = resolve(url)
        self.url: Final = ",".join(_without_user(part) for part in resolved.split(","))
        """Without user and password: for messages."""
        secret = resolve(user_info)
        conf: dict[str, Any] = {
            "url": resolved,
            "timeout": ANSWER_S,
            "max.retries": _RETRIES,
            "retries.wait.ms": _RETRY_MS,
            "retries.max.wait.ms": _RETRY_MS * 4,
        }
        if secret:
            conf["basic.auth.user.info"] = secret
        if ca_location:
            conf["ssl.ca.location"] = resolve(ca_location)
        try:
            self._client = SchemaRegistryClient(conf)
        except (ValueError, OSError) as error:
            raise OptionsError(
                f"the options of the schema registry {self.url} are wrong",
                detail=self._detail(error, secret, resolved),
                hint="'avro-confluent.url' begins with http:// or https://, 'avro-confluent."
                "basic-auth.user-info' is user:password, 'avro-confluent.ssl.ca.location' a file",
            ) from None
        self._secrets = (secret, resolved)
        self._schemas: dict[int, WriterSchema | None] = {}
        self._numbers: dict[tuple[str, str], int] = {}

    def close(self) -> None:
        """Ends the connections."""
        self._client.close()

    def schema(self, number: int) -> WriterSchema | None:
        """The schema with this number; None when there is none, or it is not Avro."""
        if number not in self._schemas:
            self._schemas[number] = self._fetched(number)
        return self._schemas[number]

    def _fetched(self, number: int) -> WriterSchema | None:
        try:
            found = self._client.get_schema(number)
            references: dict[tuple[str, int], str] = {}
            self._collect(found, references)
        except Exception as error:
            # Of any type: which HTTP library the client has, and what it raises, is its business.
            if getattr(error, "error_code", 0) in _UNKNOWN:
                return None
            raise self._explained(f"schema {number} cannot be fetched", error) from None
        if found.schema_type not in (None, "AVRO") or found.schema_str is None:
            return None
        return WriterSchema(found.schema_str, tuple(references.values()))

    def _collect(self, schema: Schema, found: dict[tuple[str, int], str]) -> None:
        """What ``schema`` refers to, and what that refers to before it."""
        for reference in schema.references or ():
            key = (str(reference.subject), int(reference.version or 0))
            if key not in found:
                inner = self._client.get_version(*key).schema
                self._collect(inner, found)
                found[key] = str(inner.schema_str)

    def register(self, subject: str, text: str) -> int:
        """The number of an Avro schema under ``subject``, where it is put if it is not there."""
        from confluent_kafka.schema_registry import Schema

        key = (subject, text)
        if key not in self._numbers:
            try:
                number = self._client.register_schema(subject, Schema(text, "AVRO"))
            except Exception as error:
                what = f"the schema of subject '{subject}' cannot be registered"
                raise self._explained(what, error) from None
            self._numbers[key] = number
        return self._numbers[key]

    def _explained(self, what: str, error: Exception) -> TidegateError:
        detail = self._detail(error, *self._secrets)
        status = getattr(error, "http_status_code", 0)
        if status in _UNAUTHORIZED:
            return OptionsError(
                f"{what}: the schema registry {self.url} refuses the user",
                detail=detail,
                hint="check 'avro-confluent.basic-auth.user-info', and the rights of that user",
            )
        if status == _NOT_FOUND:
            return OptionsError(
                f"{what}: there is no schema registry at {self.url}",
                detail=detail,
                hint="check the path of 'avro-confluent.url' (Apicurio's is /apis/ccompat/v7)",
            )
        if status in _REFUSED:
            return SinkError(
                f"{what}: the schema registry {self.url} refuses it",
                detail=detail,
                hint="write to another subject ('avro-confluent.subject'), make the table's columns"
                " fit those of the earlier versions, or change the subject's compatibility",
            )
        return RunError(
            f"{what}: no answer from the schema registry {self.url}",
            detail=detail,
            hint="check 'avro-confluent.url', and that the registry is running there",
        )

    def _detail(self, error: Exception, secret: str, url: str) -> str:
        """The error's first line, without what is secret."""
        lines = str(error).splitlines()
        text = f"{type(error).__name__}: {lines[0] if lines else ''}".rstrip(": ")
        for part in url.split(","):
            text = text.replace(part, _without_user(part))
        for word in (secret, secret.partition(":")[2]):
            text = text.replace(word, "***") if word else text
        return text


def _without_user(url: str) -> str:
    parts = urlsplit(url.strip())
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
