"""What a dashboard shows, without Grafana's words: rows of panels, each a question with its queries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Color: TypeAlias = Literal[
    "green", "light-green", "dark-green", "blue", "light-blue", "dark-blue", "yellow", "orange", "light-orange", "red",
    "dark-red", "purple", "light-purple", "#8e8e8e", "#b8b8b8",
]  # fmt: skip
"""Names that Grafana resolves for its light and its dark theme, and two greys that both can show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One question and its answer.

    Attributes:
        kind: one number, or lines over time.
        title: a question or a statement.
        description: what is shown, and what good and bad look like.
        unit: Grafana's id of a unit.
        queries: what lines are called (`{{label}}` stands for a label's value), and their PromQL expressions.
        width: of 24 columns.
        colors: of lines, by what they are called.
        thresholds: from this value on, it has this color; in ascending order.
        base: the color below the first threshold.
        is_stacked: the lines are parts of a whole.
        is_logarithmic: they differ by orders of magnitude.
        most: the largest value that there can be.
        axis_to: how far the axis goes at least, so that small figures look small.
        without_value: what is shown if there is no data.
    """

    kind: Literal["figure", "lines"] = "lines"
    title: str
    description: str
    unit: str
    queries: Mapping[str, str]
    width: int = 12
    colors: Mapping[str, Color] = field(default_factory=dict)
    thresholds: Mapping[float, Color] = field(default_factory=dict)
    base: Color = "green"
    is_stacked: bool = False
    is_logarithmic: bool = False
    most: float | None = None
    axis_to: float | None = None
    decimals: int | None = None
    without_value: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under one heading."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One dashboard.

    Attributes:
        name: of its file, and the end of its uid.
        instances: the metric whose targets can be chosen.
        is_of_one: exactly one target is shown at a time.
    """

    name: str
    title: str
    description: str
    instances: str
    is_of_one: bool = False
    rows: tuple[Row, ...]

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All of them."""
        return tuple(panel for row in self.rows for panel in row.panels)
