"""Clients that wait: each asks once, asks again when its wait was not granted, and notes when it has its answer."""

import multiprocessing
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

import pytest

from nncache.bench.waiting import clients
from nncache.bench.waiting.clients import Answered, Ask, Clients, Collect
from nncache.bench.waiting.questions import Series
from tests.bench.polling_server import Act, Script, reply, serving
from tests.bench.waiting.test_questions import MISSING
from tests.patience import HANG_S

SERIES = Series(name="s", paths=2, callers=1)
THERE = reply(fields=("Preference-Applied: wait=50",))
STILL_MISSING = reply(MISSING, "404 Not Found", ("Preference-Applied: wait=50",))
NOT_GRANTED = reply(MISSING, "404 Not Found")


@contextmanager
def waiting(script: Script, count: int = 4) -> Iterator[Connection]:
    """Let clients of a thread connect to a server, and give them orders."""
    ours, theirs = multiprocessing.Pipe()
    with serving(script) as address:
        made = Clients(address, range(count), "127.0.0.2")
        thread = threading.Thread(target=made.run, args=(theirs,))
        thread.start()
        try:
            yield ours
        finally:
            ours.close()
            thread.join()
            theirs.close()


def collected(orders: Connection, within_s: float = HANG_S) -> Answered:
    """Have them ask, and return what they were answered."""
    orders.send(Ask(SERIES))
    assert orders.recv() is None
    orders.send(Collect(time.monotonic() + within_s))
    answered = orders.recv()
    assert isinstance(answered, Answered)
    return answered


def script_of(*acts: Act) -> Script:
    """Return what does this with each path."""
    return Script({SERIES.path(number): acts for number in range(SERIES.paths)})


def test_each_has_its_answer() -> None:
    """With the moment at which it was whole."""
    began = time.monotonic()
    script = script_of(Act(data=THERE, split=20))
    with waiting(script) as orders:
        answered = collected(orders)
    assert list(answered.is_there) == [True] * 4
    assert all(at is not None and began < at < time.monotonic() for at in answered.at)
    assert (answered.again, answered.not_granted) == (0, b"")
    assert script.connections == 4


def test_one_whose_wait_is_not_granted_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a pause; what it was answered is told."""
    monkeypatch.setattr(clients, "PAUSE_S", 0.01)
    with waiting(script_of(Act(data=NOT_GRANTED), Act(data=THERE))) as orders:
        answered = collected(orders)
    assert list(answered.is_there) == [True] * 4
    assert (answered.again, answered.not_granted) == (2, NOT_GRANTED), "of each path once"


def test_one_that_waits_in_vain_does_not_see_the_file() -> None:
    """Its answer counts all the same."""
    with waiting(script_of(Act(data=STILL_MISSING))) as orders:
        answered = collected(orders)
    assert list(answered.is_there) == [False] * 4
    assert None not in answered.at


@pytest.mark.parametrize("act", [Act(data=b""), Act(data=b"", then="close")])
def test_silence_is_no_answer(act: Act) -> None:
    """Nor is a connection that goes; the others are collected."""
    with waiting(script_of(act)) as orders:
        answered = collected(orders, within_s=0.3)
    assert list(answered.at) == [None] * 4


def test_a_series_may_follow_another() -> None:
    """On the same connections."""
    script = script_of(Act(data=THERE))
    with waiting(script) as orders:
        for _ in range(2):
            assert list(collected(orders).is_there) == [True] * 4
    assert script.connections == 4
