"""The WITH options of `filesystem` tables."""

from __future__ import annotations

from typing import Annotated, Literal, Self, get_args

from pydantic import ConfigDict, Field, field_validator, model_validator

from tidegate.connectors.option_types import (
    WATCHED,
    ChangesOptions,
    CsvOptions,
    Duration,
    Options,
    SourceOptions,
)

Format = Literal["json", "csv", "parquet"]
SourceFormat = Literal["json", "csv", "parquet", "debezium-json"]


class FilesystemOptions(Options, CsvOptions):
    """Of both sides of a directory of files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(min_length=1)
    format: SourceFormat


class FilesystemSinkOptions(FilesystemOptions):
    """What is written."""

    @field_validator("format")
    @classmethod
    def _is_written(cls, form: str) -> str:
        if form not in get_args(Format):
            raise ValueError(f"it is read, not written; write {', '.join(get_args(Format))}")
        return form


class FilesystemSourceOptions(ChangesOptions, SourceOptions, FilesystemOptions):
    """``monitor_interval_us`` present: the directory is watched, the source is unbounded."""

    monitor_interval_us: Annotated[Duration, Field(gt=0)] | None = Field(None, alias=WATCHED)
    split: Literal["directory", "file"] = Field("directory", alias="source.split")
    idle_timeout_us: Duration = Field(0, alias="scan.watermark.idle-timeout")

    @model_validator(mode="after")
    def _may_be_idle(self) -> Self:
        if self.idle_timeout_us and self.monitor_interval_us is None:
            raise ValueError(
                "'scan.watermark.idle-timeout' needs 'source.monitor-interval': the splits of files"
                " that are not watched end, and then hold nothing back"
            )
        return self
