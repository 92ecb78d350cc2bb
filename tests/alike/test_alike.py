"""The quick ways reply like the ordinary path, byte for byte; a run that compares too little fails."""

import subprocess
import sys
from collections import Counter
from typing import Final

import pytest

from tests.alike.comparing import hold, without_repeats
from tests.alike.drawing import draw
from tests.alike.faults import FAULTS
from tests.alike.run import MIN_SHARES, Figures, compare
from tests.alike.steps import HalfClose, Passing, Send
from tests.model.variants.patching import compile_broken
from tests.model.variants.variant import PACKAGE, Variant
from tests.proxy.doubles import NAMENODE, OTHER_NAMENODE

SEEN_SOON = (
    "credential-left-out",
    "part-of-a-head-held",
    "good-not-asked",
    "standby-passed-on",
    "asked-twice",
)


def test_the_quick_ways_answer_as_the_ordinary_path() -> None:
    """This holds for any requests, spellings and segmentations, and for any events in between."""
    figures = compare(requests=6_000, seed=2)
    assert figures.shortfalls(requests=6_000) == [], figures.reported


KNOWN: Final = (
    b"GET /webhdfs/v1/w/%C3%A9?op=GETFILESTATUS&user.name=alice HTTP/1.1\r\nHost: nn\r\nAccept: \r\n\r\n"
)
WITH_BODY: Final = KNOWN.replace(b"Host", b"Content-Length: 5\r\nHost") + b"12345"


def test_the_last_answer_after_a_half_close_is_compared() -> None:
    """This also holds for the last request of a waiting pipeline (seen in conversation 1144 of seed 1)."""
    pipeline = (Send(0, WITH_BODY, iterations=0), *(Send(0, KNOWN, iterations=0) for _ in range(13)))
    assert hold((*(Send(0, KNOWN), Passing(0.05)) * 2, *pipeline, HalfClose(0))).difference == ""


def test_a_conversation_can_be_held_again() -> None:
    """A seed reproduces its conversation and its outcome."""
    conversation = draw("1/7")
    assert conversation == draw("1/7") != draw("1/8")
    assert hold(conversation) == hold(conversation)


ENOUGH: Final = Counter(requests=100, quick=60, plain=30, fills=9)


@pytest.mark.parametrize(
    "figures",
    [
        *(Figures(Counter({**ENOUGH, name: 0})) for name in MIN_SHARES),
        Figures(Counter({**ENOUGH, "requests": 99})),
        Figures(ENOUGH, difference="a byte"),
    ],
)
def test_a_run_falls_short(figures: Figures) -> None:
    """A run fails with too few requests, too few of each quick way, or any difference."""
    assert len(figures.shortfalls(requests=100)) == 1
    assert Figures(ENOUGH).shortfalls(requests=100) == []


def test_only_questions_for_clients_that_left_are_left_out() -> None:
    """Only calls to the other NameNode are removed, once per client, with the suspicion before them."""
    suspicion, repeated = ("suspect", NAMENODE.http, "cut"), (OTHER_NAMENODE.http, b"GET /a HTTP/1.1\r\n\r\n")
    first = (NAMENODE.http, repeated[1])
    left = Counter({b"GET /a": 1})
    assert without_repeats([first, suspicion, repeated, suspicion, repeated], left) == [
        first,
        suspicion,
        repeated,
    ]
    assert not left.total()
    for asked in (
        [first],
        [suspicion],
        [first, repeated],
        [suspicion, (OTHER_NAMENODE.http, b"GET /b HTTP/1.1")],
    ):
        assert without_repeats(asked, Counter({b"GET /a": 1})) == asked


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_breaks_one_line(fault: Variant) -> None:
    """Its old text occurs once in the source, and the result is valid Python."""
    assert fault.lines_changed() == 1
    compile_broken(fault)


@pytest.mark.timeout(360)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in SEEN_SOON else pytest.mark.long) for name in FAULTS]
)
def test_a_fault_is_seen(name: str) -> None:
    """Each fault is seen in a process of its own, most within a few thousand requests."""
    command = (sys.executable, "-m", "tests.alike.faults", name)
    done = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "conversation" in done.stdout.splitlines()[1]
