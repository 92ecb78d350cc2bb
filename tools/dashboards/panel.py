"""The content of a dashboard, independent of Grafana: rows of panels, each a question with its queries.

`boards/NAME.toml` holds the rows of one dashboard, and `boards/shared.toml` the parts that several dashboards use. The
queries are PromQL without the parts that all share: the selected targets, and the range of `rate` and `increase`.
"""

import re
import tomllib
from pathlib import Path
from string import Template
from typing import Any, Final, Literal, TypeAlias

import msgspec

_BOARDS: Final = Path(__file__).with_name("boards")
_TARGETS: Final = 'job=~"$job", instance=~"$instance"'
_SELECTOR: Final = re.compile(r"(\b(?:rate|increase)\()?\b((?:nncache|process)_\w+)(?:\{([^}]*)\})?")

Color: TypeAlias = Literal[
    "green", "light-green", "dark-green", "blue", "light-blue", "dark-blue", "yellow", "orange", "light-orange", "red",
    "dark-red", "purple", "light-purple", "#8e8e8e", "#b8b8b8",
]  # fmt: skip
"""Names that Grafana resolves for its light and its dark theme, and two greys that are visible in both."""


class Panel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question and its answer."""

    kind: Literal["figure", "lines"] = "lines"  # one number, or lines over time
    title: str  # a question or a statement
    description: str  # the shown values, and how to tell good from bad
    unit: str  # Grafana's id of a unit
    # PromQL expressions by the name of their lines, in which `{{label}}` is replaced by the label's value
    queries: dict[str, str]
    width: int = 12  # of 24 columns
    colors: dict[str, Color] = {}  # of lines, by name
    thresholds: dict[int | float, Color] = {}  # the color from this value on; in ascending order
    base: Color = "green"  # the color below the first threshold
    is_stacked: bool = False  # the lines are parts of a whole
    is_logarithmic: bool = False  # the values differ by orders of magnitude
    most: int | float | None = None  # the largest possible value
    axis_to: int | float | None = None  # least end of the axis, so that small values look small
    decimals: int | None = None
    without_value: str = ""  # the text if there is no data


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Panels under one heading."""

    title: str
    panels: tuple[Panel, ...]


class Board(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One dashboard."""

    name: str  # of its file, and the suffix of its uid
    title: str
    description: str
    instances: str  # the metric whose targets can be selected
    is_of_one: bool = False  # shows exactly one target at a time
    rows: tuple[Row, ...]

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All panels of the dashboard."""
        return tuple(panel for row in self.rows for panel in row.panels)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((_BOARDS / f"{name}.toml").read_text(encoding="utf-8"))


_SHARED: Final = _read("shared")
PALETTES: Final[dict[str, dict[str, Color]]] = msgspec.convert(
    _SHARED["palettes"], dict[str, dict[str, Color]]
)
"""Colors of lines, by palette and line name: results of requests, forward reasons, operations."""


def read_board(name: str) -> Board:
    """Return the dashboard in a file.

    Raises:
        msgspec.ValidationError: the file is not a valid dashboard.
    """
    raw = _read(name)
    raw["description"] = _on_one_line(raw["description"])
    for row in raw["rows"]:
        row["panels"] = [_panel(each) for each in row["panels"]]
    return msgspec.convert(raw, Board, str_keys=True)


def _panel(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the panel with its references to `shared.toml` resolved: `shared`, `palette`, and names in queries."""
    found = dict(_SHARED["panels"][raw["shared"]] if "shared" in raw else raw)
    if "palette" in found:
        found["colors"] = PALETTES[found.pop("palette")]
    found["description"] = _on_one_line(found["description"])
    found["queries"] = {line: expanded(query) for line, query in found["queries"].items()}
    return found


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def expanded(query: str) -> str:
    """Return the complete PromQL of a board's query."""
    while "$" in query:  # an expression may refer to others
        query = Template(query).substitute(_SHARED["expressions"])
    return _SELECTOR.sub(_of_targets, query)


def _of_targets(selector: re.Match[str]) -> str:
    function, name, own = selector.groups(default="")
    matchers = ", ".join(filter(None, (own, _TARGETS)))
    return f"{function}{name}{{{matchers}}}{'[$__rate_interval]' if function else ''}"
