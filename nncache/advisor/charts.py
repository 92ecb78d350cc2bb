"""The charts of a report, as SVG that uses the page's text colour. (nncache/advisor/charts.py)"""

import datetime as dt
import io
from typing import Any, Final
from zoneinfo import ZoneInfo

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.dates import date2num
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from nncache.advisor.figures import NOTHING, over_time
from nncache.advisor.run import Advice

_TEXT: Final = "#010203"  # becomes the page's own colour
_GRID: Final = "#7f7f7e"
_OTHER, _STATUS, _SAVED = "#8c8c8c", "#D55E00", "#0072B2"
"""Source: M. Okabe, K. Ito, "Color Universal Design", 2008."""

_MOST_BARS: Final = 20
_STYLE: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "nncache",
    "font.family": "sans-serif",
    "font.size": 11,
    "text.color": _TEXT,
    "text.parse_math": False,
    "axes.labelcolor": _TEXT,
    "axes.edgecolor": _GRID,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": _GRID,
    "grid.alpha": 0.3,
    "xtick.color": _TEXT,
    "ytick.color": _TEXT,
    "figure.facecolor": "none",
    "figure.constrained_layout.use": True,
    "legend.frameon": False,
}
_DARK: Final = "<style>@media (prefers-color-scheme: dark) { svg { color: #e8e8e8 } }</style>"


def charts(advice: Advice, zone: ZoneInfo) -> dict[str, str]:
    """Return the charts by name, each a whole SVG file."""
    with mpl.rc_context(_STYLE):
        found = {"asked": _svg(_asked(advice, zone))}
        if advice.filters:
            found["filters"] = _svg(_filters(advice))
    return found


def _svg(figure: Figure) -> str:
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue().replace(_TEXT, "currentColor")
    start = text.index(">", text.index("<svg")) + 1
    return text[:start] + _DARK + text[start:]


def _asked(advice: Advice, zone: ZoneInfo) -> Figure:
    """Draw the rate of calls to the NameNode, with and without the filters."""
    figure = Figure(figsize=(10, 3.6))
    axes: Axes = figure.subplots()
    per_s = 1000 / advice.bucket_ms
    moments = [dt.datetime.fromtimestamp(each * advice.bucket_ms / 1000, zone) for each in advice.buckets]
    times = date2num(moments)  # type: ignore[no-untyped-call]  # it has no annotations
    axes.xaxis_date(tz=zone)
    asked = [advice.asked.get(each, (0, 0)) for each in advice.buckets]
    saved = over_time(advice.filters)
    lows = [
        per_s * (calls - saved.get(each, NOTHING).low)
        for each, (calls, _) in zip(advice.buckets, asked, strict=True)
    ]
    highs = [
        per_s * (calls - saved.get(each, NOTHING).high)
        for each, (calls, _) in zip(advice.buckets, asked, strict=True)
    ]
    axes.plot(times, [per_s * calls for calls, _ in asked], color=_OTHER, label="all calls")
    axes.plot(times, [per_s * statuses for _, statuses in asked], color=_STATUS, label="reads of a status")
    axes.fill_between(times, highs, lows, color=_SAVED, alpha=0.4, linewidth=0)
    axes.plot(times, highs, color=_SAVED, label="all calls with these filters")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("calls a second")
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3)
    return figure


def _filters(advice: Advice) -> Figure:
    """Draw the saving of each of the best filters."""
    best = advice.filters[:_MOST_BARS]
    figure = Figure(figsize=(10, 0.9 + 0.28 * len(best)))
    axes: Axes = figure.subplots()
    shares = [each.saved.of(advice.statuses) for each in best]
    places = range(len(best))
    axes.barh(places, [100 * share.high for share in shares], color=_SAVED, alpha=0.4)
    axes.barh(places, [100 * share.low for share in shares], color=_SAVED)
    axes.set_yticks(places, [_short(each.glob) for each in best])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("percent of all reads of a status (pale: at most)")
    return figure


def _short(glob: str) -> str:
    most = 48
    return glob if len(glob) <= most else f"{glob[: most // 2]}…{glob[-most // 2 :]}"
