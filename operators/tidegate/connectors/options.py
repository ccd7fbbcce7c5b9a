"""The WITH options of every connector: names, defaults, checks; one pydantic model for each.

Names are Flink's; RisingWave's are read as aliases. `validate_options` gives what a
`tidegate.plan.nodes.Table` keeps: (name, value) pairs as text, checked, sorted, in the
connector's own spelling; only what the user wrote, so defaults stay in one place, here. An option
that would silently do nothing is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tidegate.connectors.kafka import options as kafka
from tidegate.connectors.kafka.options import (
    KafkaOptions,
    KafkaSinkOptions,
    KafkaSourceOptions,
)
from tidegate.connectors.option_types import (
    AlignedOptions,
    CsvOptions,
    Duration,
    OptionProblem,
    Options,
    SourceOptions,
    Timestamp,
    list_of,
    names_in,
)
from tidegate.connectors.postgres import options as postgres
from tidegate.connectors.postgres.options import PostgresOptions
from tidegate.connectors.secrets import AS_REFERENCE, has_reference
from tidegate.errors import did_you_mean

__all__ = [
    "CsvOptions",
    "KafkaOptions",
    "KafkaSinkOptions",
    "KafkaSourceOptions",
    "OptionProblem",
    "Options",
    "PostgresOptions",
    "SourceOptions",
    "list_of",
    "names_in",
]


_WATCHED: Final = "source.monitor-interval"
_IDLE_TIMEOUT: Final = "scan.watermark.idle-timeout"


class FilesystemOptions(Options, CsvOptions):
    """Of both sides of a directory of files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(min_length=1)
    format: Literal["json", "csv", "parquet"]


class FilesystemSourceOptions(AlignedOptions, FilesystemOptions):
    """``monitor_interval_us`` present: the directory is watched, the source is unbounded."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    monitor_interval_us: Annotated[Duration, Field(gt=0)] | None = Field(None, alias=_WATCHED)
    split: Literal["directory", "file"] = Field("directory", alias="source.split")
    idle_timeout_us: Duration = Field(0, alias=_IDLE_TIMEOUT)

    @model_validator(mode="after")
    def _may_be_idle(self) -> Self:
        if self.idle_timeout_us and self.monitor_interval_us is None:
            raise ValueError(
                "'scan.watermark.idle-timeout' needs 'source.monitor-interval': the splits of files"
                " that are not watched end, and then hold nothing back"
            )
        return self


class GeneratedOptions(AlignedOptions):
    """Rows made from a seed. ``rows`` are of all splits together; None: without end."""

    rows: Annotated[int, Field(ge=0)] | None = Field(None, alias="number-of-rows")
    splits: int = Field(1, ge=1, le=1024)
    seed: int = Field(0, ge=0, lt=2**63)
    disorder_us: Duration = Field(0, alias="disorder")
    late_share: float = Field(0.0, ge=0.0, le=1.0, alias="late-share")
    start_us: Timestamp = Field(1_767_225_600_000_000, alias="start")  # 2026-01-01


class DatagenOptions(GeneratedOptions):
    """Seeded orders."""

    step_us: Annotated[Duration, Field(gt=0)] = Field(1_000_000, alias="step")
    rows_per_second: Annotated[float, Field(gt=0)] | None = Field(None, alias="rows-per-second")
    customers: int = Field(1000, ge=1)


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


class NexmarkOptions(GeneratedOptions):
    """One kind of the events of an auction house.

    ``rows`` are of this kind, ``events`` of all kinds; neither: without end. ``step_us`` lies
    between events of any kind.
    """

    kind: Annotated[Literal["person", "auction", "bid"], BeforeValidator(_lower)] = Field(
        alias="nexmark.table.type"
    )
    events: Annotated[int, Field(ge=0)] | None = Field(None, alias="nexmark.event.num")
    step_us: Annotated[Duration, Field(gt=0)] = Field(1_000, alias="step")
    events_per_second: Annotated[float, Field(gt=0)] | None = Field(None, alias="events-per-second")

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if self.rows is not None and self.events is not None:
            raise ValueError("'number-of-rows' and 'nexmark.event.num' both say where rows end")
        return self


class PrintOptions(Options):
    """``identifier`` stands before every line; empty: the table's name."""

    identifier: str = Field("", alias="print-identifier")
    format: Literal["json"] = "json"


def _listed(value: object) -> object:
    return names_in(value, ";") if isinstance(value, str) else value


class DeltaOptions(Options):
    """A Delta table; without a ``path`` one of the checkpoint's own.

    ``key_fields`` tell the rows of a changing result apart.
    """

    path: str = ""
    key_fields: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field((), alias="key.fields")
    format: Literal["parquet"] = "parquet"


class BlackholeOptions(Options):
    """Takes rows and forgets them."""

    format: Literal["json"] = "json"


_SOURCES: Final[Mapping[str, type[Options]]] = {
    "kafka": KafkaSourceOptions,
    "filesystem": FilesystemSourceOptions,
    "datagen": DatagenOptions,
    "nexmark": NexmarkOptions,
}
_SINKS: Final[Mapping[str, type[Options]]] = {
    "kafka": KafkaSinkOptions,
    "filesystem": FilesystemOptions,
    "print": PrintOptions,
    "delta": DeltaOptions,
    "postgres": PostgresOptions,
    "blackhole": BlackholeOptions,
}
CONNECTORS: Final = frozenset(_SOURCES) | frozenset(_SINKS)
"""The names of all connectors."""

_ALIASES: Final[Mapping[str, Mapping[str, str]]] = {
    "filesystem": {
        "posix_fs.root": "path",
        "source.monitor_interval": "source.monitor-interval",
        "csv.delimiter": "csv.field-delimiter",
        "delimiter": "csv.field-delimiter",
    },
    "datagen": {
        "rows": "number-of-rows",
        "datagen.split.num": "splits",
        "datagen.rows.per.second": "rows-per-second",
    },
    "nexmark": {"rows": "number-of-rows", "nexmark.split.num": "splits"},
    "print": {},
    "delta": {"primary_key": "key.fields", "location": "path"},
    "blackhole": {},
    "postgres": postgres.ALIASES,
    "kafka": kafka.ALIASES,
}
_CONNECTOR_ALIASES: Final = {
    "posix_fs": "filesystem",
    "files": "filesystem",
    "jdbc": "postgres",
    "postgresql": "postgres",
}


def connector_name(raw: str) -> str:
    """The connector that the user's word means. Raises OptionProblem on an unknown one."""
    name = plain_name(raw)
    if name not in CONNECTORS:
        raise OptionProblem(
            "connector", f"unknown connector '{raw}'", hint=did_you_mean(name, CONNECTORS)
        )
    return name


def plain_name(raw: str) -> str:
    """The connector that the user's word means, be there such a one or not."""
    return _CONNECTOR_ALIASES.get(raw.strip().lower(), raw.strip().lower())


def validate_options(
    connector: str, role: Literal["source", "sink"], raw: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Checks the WITH options of a table; gives them as (name, value), sorted by name.

    ``raw`` is as written; names are compared in lower case. ``connector`` need not be in it. The
    connector itself is not part of the result, nor are options of the other role. Raises
    OptionProblem.
    """
    name = connector_name(connector)
    models = _SOURCES if role == "source" else _SINKS
    if name not in models:
        raise OptionProblem(
            "connector",
            f"connector '{name}' cannot be used as a {role}",
            hint=f"as a {role}: {', '.join(sorted(models))}",
        )
    model = models[name]
    known = _names(model)
    values: dict[str, str] = {}
    written: dict[str, str] = {}
    for option, value in raw.items():
        option_name = option.strip().lower()
        option_name = _ALIASES[name].get(option_name, option_name)
        if option_name == "connector":
            continue
        if option_name in values:
            other = written[option_name]
            raise OptionProblem(option, f"option '{option}' repeats option '{other}'")
        if name == "kafka" and option_name.startswith(kafka.PREFIX):
            _check_property(option, option_name, value)
        elif option_name not in known:
            if option_name in _of_other_role(name, role):
                continue  # a table that is read here and written there
            raise _unknown(option, name, role, known)
        values[option_name], written[option_name] = value, option
    try:
        model.model_validate({"connector": name, **values})
        return tuple(sorted(values.items()))
    except ValidationError as error:
        problem = _problem(error, model, name, role, written, values)
    # Here, not above: pydantic's error would be this one's context, and keep the frames that it
    # holds, engines in them, beyond the reach of Python's collector.
    raise problem


_OF_SECRETS: Final = (AS_REFERENCE, postgres.NOT_IN_URL)


def written_secrets(raw: Mapping[str, str]) -> list[str]:
    """The values of ``raw`` options that nobody shall see, and that are no references alone."""

    def is_secret(name: str, value: str) -> bool:
        named = kafka.is_secret(name.strip().lower()) and not has_reference(value)
        return named or postgres.SECRET_IN_URL.search(value) is not None

    return [value for name, value in raw.items() if value and is_secret(name, value)]


def parsed(model: type[Options], connector: str, pairs: tuple[tuple[str, str], ...]) -> Any:
    """``pairs`` (from `validate_options`) as an instance of ``model``."""
    return model.model_validate({"connector": connector, **dict(pairs)})


def csv_options(pairs: tuple[tuple[str, str], ...]) -> CsvOptions:
    """The csv part of ``pairs``."""
    return CsvOptions.model_validate(dict(pairs))


def metadata_keys(connector: str) -> Mapping[str, str]:
    """What a table of ``connector`` may have as METADATA columns: key to DuckDB type."""
    return kafka.METADATA if connector_name(connector) == "kafka" else {}


def _check_property(option: str, name: str, value: str) -> None:
    try:
        kafka.check_property(name, value)
    except ValueError as error:
        message = f"option '{option}' is wrong: {error}"
        raise OptionProblem(option, message, secret=kafka.is_secret(name)) from None


def canonical(connector: str, option: str) -> str:
    """The option in the connector's own spelling: two of one spelling are one option."""
    name = option.strip().lower()
    return _ALIASES.get(plain_name(connector), {}).get(name, name)


def may_be_idle(connector: str, raw: Mapping[str, str]) -> bool:
    """Whether a source with the options ``raw`` can have splits that are idle, not ended (S8)."""
    if connector == "filesystem":
        return any(canonical(connector, option) == _WATCHED for option in raw)
    return connector == "kafka"


def _of_other_role(connector: str, role: str) -> set[str]:
    model = (_SINKS if role == "source" else _SOURCES).get(connector)
    return _names(model) if model else set()


def _names(model: type[Options]) -> set[str]:
    fields = model.model_fields
    return {field.alias or name for name, field in fields.items()} - {"connector"}


def _unknown(option: str, connector: str, role: str, known: set[str]) -> OptionProblem:
    message = f"unknown option '{option}' of a '{connector}' {role}"
    return OptionProblem(option, message, hint=did_you_mean(option.lower(), known))


def _problem(
    error: ValidationError,
    model: type[Options],
    connector: str,
    role: str,
    written: Mapping[str, str],
    values: Mapping[str, str],
) -> OptionProblem:
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else "connector"
    if name in model.model_fields:  # a default that does not go with what is written
        name = model.model_fields[name].alias or name
    if first["type"] == "missing":
        return OptionProblem(
            name,
            f"a '{connector}' {role} needs the option '{name}'",
            hint=f"add '{name}' = '…' to WITH (…)",
        )
    option = written.get(name, name)
    if name == _IDLE_TIMEOUT and first["type"] != "value_error":
        return OptionProblem(
            option,
            f"option '{option}' is not supported by connector '{connector}'",
            hint="leave it out: only kafka tables and watched files have idle splits",
        )
    reason = str(first["msg"]).removeprefix("Value error, ")
    if not first["loc"]:  # options that do not go together
        named = next((key for key in written if f"'{key}'" in reason), "connector")
        return OptionProblem(written.get(named, named), f"a '{connector}' {role}: {reason}")
    if reason in _OF_SECRETS:  # a secret that was written down is not repeated
        return OptionProblem(option, f"option '{option}' is wrong: {reason}", secret=True)
    message = f"option '{option}' = '{values.get(name, '')}' is wrong: {reason}"
    return OptionProblem(option, message)
