"""What all option models share: their base, the values that options hold, and their error."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Final, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tidegate.connectors.durations import parse_duration, parse_timestamp
from tidegate.errors import OptionsError


class OptionProblem(OptionsError):  # noqa: N818 -- what the frontend points a caret at
    """One option is wrong; ``option`` is its name as the user wrote it (the caret goes there).

    ``secret``: its value must not be shown.
    """

    def __init__(self, option: str, message: str, *, hint: str = "", secret: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.option = option
        self.secret = secret


def _one_character(value: str) -> str:
    value = {"\\t": "\t"}.get(value, value)
    if len(value) != 1 or value in "\r\n" or not value.isascii():
        raise ValueError("must be one ASCII character and no line end")
    return value


def names_in(text: str) -> tuple[str, ...]:
    """The names of a list. One between double quotes may have a separator in it; a quote in such
    a name is written twice."""
    pattern = r'\s*(?:"((?:[^"]|"")*)"\s*|([^;,]*))(?:[;,]|$)'
    found = [
        quoted.replace('""', '"') if quoted else bare.strip()
        for quoted, bare in re.findall(pattern, text)
    ]
    return tuple(name for name in found if name)


def listed(value: object) -> object:
    """An option that is a list, as it is written: RisingWave has ``,``, Flink ``;``."""
    return names_in(value) if isinstance(value, str) else value


def lowered(value: object) -> object:
    """An option that is one of some words, whose case does not matter."""
    return value.strip().lower() if isinstance(value, str) else value


def list_of(names: Iterable[str]) -> str:
    """The text in which `names_in` finds ``names``."""
    return ";".join(map(_as_listed, names))


def _as_listed(name: str) -> str:
    if name == name.strip() and not name.startswith('"') and not re.search("[;,]", name):
        return name
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


Duration = Annotated[int, BeforeValidator(parse_duration)]
Timestamp = Annotated[int, BeforeValidator(parse_timestamp)]


def _margins(text: object) -> object:
    """``250:7d,500:30s``: up to so many records, such a margin; the records must rise."""
    if not isinstance(text, str):
        return text
    steps = []
    for step in filter(None, (part.strip() for part in text.split(","))):
        records, separator, margin = step.partition(":")
        if not separator or not records.strip().isdigit():
            raise ValueError(f"'{step}' is not a margin; write it as in '250:7d,500:30s'")
        steps.append((int(records), parse_duration(margin)))
    if [records for records, _ in steps] != sorted({records for records, _ in steps}):
        raise ValueError("the numbers of records must rise, as in '250:7d,500:30s'")
    return tuple(steps)


Margins = Annotated[tuple[tuple[int, int], ...], BeforeValidator(_margins)]


def _quarantined(value: object) -> object:
    if value not in (True, "true"):
        raise ValueError("rows that do not decode go to the ledger: leave it out")
    return "true"


Quarantined = Annotated[Literal["true"], BeforeValidator(_quarantined)]
Character = Annotated[str, AfterValidator(_one_character)]
_HOUR_US: Final = 3_600_000_000


class Options(BaseModel):
    """Base of all: unknown names are refused, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False)


class SourceOptions(Options):
    """What every source takes.

    Skew: S11 (0 turns it off); unit: what a BIGINT time counts; ``idle_timeout_us`` 0: a split is
    never idle (S8); ``quantile`` and what follows: the figures of ``SOURCE_WATERMARK()``
    (`tidegate.plan.strategies.Adaptive`); ``alignment_group`` empty: splits wait for none (S9).
    """

    max_future_skew_us: Duration = Field(_HOUR_US, alias="scan.watermark.max-future-skew")
    unit: Literal["s", "ms", "us", "none"] = Field("ms", alias="scan.watermark.unit")
    emit_strategy: Literal["on-event", "on-periodic"] = Field(
        "on-event", alias="scan.watermark.emit.strategy"
    )
    idle_timeout_us: Annotated[Duration, Field(le=0)] = Field(
        0, alias="scan.watermark.idle-timeout"
    )
    quantile: Annotated[float, Field(gt=0, le=1)] = Field(
        0.95, alias="scan.watermark.source.quantile"
    )
    records: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        5_000, alias="scan.watermark.source.records"
    )
    delay_us_min: Duration = Field(50_000, alias="scan.watermark.source.delay.min")
    delay_us_max: Duration = Field(7 * 24 * _HOUR_US, alias="scan.watermark.source.delay.max")
    margins: Margins = Field(
        ((250, 7 * 24 * _HOUR_US), (500, 30_000_000), (750, 10_000_000), (1_000, 1_000_000)),
        alias="scan.watermark.source.margins",
    )

    alignment_group: str = Field("", alias="scan.watermark.alignment.group")
    max_drift_us: Annotated[Duration, Field(gt=0)] | None = Field(
        None, alias="scan.watermark.alignment.max-drift"
    )
    alignment_interval_us: Annotated[Duration, Field(gt=0)] = Field(
        1_000_000, alias="scan.watermark.alignment.update-interval"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.delay_us_min > self.delay_us_max:
            raise ValueError(
                "scan.watermark.source.delay.min is more than scan.watermark.source.delay.max"
            )
        if bool(self.alignment_group) != (self.max_drift_us is not None):
            raise ValueError(
                "'scan.watermark.alignment.group' and 'scan.watermark.alignment.max-drift'"
                " go together"
            )
        return self


WATCHED: Final = "source.monitor-interval"
"""The option of tables in files that are read on as they grow."""
OP_COLUMN: Final = "scan.changes.op"
VERSION: Final = "scan.changes.version"
TIME_UNIT: Final = "debezium-json.time-unit"


class ChangesOptions(BaseModel):
    """What the records of a source say of rows that are there (S13).

    ``op_column`` names the column that says whether a row is put or deleted; ``version`` those of
    which the greatest values of a key count. ``time_unit``: what numbers count that are times, in
    Debezium's envelope. With its schema or without, envelopes are read.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    op_column: str = Field("", alias=OP_COLUMN)
    schema_include: bool = Field(False, alias="debezium-json.schema-include")
    ignore_errors: Quarantined = Field("true", alias="debezium-json.ignore-parse-errors")
    time_unit: Literal["ms", "us", "ns"] | None = Field(None, alias=TIME_UNIT)
    version: Annotated[tuple[str, ...], BeforeValidator(listed)] = Field((), alias=VERSION)


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


_Model = TypeVar("_Model", bound=BaseModel)


def parsed(model: type[_Model], pairs: Iterable[tuple[str, str]]) -> _Model:
    """Options of a table, which were checked, as an instance of ``model``."""
    return model.model_validate(dict(pairs))
