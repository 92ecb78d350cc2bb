"""Each test file belongs to one layer, and a parallel run keeps tests with a common fixture together."""

import click
import pytest

from tests.house.core_coverage import core, own_test
from tests.layers import (
    ON_THE_CLUSTER,
    ROOT,
    TOGETHER,
    WITH_PROCESSES,
    Layer,
    layer_of,
    rank_of,
    share_of,
)
from tools.changed import near
from tools.nightly import PARTS, chosen, command_of


def test_a_file_is_one_share() -> None:
    """A module's fixtures are set up once, and one worker runs all tests of the cluster."""
    assert share_of("tests/faults/test_edits_lost.py::test_a[x::y]") == "tests/faults/test_edits_lost.py"
    assert share_of("tests/secured/test_tls.py::test_it") == "tests/secured/"
    assert share_of("tests/stories/test_root.py::test_it") == "cluster"


def test_tests_with_processes_begin() -> None:
    """The shorter ones then fill the gaps of the longer ones."""
    order = ["tests/cache/test_gate.py", "tests/faults/test_edits_lost.py", "tests/stories/test_root.py"]
    assert sorted(order, key=rank_of) == order[::-1]


def test_the_places_that_are_named_are_there() -> None:
    """Tests of a renamed file would silently move to another layer."""
    places = (*ON_THE_CLUSTER, *WITH_PROCESSES, *TOGETHER)
    assert [place for place in places if not list(ROOT.glob(f"{place.rstrip('/')}*"))] == []


def test_deciders_are_tested_without_a_process() -> None:
    """`make test` measures their coverage."""
    assert [path for module in core() if layer_of(path := own_test(module)) != Layer.TEST] == []


def test_the_tests_near_a_module_are_found() -> None:
    """A module's own test is chosen; tests on the cluster are not."""
    files, further = near({"nncache.cache.gate"}, 1)
    assert ROOT / "tests/cache/test_gate.py" in files
    assert further > len(files)
    assert all(layer_of(path) == Layer.TEST for path in files)
    assert near({"nncache.nowhere"}, 3) == ([], 0)


def test_each_part_of_the_night_is_a_target() -> None:
    """The Makefile lists the parts that can be run alone."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = makefile.partition("\nNIGHTLY := ")[2].partition("\n")[0].split()
    assert targets == list(dict.fromkeys(part.partition("/")[0] for part in PARTS))


def test_a_part_of_the_night_is_chosen_with_its_parts() -> None:
    """A random part gets the seed. An unknown name is reported with the valid ones."""
    assert chosen("model,long") == ["model", "model/variants", "long"]
    assert chosen("") == list(PARTS)
    assert command_of("model", 7)[1:] == ["-m", "tests.model", "--seed", "7"]
    with pytest.raises(
        click.BadParameter, match="'modle' is no part of the night; the parts are long, model"
    ):
        chosen("modle")
