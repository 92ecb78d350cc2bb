"""A program under a guard ends with the process that started it."""

import os
import subprocess
import sys
from pathlib import Path

from nncache.testbed import guard
from tests.testbed.leftovers import eventually, running

STAY = "import sys, time; print('up', flush=True); time.sleep(600)"


def spawn(code: str, lifeline: int, directory: Path) -> subprocess.Popen[bytes]:
    """Run a Python program under a guard that removes `directory`."""
    lock = directory.parent / "lock"
    command = [guard.__file__, str(lifeline), str(lock), str(directory), sys.executable, "-c", code]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", *command], stdout=subprocess.PIPE, pass_fds=(lifeline,)
    )


def test_the_program_is_the_process_that_was_started(tmp_path: Path) -> None:
    """The guard does not change its pid or its exit status."""
    read, write = os.pipe()
    with spawn("import os, sys; print(os.getpid()); sys.exit(7)", read, tmp_path / "d") as process:
        out, _ = process.communicate(timeout=10)
    os.close(read)
    os.close(write)
    assert (int(out), process.returncode) == (process.pid, 7)


def test_a_watcher_goes_when_its_program_has_gone(tmp_path: Path) -> None:
    """Otherwise each restart would leave a watcher behind."""
    (tmp_path / "d").mkdir()
    read, write = os.pipe()
    with spawn("pass", read, tmp_path / "d") as process:
        process.communicate(timeout=10)
    assert eventually(lambda: not running(str(tmp_path)))
    assert (tmp_path / "d").exists()  # the starter is alive, and removes the directory itself
    os.close(read)
    os.close(write)


def test_losing_the_starter_ends_all_and_cleans_up(tmp_path: Path) -> None:
    """The lifeline closes when the starter ends, for whatever reason."""
    (tmp_path / "d" / "sub").mkdir(parents=True)
    read, write = os.pipe()
    with spawn(STAY, read, tmp_path / "d") as one, spawn(STAY, read, tmp_path / "d") as two:
        for process in (one, two):
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
        os.close(write)
        assert (one.wait(10), two.wait(10)) == (-9, -9)
    os.close(read)
    assert eventually(lambda: not (tmp_path / "d").exists())
    assert eventually(lambda: not running(str(tmp_path)))


def test_the_program_does_not_hold_the_lifeline(tmp_path: Path) -> None:
    """A server inherits only its standard streams."""
    read, write = os.pipe()
    code = "import os; print(*sorted(os.listdir('/proc/self/fd')))"
    with spawn(code, read, tmp_path / "d") as process:
        out, _ = process.communicate(timeout=10)
    os.close(read)
    os.close(write)
    assert out.split() == [b"0", b"1", b"2", b"3"]  # descriptor 3 is the directory being listed
