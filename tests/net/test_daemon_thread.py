"""Calls on a daemon thread: their results, and the exit of the process."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nncache.net.daemon_thread import on_daemon_thread
from tests.patience import HANG_S

HANGS = """
import asyncio, pathlib, sys
from nncache.net.daemon_thread import on_daemon_thread

async def give_up():
    future = on_daemon_thread(pathlib.Path(sys.argv[1]).read_bytes, "disk")
    await asyncio.wait([future], timeout=0.1)

asyncio.run(give_up())
"""


async def test_what_a_call_returns_or_raises_is_passed_on() -> None:
    """The call runs on another thread."""
    assert await on_daemon_thread(lambda: threading.current_thread().name, "disk") == "disk"
    with pytest.raises(FileNotFoundError):
        await on_daemon_thread(Path("/no/such").read_bytes, "disk")


async def test_the_result_of_a_call_that_was_given_up_is_dropped() -> None:
    """This holds for a result and for an exception."""
    for path in ("/dev/null", "/no/such"):
        given_up = on_daemon_thread(Path(path).read_bytes, "disk")
        given_up.cancel()
        await on_daemon_thread(str, "later")
        assert given_up.cancelled()


def test_a_call_that_hangs_does_not_keep_the_process(tmp_path: Path) -> None:
    """A thread of `asyncio.to_thread` would keep it running."""
    os.mkfifo(tmp_path / "hangs")
    subprocess.run([sys.executable, "-c", HANGS, str(tmp_path / "hangs")], check=True, timeout=HANG_S)
