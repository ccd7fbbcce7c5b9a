"""The settings of a job: ``--set`` wins over ``SET`` in the file, which wins over the environment.

In the environment a setting is spelled in capitals with underscores: ``tidegate.epoch.rows.max``
is ``TIDEGATE_EPOCH_ROWS_MAX``. ``spark.*`` settings go to Spark as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tidegate.connectors.durations import parse_bytes, parse_duration
from tidegate.connectors.secrets import (
    AS_REFERENCE,
    check_references,
    has_credentials,
    has_reference,
    is_secret_name,
)
from tidegate.errors import OptionsError, did_you_mean
from tidegate.policy import policy

PREFIX = "tidegate."
_MASTERS = re.compile(r"local(-cluster)?(\[[^\]]+\])?|yarn|(spark|k8s)://.+")
"""What Spark has a scheduler for."""


def check_master(master: str) -> str:
    """``master``. Raises OptionsError for what Spark does not start with, on any machine."""
    if not _MASTERS.fullmatch(master):
        raise OptionsError(
            f"--master {master}: Spark knows no such master",
            hint="write local[N] for N cores of this machine; or spark://…, k8s://…, yarn",
        )
    return master


def _rows(value: Any) -> Any:
    """A number of rows with or without underscores; ``unlimited`` or 0 is no limit."""
    if isinstance(value, str):
        value = value.replace("_", "").strip().lower()
        if value in ("unlimited", "none", "0"):
            return None
    return value


Rows = Annotated[Annotated[int, Field(ge=1)] | None, BeforeValidator(_rows)]


def _bytes(value: Any) -> Any:
    """A number of bytes, as in ``256mb``; ``unlimited`` or 0 is no limit."""
    if isinstance(value, str):
        if value.strip().lower() in ("unlimited", "none", "0"):
            return None
        return parse_bytes(value)
    return value


Bytes = Annotated[Annotated[int, Field(ge=1)] | None, BeforeValidator(_bytes)]
Duration = Annotated[int, BeforeValidator(parse_duration)]


@dataclass(frozen=True, slots=True)
class Address:
    """Where something listens. ``host`` empty: on all addresses of the machine."""

    host: str
    port: int


_ADDRESS = re.compile(r"(?:\[([0-9a-fA-F:]+)\]|([\w.-]*)):(\d{1,5})")


def _address(value: Any) -> Any:
    """``HOST:PORT``, ``[IPV6]:PORT``, or ``:PORT`` for all addresses; port 0 is any, empty none."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    found = _ADDRESS.fullmatch(value.strip())
    if found is None or int(found[3]) > _PORT_MAX:
        raise ValueError("it is HOST:PORT")
    return Address(found[1] or found[2] or "", int(found[3]))


_PORT_MAX = 65_535

MaybeAddress = Annotated[Address | None, BeforeValidator(_address)]


class Settings(BaseModel):
    """Everything that changes how a job runs, and never what it gives (S6)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epoch_rows_max: Rows = Field(4_000_000, alias="tidegate.epoch.rows.max")
    epoch_bytes_max: Bytes = Field(256 << 20, alias="tidegate.epoch.bytes.max")
    epoch_duration_us: Duration = Field(10_000_000, alias="tidegate.epoch.duration")
    epoch_interval_us: Duration = Field(1_000_000, alias="tidegate.epoch.interval")
    vnodes: int = Field(8, ge=1, le=4096, alias="tidegate.vnodes")
    parallelism: int = Field(2, ge=1, le=4096, alias="tidegate.parallelism")
    pushdown: bool = Field(True, alias="tidegate.watermark.pushdown")
    engine_memory: Bytes = Field(None, alias="tidegate.engine.memory")
    engine_disk: Bytes = Field(None, alias="tidegate.engine.disk")
    metrics_address: MaybeAddress = Field(None, alias="tidegate.metrics.address")


OF_THE_FILE = ("tidegate.ledger.table",)
"""Settings that name something in the SQL file: the frontend's, not of the environment."""

KNOWN = tuple(field.alias or name for name, field in Settings.model_fields.items())


def _is_secret(name: str, value: str) -> bool:
    """Whether a setting of Spark's has a secret written down, by its name or as a URI.

    Settings are seen in processes' command lines, and Spark shows them."""
    written = value.strip().lower() not in ("", "true", "false") and not has_reference(value)
    return (is_secret_name(name) and written) or has_credentials(value)


def pairs_of(items: Iterable[str] | None) -> dict[str, str]:
    """What ``--set key=value`` says. Raises OptionsError for another form."""
    pairs: dict[str, str] = {}
    for item in items or ():
        key, separator, value = item.partition("=")
        if not separator or not key:
            raise OptionsError(f"--set {item}: expected key=value")
        pairs[key.strip()] = value.strip()
    return pairs


def check_spark(name: str, value: str) -> None:
    """Raises OptionsError for a setting of Spark's that is a secret, or not allowed (`policy`)."""
    if _is_secret(name, value):
        raise OptionsError(f"setting '{name}': {AS_REFERENCE}")
    policy().check_spark(name)
    check_references(value)


def spark_alone(pairs: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """``--set`` of a command that takes settings of Spark's only. Raises OptionsError."""
    for name, value in pairs.items():
        if not name.startswith("spark."):
            raise OptionsError(f"--set {name}: this command takes settings of Spark's only")
        check_spark(name, value)
    return tuple(pairs.items())


def resolve(
    job: Mapping[str, str], environment: Mapping[str, str]
) -> tuple[Settings, dict[str, str]]:
    """The settings, and those for Spark. ``job`` has ``SET`` and ``--set``, merged.

    Raises OptionsError for an unknown setting or a value that does not fit.
    """
    values: dict[str, str] = {}
    variables: dict[str, str] = {}
    for name in KNOWN:
        variable = name.upper().replace(".", "_").replace("-", "_")
        if variable in environment:
            values[name] = environment[variable]
            variables[name] = f"{variable} of the environment: "
    spark: dict[str, str] = {}
    for name, value in job.items():
        if name.startswith("spark."):
            check_spark(name, value)
            spark[name] = value
        elif name.startswith(PREFIX) and name not in OF_THE_FILE:
            if name not in KNOWN:
                raise OptionsError(f"unknown setting '{name}'", hint=did_you_mean(name, KNOWN))
            values[name] = value
            variables.pop(name, None)
    try:
        return Settings.model_validate(values), spark
    except ValidationError as error:
        problem = error.errors()[0]
        name = str(problem["loc"][0])
        raise OptionsError(
            f"{variables.get(name, '')}setting '{name}': '{values[name]}' does not fit:"
            f" {problem['msg']}"
        ) from error
