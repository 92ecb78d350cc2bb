"""`make demo`, from nothing to its end."""

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nncache.demo.command import BAD_OPTION, INTERRUPTED, main
from tests.demo.told import Told, tell
from tests.house.tree import ROOT
from tests.kerberos import need_gssapi, need_kdc

STEPS_THAT_NEED_INVALIDATION = (
    "The finished file is seen",
    "Old name 404, new name 200",
    "bob gets 403, alice 200",
    "A change once it is mended",
    "A change once ZooKeeper is back",
    "A change once the publisher is back",
)

STEPS_THAT_NEED_NO_INVALIDATION = (
    "A missing file, from memory",
    "The subscriber sees _SUCCESS",
    "Reads while it is cut",
    "Reads while ZooKeeper is away",
    "Reads while no publisher runs",
    "Three counts agree",
)


GUARDS_S = 10.0
"""For the guards of the test bed, which end what a broken off start has left."""


def test_the_story_comes_true(told: Told) -> None:
    """Exit code 0, every step ticked, and nothing on standard error."""
    assert told.code == 0, told.out + told.err
    assert "✗" not in told.out
    assert "All 22 steps came true." in told.out
    assert "\x1b" not in told.out
    assert "Try it yourself" in told.out
    assert told.err == ""


def test_without_invalidation_it_fails_loudly(told_without_invalidation: Told) -> None:
    """The checks can fail: those steps that need it do, and the reader is told why."""
    assert told_without_invalidation.code == 1, told_without_invalidation.out + told_without_invalidation.err
    assert "did not come true: The finished file is seen;" in told_without_invalidation.out
    assert "hears of no change (DEMO_WITHOUT=invalidation)" in told_without_invalidation.out
    for title in STEPS_THAT_NEED_INVALIDATION:
        assert not told_without_invalidation.came_true(title)


def test_without_invalidation_the_rest_still_comes_true(told_without_invalidation: Told) -> None:
    """It fails for the reason that it gives, and not because nothing works."""
    for title in STEPS_THAT_NEED_NO_INVALIDATION:
        assert told_without_invalidation.came_true(title)


def test_without_a_publisher_it_fails_loudly(told_without_a_publisher: Told) -> None:
    """Nothing is answered from memory, and the reader is told why; the books still balance."""
    told = told_without_a_publisher
    assert told.code == 1, told.out + told.err
    assert "did not come true: A missing file, from memory; The job finishes;" in told.out
    assert "no publisher (DEMO_WITHOUT=publisher)" in told.out
    assert told.came_true("Three counts agree")


def test_an_unknown_option_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing is started."""
    stream = io.StringIO()
    assert main({"DEMO_WITHOUT": "gravity"}, stream) == BAD_OPTION
    assert (
        capsys.readouterr().err == "DEMO_WITHOUT=gravity: must be one of invalidation, publisher, or empty\n"
    )
    assert stream.getvalue() == ""


def test_what_is_missing_on_the_machine_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the command that installs it: without Java nothing can be told."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert main({}, io.StringIO()) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("The demo could not run: ")
    assert "java" in line
    assert "apt-get install " in line


@pytest.mark.long
def test_the_secured_story_comes_true() -> None:
    """Alice's ticket decides what she sees; every step ticked."""
    need_kdc()
    need_gssapi()
    told = tell(SECURE="1")
    assert told.code == 0, told.out + told.err
    assert "✗" not in told.out
    assert "All 8 steps came true." in told.out
    assert told.err == ""


@pytest.mark.parametrize(
    ("missing", "packages"),
    [
        ("krb5kdc", "apt-get install .*krb5-kdc"),
        ("gssapi", r"pip install '\.\[kerberos\]'.*libkrb5-dev krb5-user"),
    ],
)
def test_what_the_secured_story_needs_is_one_line(
    missing: str,
    packages: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the packages, and before anything is started."""
    if missing == "gssapi":
        monkeypatch.setitem(sys.modules, "gssapi", None)
        monkeypatch.setattr("nncache.demo.secured.find_programs", dict)
    else:
        monkeypatch.setattr("nncache.testbed.kdc.shutil.which", lambda *_, **__: None)
    stream = io.StringIO()
    assert main({"SECURE": "1"}, stream) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("The demo could not run: ")
    assert re.search(packages, line)
    assert "starting a cluster" not in stream.getvalue()


def processes_of(directory: Path) -> list[str]:
    """Return the command lines that name this directory."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes()
        except OSError:  # it has just ended
            continue
        if str(directory).encode() in words:
            found.append(words.replace(b"\0", b" ").decode(errors="replace"))
    return found


def ignores_signals(pid: int) -> bool:
    """Whether the process has begun to end, and ignores SIGTERM."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    mask = next(line for line in status.splitlines() if line.startswith("SigIgn:")).split()[1]
    return bool(int(mask, 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing_running(number: signal.Signals) -> None:
    """Also amid the start, when servers are half up."""
    with subprocess.Popen(
        # An ignored SIGHUP (nohup) would be inherited, and the demo rightly keeps ignoring it.
        ["env", "--default-signal=HUP", sys.executable, "-m", "nncache.demo"],
        cwd=ROOT,
        env=os.environ
        | {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8", "DEMO_WITHOUT": "", "SECURE": ""},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as demo:
        assert demo.stdout is not None
        line = next(line for line in demo.stdout if "starting a cluster in " in line)
        directory = Path(line.rpartition(" ")[2].strip())
        while not processes_of(directory):
            assert demo.poll() is None
        demo.send_signal(number)
        while demo.poll() is None and not ignores_signals(demo.pid):
            pass
        demo.send_signal(
            signal.SIGTERM
        )  # the impatient second one must not break into the stopping of servers
        rest = demo.stdout.read()
        assert demo.wait(30) == INTERRUPTED
    assert rest.splitlines()[-1] == "Interrupted; everything is stopped."
    deadline = time.monotonic() + GUARDS_S
    while processes_of(directory) or directory.exists():
        assert time.monotonic() < deadline, processes_of(directory)
        time.sleep(0.02)
