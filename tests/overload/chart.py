"""One picture of a run: hits kept under each attack, one bar for each product."""

from pathlib import Path
from typing import Final

from matplotlib import rc_context
from matplotlib.figure import Figure

from nncache.bench.report.canvas import COLOURS, STYLE
from tests.overload.figures import Results
from tests.overload.samples import Kind
from tests.overload.verdicts import MIN_HITS

_COLOURS: Final = tuple(reversed(COLOURS.values()))
_ROW_INCHES: Final = 0.32
_FRAME_INCHES: Final = 1.6


@rc_context(fname=STYLE)
def draw(results: Results, file: Path) -> None:
    """Write the chart as PNG; nothing where there is no attack."""
    attacks = list(dict.fromkeys(figures.attack for figures in results.figures))
    products = list(dict.fromkeys(figures.product for figures in results.figures))
    if not attacks:
        return
    figure = Figure(figsize=(12, _FRAME_INCHES + _ROW_INCHES * len(attacks)))
    axes = figure.add_subplot()
    thickness = 0.8 / len(products)
    for number, product in enumerate(products):
        rows = [each for each in results.figures if each.product == product]
        axes.barh(
            [attacks.index(each.attack) + thickness * (number + 0.5) - 0.4 for each in rows],
            [100 * each.during[Kind.POLLER.value].hits for each in rows],
            height=thickness,
            color=_COLOURS[number % len(_COLOURS)],
            label=product,
        )
    axes.axvline(100 * MIN_HITS, color="black", linestyle="--", linewidth=1)
    axes.set_yticks(range(len(attacks)), attacks)
    axes.set_ylim(len(attacks) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of other clients' polls answered from memory while the attack lasts (dashed: 99)")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(products))
    figure.savefig(file)
