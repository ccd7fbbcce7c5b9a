"""The WITH options of `delta` tables that are read."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tidegate.connectors.option_types import WATCHED, Duration, SourceOptions


class DeltaSourceOptions(SourceOptions):
    """``monitor_interval_us`` present: the table is watched, the source is unbounded."""

    path: str = Field(min_length=1)
    format: Literal["parquet"] = "parquet"
    monitor_interval_us: Annotated[Duration, Field(gt=0)] | None = Field(None, alias=WATCHED)
    idle_timeout_us: Duration = Field(0, alias="scan.watermark.idle-timeout")
