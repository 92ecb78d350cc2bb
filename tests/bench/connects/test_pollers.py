"""Pollers: each polls as often as it should, and what a poll took counts from when it was due."""

import gc
import multiprocessing
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

import pytest

from nncache.bench.connects import pollers
from nncache.bench.connects.heads import PATHS, path_of
from nncache.bench.connects.pollers import PERIOD_S, Polled, Pollers
from tests.bench.connects.test_heads import HIT, REFUSED
from tests.bench.polling_server import Act, Script, serving

WARM_UP = 3 * PATHS


def after_warm_up(*acts: Act) -> tuple[Act, ...]:
    """Return hits for each time that a path is asked for before polling begins, then these."""
    return (Act(data=HIT),) * 3 + acts


def script_of(*acts: Act) -> Script:
    """Return what does this with each path."""
    return Script({path_of(number): after_warm_up(*acts) for number in range(PATHS)})


@contextmanager
def pipe() -> Iterator[tuple[Connection, Connection]]:
    """Make one."""
    ours, theirs = multiprocessing.Pipe()
    with ours, theirs:
        yield ours, theirs


def polled(script: Script, polls: int, count: int = 4) -> Polled:
    """Poll until so many polls have been heard."""
    with pipe() as (ours, theirs), serving(script) as address:
        made = Pollers(address, count)
        done = list[Polled]()
        thread = threading.Thread(target=lambda: done.append(made.run(theirs)))
        thread.start()
        while len(script.targets) < WARM_UP + polls and thread.is_alive():
            thread.join(0.01)
        ours.send(None)
        thread.join()
    return done[0]


def test_each_polls_in_its_period() -> None:
    """In turn, for one path after the other; nothing before polling begins counts."""
    script = script_of(Act(data=HIT))
    done = polled(script, polls=20)
    assert len(done.due) == len(done.took_s) == len(done.late_s) >= 20
    assert script.connections == 4
    assert (done.failed, done.forwarded) == (0, 0)
    ordered = sorted(done.due)
    steps = [later - earlier for earlier, later in zip(ordered, ordered[4:], strict=False)]
    assert steps == pytest.approx([PERIOD_S] * len(steps), abs=1e-6)
    assert all(took >= late >= 0 for took, late in zip(done.took_s, done.late_s, strict=True))


def test_a_stalled_server_is_asked_no_less() -> None:
    """The polls that were due meanwhile are made up for, and count from when they were due."""
    slow, hit = Act(data=HIT, delay_s=4 * PERIOD_S), Act(data=HIT)
    script = Script({path_of(number): after_warm_up(hit) for number in range(1, PATHS)})
    script._acts[path_of(0)] = after_warm_up(slow)  # noqa: SLF001 - a script of two parts
    done = polled(script, polls=8, count=1)
    took = list(done.took_s)
    assert took[0] >= 4 * PERIOD_S
    assert took[1] >= 3 * PERIOD_S
    assert took[2] >= 2 * PERIOD_S
    assert all(
        later - earlier == pytest.approx(PERIOD_S)
        for earlier, later in zip(done.due, done.due[1:], strict=False)
    )


@pytest.mark.parametrize(
    ("act", "is_kept"), [(Act(data=REFUSED), True), (Act(data=b"", then="close"), False)]
)
def test_what_fails_is_counted(act: Act, is_kept: bool) -> None:
    """A connection that goes is not made again, so the others poll on."""
    script = Script({path_of(number): after_warm_up(Act(data=HIT)) for number in range(1, PATHS)})
    script._acts[path_of(0)] = after_warm_up(act)  # noqa: SLF001 - a script of two parts
    done = polled(script, polls=30, count=2)
    assert done.failed == 1
    assert script.connections == 2
    assert (len(script.open) == 0) or is_kept


def test_what_does_not_come_from_memory_is_counted() -> None:
    """The gate was not open."""
    done = polled(script_of(Act()), polls=5)
    assert done.forwarded == len(done.due) >= 5


def test_a_poll_without_an_answer_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while."""
    monkeypatch.setattr(pollers, "_TIMEOUT_S", 0.3)
    done = polled(script_of(Act(data=b"")), polls=4)
    assert (done.failed, len(done.due)) == (4, 0)


def test_a_server_that_answers_nothing_ends_it_before_it_begins() -> None:
    """There is nothing to measure."""
    with (
        serving(Script({path_of(0): (Act(data=b"", then="close"),)})) as address,
        pytest.raises(ConnectionError),
    ):
        Pollers(address, 1)


def test_a_process_polls_until_it_is_told_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says when it begins."""
    monkeypatch.setattr(gc, "disable", lambda: None)  # this process is the tests'
    with pipe() as (ours, theirs), serving(script_of(Act(data=HIT))) as address:
        thread = threading.Thread(target=pollers.run, args=(theirs, address))
        thread.start()
        assert ours.recv() is None
        ours.send(None)
        done = ours.recv()
        thread.join()
    assert isinstance(done, Polled)
    assert done.failed == 0
