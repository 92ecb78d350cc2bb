"""Work beside a test ends with it, and no failure is lost."""

import threading
from multiprocessing.connection import Connection

import pytest

from nncache.testbed.process import ServerProcess
from tests.patience import HANG_S
from tests.real.beside import beside, child, received
from tests.real.faults import killed


def test_work_goes_on_until_the_block_ends() -> None:
    """Then it has ended."""
    with beside(lambda ending: ending.wait(HANG_S)) as work:
        assert not work.running.done()
    assert work.running.result() is True


def fail(_: threading.Event) -> None:
    """Fail immediately."""
    raise KeyError("x")


def test_a_failure_of_the_work_is_raised() -> None:
    """It is raised at the end of the block, unless the block itself raises."""
    with pytest.raises(KeyError), beside(fail):
        pass
    with pytest.raises(ZeroDivisionError), beside(fail):
        _ = 1 / 0


def test_a_failure_is_known_before_the_end() -> None:
    """`check` raises it."""

    def look() -> None:
        with beside(fail) as work:
            work.running.exception(HANG_S)
            work.check()
            pytest.fail("it was not raised")

    with pytest.raises(KeyError):
        look()


def _answer(number: int, parent: Connection) -> None:
    parent.send(number + parent.recv())


def test_a_child_is_asked_over_its_pipe() -> None:
    """A child that has ended or is silent raises the given error."""
    with child(_answer, 3) as pipe:
        pipe.send(4)
        assert received(pipe, HANG_S, "no sum") == 7
        assert pipe.poll(HANG_S), "its end is not noticed"
        with pytest.raises(AssertionError, match="it ended"):
            received(pipe, HANG_S, "it ended")


def test_what_is_killed_runs_again_though_the_test_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault is mended at the end of its block, even after an exception."""
    calls: list[str] = []
    for name in ("kill", "launch"):
        monkeypatch.setattr(ServerProcess, name, lambda _, name=name: calls.append(name))
    process = ServerProcess.__new__(ServerProcess)
    with pytest.raises(ZeroDivisionError), killed(process):
        _ = 1 / 0
    assert calls == ["kill", "launch"]
