"""The parts that all charts are made of."""

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from nncache.bench.report.colours import BLACK, QUIET
from nncache.bench.report.drawing import (
    decades,
    footer,
    new_figure,
    plain,
    reach,
    say_nothing,
    short_name,
    title,
    write,
)
from tests.bench import example_figures as example


@pytest.fixture
def figure() -> Figure:
    """Return an empty one."""
    return new_figure(4.0)


@pytest.fixture
def axes(figure: Figure) -> Axes:
    """Return its only axes."""
    return figure.add_subplot()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("10 µs · 3∞", "10 µs · 3∞"),
        ("漢字 é", "?? ?"),
        ("tab\tbell\a", "tab?bell?"),
        ("a" * 12, "a" * 12),
        ("a" * 13, "a" * 9 + "..."),
    ],
)
def test_a_text_has_only_letters_that_there_are(text: str, shown: str) -> None:
    """Others become question marks; it is cut to the length that is given."""
    assert plain(text, 12) == shown


def test_a_name_fits_beside_a_bar() -> None:
    """Ten letters, the last of which says that some are missing."""
    assert [short_name(mode) for mode in ("nncache", "a" * 10, "a" * 11)] == [
        "nncache",
        "a" * 10,
        "a" * 9 + ".",
    ]


def test_a_long_title_is_broken_and_smaller(figure: Figure) -> None:
    """It has three lines at most."""
    title(figure, "short")
    title(figure, "many words " * 50)
    short, long = figure.texts
    assert short.get_text() == "short"
    assert len(long.get_text().splitlines()) == 3
    assert float(long.get_fontsize()) < float(short.get_fontsize())


def test_a_footer_says_which_run_it_is(figure: Figure) -> None:
    """Quietly, but for a generator that was too slow."""
    slow = tuple(mode for mode in example.also()[0].modes if not mode.kept_schedule)
    footer(figure, example.info(), example.modes())
    footer(figure, example.info(), slow)
    kept, late = figure.texts
    assert kept.get_text() == "workload design · seed 7 · 2026-11-22T10:00:00Z"
    assert late.get_text() == f"{kept.get_text()} · The generator did not keep its schedule: direct"
    assert (kept.get_color(), late.get_color()) == (QUIET, BLACK)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (1, 1_000, ["1", "10", "100", "1,000"]),
        (0.02, 30, ["0.1", "1", "10"]),
        (1, 1e7, ["1", "100", "10,000", "1 M"]),
    ],
)
def test_powers_of_ten_have_ticks_with_plain_numbers(
    axes: Axes, low: float, high: float, ticks: list[str]
) -> None:
    """Where they are many, every second one or fewer."""
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    decades(axes.xaxis, low, high)
    places = axes.xaxis.get_majorticklocs()
    assert axes.xaxis.get_major_formatter().format_ticks([float(place) for place in places]) == ticks
    assert list(axes.xaxis.get_minorticklocs()) == []


@pytest.mark.parametrize(
    ("scale", "value", "share"),
    [
        ("linear", 25.75, 0.25),
        ("linear", 1_000.0, 1.0),
        ("linear", -5.0, 0.0),
        ("log", 10.0, 0.5),
        ("log", 0.0, 0.0),
        ("log", 1e9, 1.0),
    ],
)
def test_a_value_lies_so_far_to_the_right(axes: Axes, scale: str, value: float, share: float) -> None:
    """As a share of the width of an axis from 1 to 100; what is beyond its ends lies at them."""
    axes.set_xscale(scale)
    axes.set_xlim(1, 100)
    assert reach(axes, value) == pytest.approx(share)


def test_axes_without_anything_say_why(axes: Axes) -> None:
    """And have no ticks."""
    say_nothing(axes, "no change was seen")
    assert [text.get_text() for text in axes.texts] == ["no change was seen"]
    assert [*axes.get_xticks(), *axes.get_yticks()] == []


def test_a_name_is_no_formula(axes: Axes) -> None:
    """What TeX would take for one is drawn as it is."""
    written = write(axes, 0.5, 0.5, r"$\frac{1}$")
    assert isinstance(written, Text)
    assert not written.get_parse_math()
    assert written.get_text() == r"$\frac{1}$"
