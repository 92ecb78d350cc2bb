"""Servers as processes; here they are small Python programs."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nncache.testbed.errors import ServerStartError
from nncache.testbed.process import Lifeline, ServerProcess, await_all
from tests.patience import HANG_S

PATIENCE_S = 20.0
SERVE = "import pathlib, sys, time; pathlib.Path(sys.argv[1]).touch(); time.sleep(600)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SERVE}"
POLITE = f"import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit()); {SERVE}"  # as a JVM
FAIL = "import sys; print('first', flush=True); sys.exit('no such luck')"


@pytest.fixture
def lifeline(tmp_path: Path) -> Iterator[Lifeline]:
    """A lifeline, closed after the test."""
    line = Lifeline(tmp_path / "lock", None)
    yield line
    line.close()


@pytest.fixture
def make(tmp_path: Path, lifeline: Lifeline) -> Iterator[Callable[..., ServerProcess]]:
    """Return a function that makes servers; a server is up once its program has created the file `up`."""
    made: list[ServerProcess] = []

    def build(code: str, *, name: str = "it", timeout_s: float = 20.0) -> ServerProcess:
        up = tmp_path / f"{name}.up"
        process = ServerProcess(
            name,
            (sys.executable, "-c", code, str(up)),
            log=tmp_path / f"{name}.log",
            environ=os.environ,
            lifeline=lifeline,
            is_up=up.exists,
            timeout_s=timeout_s,
        )
        made.append(process)
        return process

    yield build
    for process in made:
        process.kill()


def test_a_death_at_start_shows_the_end_of_the_log(make: Callable[..., ServerProcess]) -> None:
    """The server's last words are what its operator needs."""
    with pytest.raises(ServerStartError, match=r"(?s)it ended with 1 while.*first\nno such luck"):
        make(FAIL).start()


def test_silence_ends_with_the_time_given(make: Callable[..., ServerProcess]) -> None:
    """A server that never comes up is not awaited forever."""
    with pytest.raises(ServerStartError, match="it is not up after 0 s"):
        make("import time; time.sleep(600)", timeout_s=0.2).start()


def test_several_are_awaited_at_once(make: Callable[..., ServerProcess]) -> None:
    """One server's death is reported immediately, not after the others' timeout."""
    slow, failing = make("import time; time.sleep(600)", name="slow"), make(FAIL, name="failing")
    for server in (slow, failing):
        server.launch()
    began = time.monotonic()
    with pytest.raises(ServerStartError, match="failing ended"):
        await_all([slow, failing])
    assert time.monotonic() - began < HANG_S


def test_a_paused_one_can_be_stopped(make: Callable[..., ServerProcess]) -> None:
    """A paused process handles SIGTERM only after it is resumed."""
    server = make(POLITE)
    server.start()
    server.pause()
    server.terminate()
    assert server.wait(PATIENCE_S)


def test_a_deaf_one_is_killed(make: Callable[..., ServerProcess]) -> None:
    """SIGTERM comes first, SIGKILL after the grace period."""
    server = make(DEAF)
    server.start()
    server.stop(grace_s=0.2)
    assert server.wait(0)


def test_a_signal_to_one_that_has_gone_is_no_error(make: Callable[..., ServerProcess]) -> None:
    """Another process may have its pid by now: no signal is sent."""
    server = make(SERVE)
    server.signal(signal.SIGTERM)
    server.stop()
    server.start()
    server.kill()
    server.signal(signal.SIGTERM)
    assert server.pid is None


def test_stack_frames_and_banners_are_not_last_words(
    tmp_path: Path, make: Callable[..., ServerProcess]
) -> None:
    """The last twelve lines of a NameNode's log contain nothing else."""
    (tmp_path / "it.log").write_text(
        "the reason\n" + "\tat org.apache.X\n" * 50 + "/****\nSHUTDOWN_MSG: x\n", "ascii"
    )
    assert make(SERVE).last_words() == "its log ends:\nthe reason"
