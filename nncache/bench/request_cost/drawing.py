"""A chart of requests per CPU-second, by shape and server."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from matplotlib.figure import Figure

from nncache.bench.request_cost.figures import Name, Round, Shape, by_shape

_COLOURS: Final = {
    Name.NNCACHE: "#1f6feb",
    Name.NGINX: "#8a9199",
    Name.HAPROXY: "#b3b9bf",
    Name.NAMENODE: "#d9a441",
    Name.FLOOR: "#e3e6e8",
}


def draw(rounds: Sequence[Round], file: Path) -> None:
    """Draw a panel for each shape: a bar for each server's median, a dot for each round."""
    known = by_shape(rounds)
    shapes = [shape for shape in Shape if any(at == shape for at, _ in known)]
    figure = Figure(figsize=(8.0, 0.6 + 1.3 * len(shapes)), layout="constrained")
    for axes, shape in zip(figure.subplots(len(shapes), 1, squeeze=False)[:, 0], shapes, strict=True):
        names = [name for name in Name if (shape, name) in known][::-1]
        for at, name in enumerate(names):
            rates = [each.per_cpu_s for each in known[shape, name]]
            axes.barh(at, median(rates), color=_COLOURS[name], height=0.7)
            axes.plot(rates, [at] * len(rates), "o", color="black", markersize=2.5, alpha=0.6)
        axes.set_yticks(range(len(names)), names)
        axes.set_title(f"{shape}: requests per CPU-second of the server", loc="left", fontsize=9)
        axes.set_xlim(left=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.xaxis.set_major_formatter("{x:,.0f}")
    figure.savefig(file)
