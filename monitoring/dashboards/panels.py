"""How panels look: units, widths and legends are set here, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import heatmap, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models.dashboard import DataSourceRef, Panel
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
JOB: Final = 'pod=~"$pod"'
"""The label of what is chosen on top of the dashboard."""
SECONDS, ROWS, ROWS_PER_S, BYTES, BYTES_PER_S, SHARE, COUNT, MOMENT = (
    "s", "short", "rowsps", "bytes", "Bps", "percentunit", "none", "dateTimeAsIso",
)  # fmt: skip
_HEIGHT: Final = 8


@dataclass(frozen=True, slots=True)
class Query:
    """An expression and what its lines are called. ``$__rate_interval`` is the step's."""

    expr: str
    legend: str = ""


def lines(
    title: str, unit: str, text: str, *queries: Query, width: int = 12, stacked: bool = False
) -> Builder[Panel]:
    """Values over time."""
    panel = (
        timeseries.Panel()
        .title(title)
        .description(text)
        .datasource(SOURCE)
        .unit(unit)
        .span(width)
        .height(_HEIGHT)
        .line_width(1)
        .fill_opacity(30 if stacked else 5)
        .show_points(common.VisibilityMode.NEVER)
        .tooltip(
            common_builders.VizTooltipOptions()
            .mode(common.TooltipDisplayMode.MULTI)
            .sort(common.SortOrder.DESCENDING)
        )
    )
    if stacked:
        panel.stacking(common_builders.StackingConfig().mode(common.StackingMode.NORMAL))
    for number, query in enumerate(queries):
        panel.with_target(_target(query, number))
    return panel


def number(title: str, unit: str, text: str, query: Query, width: int = 4) -> Builder[Panel]:
    """The value of now, large."""
    return (
        stat.Panel()
        .title(title)
        .description(text)
        .datasource(SOURCE)
        .unit(unit)
        .span(width)
        .height(_HEIGHT // 2)
        .graph_mode(common.BigValueGraphMode.AREA)
        .color_mode(common.BigValueColorMode.NONE)
        .reduce_options(common_builders.ReduceDataOptions().calcs(["lastNotNull"]))
        .with_target(_target(query, 0))
    )


def histogram(title: str, unit: str, text: str, query: Query, width: int = 12) -> Builder[Panel]:
    """How a distribution changes; the query gives the increase of buckets by ``le``."""
    return (
        heatmap.Panel()
        .title(title)
        .description(text)
        .datasource(SOURCE)
        .unit(unit)
        .span(width)
        .height(_HEIGHT)
        .with_target(_target(query, 0).format(PromQueryFormat.HEATMAP))
    )


def _target(query: Query, number: int) -> prometheus.Dataquery:
    return (
        prometheus.Dataquery()
        .expr(query.expr)
        .legend_format(query.legend or "__auto")
        .ref_id(chr(ord("A") + number))
        .datasource(SOURCE)
        .range()
    )
