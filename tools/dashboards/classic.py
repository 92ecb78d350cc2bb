"""The dashboard JSON that Grafana 10.1 and later import, built with its Foundation SDK."""

from typing import Final, TypeAlias

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as looks
from grafana_foundation_sdk.models import dashboard as parts
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from tools.dashboards.panel import Board, Panel

SOURCE: Final = parts.DataSourceRef(type_val="prometheus", uid="${datasource}")
ALL: Final = parts.VariableOption(selected=True, text="All", value="$__all")
TAG: Final = "nncache"

_FIGURE_HEIGHT: Final = 5
_LINES_HEIGHT: Final = 8
_MANY_LINES: Final = 8  # fill opacity in percent of overlapping areas
_LOGARITHMIC: Final = 0  # the area below a line has no meaning
_STACKED: Final = 70

_Builder: TypeAlias = stat.Panel | timeseries.Panel


def json_of(board: Board) -> str:
    """Return the text of a dashboard's file."""
    return JSONEncoder(sort_keys=True, indent=2).encode(built(board)) + "\n"


def built(board: Board) -> parts.Dashboard:
    """Return the dashboard in Grafana's model."""
    builder = (
        dashboard.Dashboard(board.title)
        .uid(f"nncache-{board.name}")
        .description(board.description)
        .tags([TAG])
        .readonly()
        .tooltip(parts.DashboardCursorSync.CROSSHAIR)
        .refresh("30s")
        .time("now-1h", "now")
        .timezone("browser")
        .link(
            dashboard.DashboardLink("nncache")
            .type(parts.DashboardLinkType.DASHBOARDS)
            .tags([TAG])
            .as_dropdown(as_dropdown=True)
            .include_vars(include_vars=False)
            .keep_time(keep_time=True)
        )
        .with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
        .with_variable(_targets("job", f"label_values({board.instances}, job)", is_of_one=False))
        .with_variable(
            _targets(
                "instance",
                f'label_values({board.instances}{{job=~"$job"}}, instance)',
                is_of_one=board.is_of_one,
            )
        )
    )
    for row in board.rows:
        builder.with_row(dashboard.Row(row.title))
        for panel in row.panels:
            builder.with_panel(_figure(panel) if panel.kind == "figure" else _lines(panel))
    return builder.build()


def _targets(name: str, query: str, *, is_of_one: bool) -> dashboard.QueryVariable:
    variable = (
        dashboard.QueryVariable(name)
        .label(name.capitalize())
        .datasource(SOURCE)
        .query({"query": query, "refId": name})
        .refresh(parts.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(parts.VariableSort.ALPHABETICAL_ASC)
    )
    if is_of_one:
        return variable
    return variable.multi(multi=True).include_all(include_all=True).all_value(".+").current(ALL)


def _figure(panel: Panel) -> stat.Panel:
    builder = (
        stat.Panel()
        .height(_FIGURE_HEIGHT)
        .graph_mode(looks.BigValueGraphMode.AREA)
        .color_mode(looks.BigValueColorMode.VALUE)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .color_scheme(dashboard.FieldColor().mode(parts.FieldColorModeId.THRESHOLDS))
    )
    _fill(builder, panel)
    return builder


def _lines(panel: Panel) -> timeseries.Panel:
    builder = (
        timeseries.Panel()
        .height(_LINES_HEIGHT)
        .line_width(1)
        .fill_opacity(_STACKED if panel.is_stacked else _LOGARITHMIC if panel.is_logarithmic else _MANY_LINES)
        .show_points(looks.VisibilityMode.NEVER)
        .axis_soft_min(0)
        .tooltip(common.VizTooltipOptions().mode(looks.TooltipDisplayMode.MULTI).sort(looks.SortOrder.DESCENDING))
        .legend(
            common.VizLegendOptions()
            .display_mode(looks.LegendDisplayMode.LIST)
            .placement(looks.LegendPlacement.BOTTOM)
            .show_legend(show_legend=True)
        )
        .color_scheme(dashboard.FieldColor().mode(parts.FieldColorModeId.PALETTE_CLASSIC))
    )  # fmt: skip
    if panel.axis_to is not None:
        builder.axis_soft_max(panel.axis_to)
    if panel.is_stacked:
        builder.stacking(common.StackingConfig().mode(looks.StackingMode.NORMAL).group("A"))
    if panel.is_logarithmic:
        builder.scale_distribution(common.ScaleDistributionConfig().type(looks.ScaleDistribution.LOG).log(10))
    if panel.thresholds:
        builder.thresholds_style(
            common.GraphThresholdsStyleConfig().mode(looks.GraphTresholdsStyleMode.DASHED)
        )
    for name, color in panel.colors.items():
        chosen = {"mode": "fixed", "fixedColor": color}
        builder.override_by_name(name, [parts.DynamicConfigValue(id_val="color", value=chosen)])
    _fill(builder, panel)
    return builder


def _fill(builder: _Builder, panel: Panel) -> None:
    """Set the properties that both kinds of panels have."""
    builder.title(panel.title).description(panel.description).unit(panel.unit)
    builder.datasource(SOURCE).span(panel.width).min(0)
    if panel.most is not None:
        builder.max(panel.most)
    if panel.decimals is not None:
        builder.decimals(panel.decimals)
    if panel.without_value:
        builder.no_value(panel.without_value)
    steps = [parts.Threshold(value=None, color=panel.base)]
    steps += [parts.Threshold(value=value, color=color) for value, color in panel.thresholds.items()]
    builder.thresholds(dashboard.ThresholdsConfig().mode(parts.ThresholdsMode.ABSOLUTE).steps(steps))
    for number, (legend, expression) in enumerate(panel.queries.items()):
        builder.with_target(
            prometheus.Dataquery()
            .expr(expression)
            .legend_format(legend)
            .range()
            .format(PromQueryFormat.TIME_SERIES)
            .datasource(SOURCE)
            .ref_id(chr(ord("A") + number))
        )
