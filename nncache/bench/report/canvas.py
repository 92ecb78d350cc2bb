"""What all charts of a report have in common: size, title, footer, colours, names.

Their style is in charts.mplstyle.
"""

import io
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.patches import Patch

from nncache.bench.report.finding import Modes, schedule, workload_name
from nncache.bench.shared.figures import ModeFigures, RunInfo

STYLE: Final = str(Path(__file__).with_name("charts.mplstyle"))

COLOURS: Final = {
    "direct": "#000000",
    "nncache": "#0072B2",
    "waiting": "#009E73",
    "nginx": "#D55E00",
    "unpolled": "#999999",
}
"""By mode. Source: M. Okabe, K. Ito, "Color Universal Design", 2008."""

OTHER: Final = "#CC79A7"
"""The colour of any other mode."""

ASKED: Final[dict[str, Any]] = {"color": "#555555", "linestyle": "--"}
"""Lines that show what was asked for, not what was measured."""

_LETTERS: Final = get_font(findfont("DejaVu Sans")).get_charmap().keys()


def figure_of(info: RunInfo, modes: Modes, title: str, height: float, caption: str = "") -> Figure:
    """Return a figure with its title, and below it a caption, which run it is of, and whether it was too slow."""
    figure = Figure(figsize=(12, height))
    kept_together = plain(title, 240).replace(" %", "\N{NO-BREAK SPACE}%")
    lines = textwrap.wrap(kept_together, 65, max_lines=4, placeholder=" …")
    figure.suptitle("\n".join(lines), x=0.01, ha="left")
    late = schedule(modes)
    parts = [f"workload {plain(workload_name(info), 50)}", f"seed {info.seed}", plain(info.date, 30)]
    footer = textwrap.wrap(plain(caption, 600), 115)
    footer.append(" · ".join([*parts, plain(late, 80)] if late else parts))
    figure.supxlabel("\n".join(footer), x=0.01, ha="left", size=11, color="black" if late else "#555555")
    return figure


def plain(text: str, most: int = 16) -> str:
    """Return the text on one line, cut to a length; letters that the font does not have are question marks."""
    known = "".join(letter if ord(letter) in _LETTERS else "?" for letter in " ".join(text.split()))
    return known if len(known) <= most else f"{known[: most - 1]}…"


def colour(mode: ModeFigures) -> str:
    """Return the colour of a mode in all charts."""
    return COLOURS.get(mode.mode, OTHER)


def tinted(name: str, shade: float) -> tuple[float, float, float]:
    """Return a colour with so much of itself, the rest white: nothing shines through, as it would with alpha."""
    red, green, blue = (1 - shade * (1 - part) for part in to_rgb(name))
    return red, green, blue


def legend_of(axes: Axes, names: Mapping[str, float], *more: Artist) -> None:
    """Say to the right of the axes what the shades mean, by name, and what other things do."""
    grey = [Patch(color=tinted("#333333", shade), label=name) for name, shade in names.items()]
    axes.legend(
        handles=[*grey, *more],
        loc="upper left",
        bbox_to_anchor=(1.01, 1),
        labelcolor="#333333",
        labelspacing=0.8,
    )


def empty(axes: Axes, why: str) -> None:
    """Write into the empty axes why they are."""
    axes.set(xticks=[], yticks=[])
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", size=14)


@rc_context(fname=STYLE)
def as_png(figure: Figure) -> bytes:
    """Return a chart as a PNG file."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()
