"""What all charts have in common."""

from matplotlib.figure import Figure

from nncache.bench.report.canvas import COLOURS, colour, empty, figure_of, legend_of, plain, tinted
from tests.bench import example_figures as example


def test_a_title_breaks_where_a_number_does_not_end() -> None:
    """No unit begins a line."""
    title = ("the NameNode uses " + "61.4 %, 9.03 %, 37.9 % " * 4).strip()
    figure = figure_of(example.info(), example.modes(), title, 5, "what it is")
    lines = figure.get_suptitle().split("\n")
    assert len(lines) > 1
    assert not any(line.startswith("%") for line in lines)
    assert " ".join(" ".join(lines).split()) == title
    assert figure.get_supxlabel().startswith("what it is\nworkload design · seed 7")


def test_a_caption_may_be_missing() -> None:
    """Then the run comes first."""
    assert figure_of(example.info(), (), "t", 5).get_supxlabel().startswith("workload design")


def test_texts_of_others_are_cut() -> None:
    """To one line of letters that can be drawn."""
    assert plain("a\nb") == "a b"
    assert plain("x" * 20) == "x" * 15 + "…"
    assert plain("漢") == "?"


def test_colours_are_those_of_the_modes() -> None:
    """Another mode has one, too; a shade is the colour with white."""
    assert colour(example.nginx()) == COLOURS["nginx"]
    assert tinted("#000000", 1.0) == (0, 0, 0)
    assert tinted("#000000", 0.25) == (0.75, 0.75, 0.75)
    assert tinted("#ffffff", 0.25) == (1, 1, 1)


def test_a_legend_names_shades_and_lines() -> None:
    """The darkest first; and empty axes say why they are."""
    axes = Figure().subplots()
    legend_of(axes, {"dark": 1.0, "light": 0.3}, axes.axvline(1, label="line"))
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["dark", "light", "line"]
    empty(axes, "nothing")
    assert [text.get_text() for text in axes.texts] == ["nothing"]
