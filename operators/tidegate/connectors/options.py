"""The WITH options of every connector: names, defaults, checks; one pydantic model for each.

Names are Flink's; RisingWave's are read as aliases. `validate_options` gives what a
`tidegate.plan.nodes.Table` keeps: (name, value) pairs as text, checked, sorted, in the
connector's own spelling; only what the user wrote, so defaults stay in one place, here. An option
that would silently do nothing is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from tidegate.connectors.durations import parse_duration, parse_timestamp
from tidegate.errors import OptionsError, did_you_mean


class OptionProblem(OptionsError):  # noqa: N818 -- what the frontend points a caret at
    """One option is wrong; ``option`` is its name as the user wrote it (the caret goes there)."""

    def __init__(self, option: str, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.option = option


def _one_character(value: str) -> str:
    value = {"\\t": "\t"}.get(value, value)
    if len(value) != 1 or value in "\r\n" or not value.isascii():
        raise ValueError("must be one ASCII character and no line end")
    return value


Duration = Annotated[int, BeforeValidator(parse_duration)]
Timestamp = Annotated[int, BeforeValidator(parse_timestamp)]
Character = Annotated[str, AfterValidator(_one_character)]
_HOUR_US: Final = 3_600_000_000


class Options(BaseModel):
    """Base of all: unknown names are refused, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False)

    connector: str


class SourceOptions(Options):
    """What every source takes. Skew: S11 (0 turns it off); unit: what a BIGINT time counts."""

    max_future_skew_us: Duration = Field(_HOUR_US, alias="scan.watermark.max-future-skew")
    unit: Literal["s", "ms", "us", "none"] = Field("ms", alias="scan.watermark.unit")
    emit_strategy: Literal["on-event"] = Field("on-event", alias="scan.watermark.emit.strategy")
    idle_timeout_us: Annotated[Duration, Field(le=0)] = Field(
        0, alias="scan.watermark.idle-timeout"
    )


class CsvOptions(BaseModel):
    """How csv lines are written. ``header``: the first line of every file is no row."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    delimiter: Character = Field(",", alias="csv.field-delimiter")
    quote: Character = Field('"', alias="csv.quote-character", validate_default=True)
    null_literal: str = Field("", alias="csv.null-literal")
    header: bool = Field(False, alias="csv.header")

    @field_validator("quote")
    @classmethod
    def _differs(cls, quote: str, info: ValidationInfo) -> str:
        if quote == info.data.get("delimiter"):
            raise ValueError("must differ from the field delimiter")
        return quote

    @field_validator("null_literal")
    @classmethod
    def _stands_without_quotes(cls, literal: str, info: ValidationInfo) -> str:
        if {info.data.get("delimiter"), info.data.get("quote"), "\r", "\n"} & set(literal):
            raise ValueError("must hold no delimiter, quote or line end: it stands without quotes")
        return literal


class FilesystemOptions(Options, CsvOptions):
    """Of both sides of a directory of files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(min_length=1)
    format: Literal["json", "csv", "parquet"]


class FilesystemSourceOptions(SourceOptions, FilesystemOptions):
    """``monitor_interval_us`` present: the directory is watched, the source is unbounded."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    monitor_interval_us: Annotated[Duration, Field(gt=0)] | None = Field(
        None, alias="source.monitor-interval"
    )
    split: Literal["directory", "file"] = Field("directory", alias="source.split")


class DatagenOptions(SourceOptions):
    """Seeded orders. ``rows`` are of all splits together; None: without end."""

    rows: Annotated[int, Field(ge=0)] | None = Field(None, alias="number-of-rows")
    splits: int = Field(1, ge=1, le=1024)
    seed: int = Field(0, ge=0, lt=2**63)
    disorder_us: Duration = Field(0, alias="disorder")
    late_share: float = Field(0.0, ge=0.0, le=1.0, alias="late-share")
    start_us: Timestamp = Field(1_767_225_600_000_000, alias="start")  # 2026-01-01
    step_us: Annotated[Duration, Field(gt=0)] = Field(1_000_000, alias="step")
    rows_per_second: Annotated[float, Field(gt=0)] | None = Field(None, alias="rows-per-second")
    customers: int = Field(1000, ge=1)


class PrintOptions(Options):
    """``identifier`` stands before every line; empty: the table's name."""

    identifier: str = Field("", alias="print-identifier")
    format: Literal["json"] = "json"


class BlackholeOptions(Options):
    """Takes rows and forgets them."""

    format: Literal["json"] = "json"


_SOURCES: Final[Mapping[str, type[Options]]] = {
    "filesystem": FilesystemSourceOptions,
    "datagen": DatagenOptions,
}
_SINKS: Final[Mapping[str, type[Options]]] = {
    "filesystem": FilesystemOptions,
    "print": PrintOptions,
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
    "print": {},
    "blackhole": {},
}
_CONNECTOR_ALIASES: Final = {"posix_fs": "filesystem", "files": "filesystem"}
_KAFKA_ONLY: Final = ("scan.watermark.idle-timeout", "scan.watermark.emit.strategy")
_KAFKA_PREFIX: Final = "scan.watermark.alignment."


def connector_name(raw: str) -> str:
    """The connector that the user's word means. Raises OptionProblem on an unknown one."""
    name = _CONNECTOR_ALIASES.get(raw.strip().lower(), raw.strip().lower())
    if name not in CONNECTORS:
        raise OptionProblem(
            "connector", f"unknown connector '{raw}'", hint=did_you_mean(name, CONNECTORS)
        )
    return name


def validate_options(
    connector: str, role: Literal["source", "sink"], raw: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Checks the WITH options of a table; gives them as (name, value), sorted by name.

    ``raw`` is as written; names are compared in lower case. ``connector`` need not be in it. The
    connector itself is not part of the result. Raises OptionProblem.
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
        if option_name not in known:
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


def parsed(model: type[Options], connector: str, pairs: tuple[tuple[str, str], ...]) -> Any:
    """``pairs`` (from `validate_options`) as an instance of ``model``."""
    return model.model_validate({"connector": connector, **dict(pairs)})


def csv_options(pairs: tuple[tuple[str, str], ...]) -> CsvOptions:
    """The csv part of ``pairs``."""
    return CsvOptions.model_validate(dict(pairs))


def _names(model: type[Options]) -> set[str]:
    fields = model.model_fields
    return {field.alias or name for name, field in fields.items()} - {"connector"}


def _unknown(option: str, connector: str, role: str, known: set[str]) -> OptionProblem:
    if option.lower().startswith(_KAFKA_PREFIX):
        return _needs_kafka(option, connector)
    message = f"unknown option '{option}' of a '{connector}' {role}"
    return OptionProblem(option, message, hint=did_you_mean(option.lower(), known))


def _needs_kafka(option: str, connector: str) -> OptionProblem:
    return OptionProblem(
        option,
        f"option '{option}' is not supported by connector '{connector}'",
        hint="leave it out: only sources that are read live (kafka) have idle or aligned splits",
    )


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
    if name in _KAFKA_ONLY and first["type"] != "value_error":
        return _needs_kafka(option, connector)
    reason = str(first["msg"]).removeprefix("Value error, ")
    message = f"option '{option}' = '{values.get(name, '')}' is wrong: {reason}"
    return OptionProblem(option, message)
