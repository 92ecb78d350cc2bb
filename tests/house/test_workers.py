"""A run that is cut into shares leaves nothing out, and keeps together what belongs together."""

from tests.house.core_coverage import core, own_test, own_tests
from tests.house.tree import ROOT, shown
from tests.workers import FIRST, share_of, turn_of


def test_a_file_is_one_share() -> None:
    """What is set up for a module is set up once."""
    assert share_of("tests/faults/test_edits_lost.py::test_a[x::y]") == "tests/faults/test_edits_lost.py"
    assert share_of("tests/demo/test_command.py::test_it") == "tests/demo/"
    assert share_of("tests/demo/test_steps.py::test_it") == "tests/demo/"


def test_short_tests_come_last() -> None:
    """They fill up what the long ones leave."""
    long, short = "tests/faults/test_edits_lost.py::test_a", "tests/cache/test_clock_eviction.py::test_a"
    assert turn_of("tests/demo/test_steps.py::test_it") < turn_of(long) < turn_of(short)


def test_the_directories_that_are_named_are_there() -> None:
    """A renamed one would be set up once for each worker, or come last, and nobody would see it."""
    assert all((ROOT / place).is_dir() for place in FIRST)


def test_what_make_test_leaves_out_of_one_run_is_in_the_other() -> None:
    """`make core` runs whole files, all that `--without-core` takes away; nothing else does."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.partition("\ntest:")[2].partition("\n\n")[0]
    assert {"core", "others"} <= set(recipe.split())
    assert own_tests() == {own_test(module) for module in core()}
    assert all(shown(path).startswith("tests/") and path.name.startswith("test_") for path in own_tests())
