"""A chart of how the CPU for each hit grows."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from matplotlib.figure import Figure

from nncache.bench.growth.figures import MAX_GROWTH, Growth, Round, Way, by_line, growth_at
from nncache.bench.request_cost.figures import Name

_COLOURS: Final = {
    (Name.NNCACHE, Way.KNOWN): "#1f6feb",
    (Name.NNCACHE, Way.PARSED): "#d9a441",
    (Name.NGINX, Way.KNOWN): "#8a9199",
    (Name.FLOOR, Way.KNOWN): "#57ab5a",
}


def draw(rounds: Sequence[Round], file: Path) -> None:
    """Draw a panel for each growth: a line through the medians of each server and way, a dot for each round."""
    known = by_line(rounds)
    growths = [growth for growth in Growth if any(line.growth is growth for line in known)]
    figure = Figure(figsize=(8.0, 0.6 + 2.2 * len(growths)), layout="constrained")
    for axes, growth in zip(figure.subplots(len(growths), 1, squeeze=False)[:, 0], growths, strict=True):
        for line, sizes in known.items():
            if line.growth is not growth:
                continue
            colour, found = _COLOURS[line.name, line.way], growth_at(sizes)
            least_us = median(each.per_hit_s for each in sizes[min(sizes)]) * 1e6
            axes.plot(
                list(found),
                [median(ratios) for ratios in found.values()],
                color=colour,
                label=f"{line.name}, {line.way}: {least_us:,.1f} µs with {min(sizes):,}",
            )
            for size, ratios in found.items():
                axes.plot([size] * len(ratios), ratios, "o", color=colour, markersize=2.5, alpha=0.6)
        if growth in MAX_GROWTH:
            axes.axhline(MAX_GROWTH[growth], color="black", linewidth=0.7, linestyle="dashed")
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.set_title(f"{growth}: CPU for each hit, by that with the fewest", loc="left", fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.legend(fontsize=7, frameon=False, loc="lower left")
    figure.savefig(file)
