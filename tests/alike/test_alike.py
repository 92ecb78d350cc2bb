"""The quick ways say what the ordinary path says, byte for byte; and a run that compares little falls short."""

import subprocess
import sys

import pytest

from tests.alike.comparing import hold
from tests.alike.drawing import draw
from tests.alike.faults import FAULTS
from tests.alike.run import MIN_QUICK_SHARE, Figures, compare
from tests.model.variants.patching import compile_broken
from tests.model.variants.variant import ROOT, Variant

SEEN_SOON = ("credential-left-out", "part-of-a-head-held", "good-not-asked")


def test_the_quick_ways_answer_as_the_ordinary_path() -> None:
    """Whatever is asked, however it is spelled and cut, and whatever happens in between."""
    figures = compare(requests=6_000, seed=2)
    assert figures.shortfalls(requests=6_000) == [], figures.told


def test_a_conversation_can_be_held_again() -> None:
    """The same seed is the same conversation, with the same outcome."""
    conversation = draw("1/7")
    assert conversation == draw("1/7") != draw("1/8")
    assert hold(conversation) == hold(conversation)


@pytest.mark.parametrize(
    "figures",
    [
        Figures(requests=99, quick=90),
        Figures(requests=100, quick=round(100 * MIN_QUICK_SHARE) - 1),
        Figures(requests=100, quick=90, difference="a byte"),
    ],
)
def test_a_run_falls_short(figures: Figures) -> None:
    """Too few requests, too few of them quick, and any difference."""
    assert len(figures.shortfalls(requests=100)) == 1
    assert Figures(requests=100, quick=90).shortfalls(requests=100) == []


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_breaks_one_line(fault: Variant) -> None:
    """What it breaks stands once in the product's source, and is Python when broken."""
    assert fault.lines_changed() == 1
    compile_broken(fault)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in SEEN_SOON else pytest.mark.long) for name in FAULTS]
)
def test_a_fault_is_seen(name: str) -> None:
    """In a process of its own, within a few thousand requests."""
    command = (sys.executable, "-m", "tests.alike.faults", name)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "conversation" in done.stdout.splitlines()[1]
