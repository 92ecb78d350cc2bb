"""`make demo` from start to end: each story once, and early exits."""

import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nncache.demo.__main__ import BAD_OPTION, INTERRUPTED, main
from tests.house.tree import ROOT
from tests.kerberos import need_gssapi, need_kdc
from tests.testbed.leftovers import nothing_is_left, running

TIMEOUT_S = 500.0
"""The timeout of a run that takes half a minute on an idle machine."""


def run(**environ: str) -> subprocess.CompletedProcess[str]:
    """Run the demo to its end, in another process without a terminal."""
    asked = {"DEMO_WITHOUT": "", "SECURE": "", "LIGHT": "", "PYTHONIOENCODING": "utf-8"} | environ
    command = (sys.executable, "-m", "nncache.demo")
    return subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | asked,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )


def marks(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Return the mark of each step, by its title."""
    story = done.stdout.partition("\n1. ")[2]
    found = re.findall(r"^ +(✓|✗) (.*?): ", story, re.MULTILINE)
    return {title: mark for mark, title in found}


def test_the_story_comes_true() -> None:
    """Exit code 0, every step ticked, and nothing on standard error."""
    done = run()
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "All 22 steps came true." in done.stdout
    assert list(marks(done).values()) == ["✓"] * 22
    assert "\x1b" not in done.stdout
    assert "Try it yourself" in done.stdout


def test_the_light_story_comes_true() -> None:
    """Every step ticked, on a machine without Java."""
    done = run(LIGHT="1", PATH=str(Path(sys.executable).parent))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert list(marks(done).values()) == ["✓"] * 4


@pytest.mark.long
def test_without_invalidation_what_needs_it_fails() -> None:
    """The checks can fail, for the given reason, and not because nothing works."""
    done = run(DEMO_WITHOUT="invalidation")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "receives no change (DEMO_WITHOUT=invalidation)" in done.stdout
    seen = marks(done)
    for title in (
        "The finished file is seen",
        "Old name 404, new name 200",
        "bob gets 403, alice 200",
        "A change once it is mended",
        "A change once ZooKeeper is back",
        "A change once the publisher is back",
    ):
        assert seen[title] == "✗", title
    for title in (
        "A missing file, from memory",
        "The subscriber sees _SUCCESS",
        "Reads while it is cut",
        "Reads while ZooKeeper is away",
        "Reads while no publisher runs",
        "Three counts agree",
    ):
        assert seen[title] == "✓", title


@pytest.mark.long
def test_without_a_publisher_nothing_is_from_memory() -> None:
    """The output shows the cause; the counts are still consistent."""
    done = run(DEMO_WITHOUT="publisher")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "did not come true: A missing file, from memory; The job finishes;" in done.stdout
    assert "no publisher (DEMO_WITHOUT=publisher)" in done.stdout
    assert marks(done)["Three counts agree"] == "✓"


@pytest.mark.long
def test_the_secured_story_comes_true() -> None:
    """Alice's ticket decides which files she sees; every step is ticked."""
    need_kdc()
    need_gssapi()
    done = run(SECURE="1")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "All 8 steps came true." in done.stdout
    assert list(marks(done).values()) == ["✓"] * 8


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        (
            {"DEMO_WITHOUT": "gravity"},
            "DEMO_WITHOUT=gravity: must be one of invalidation, publisher, or empty",
        ),
        ({"SECURE": "yes"}, "SECURE=yes: must be one of 1, or empty"),
        ({"SECURE": "1", "DEMO_WITHOUT": "publisher"}, "DEMO_WITHOUT=publisher: must be empty with SECURE"),
        ({"LIGHT": "1", "SECURE": "1"}, "SECURE=1: must be empty with LIGHT"),
        ({"HADOOP": "2.7"}, "HADOOP=2.7: must be one of 3.5.0, 3.4.1, or empty"),
    ],
)
def test_an_unknown_option_is_one_line(
    environ: dict[str, str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is started."""
    stream = io.StringIO()
    assert main(environ, stream) == BAD_OPTION
    assert (capsys.readouterr().err, stream.getvalue()) == (f"{text}\n", "")


@pytest.mark.parametrize(
    ("environ", "missing", "packages"),
    [
        ({}, "java", "java.*apt-get install "),
        ({"SECURE": "1"}, "krb5kdc", "apt-get install .*krb5-kdc"),
        ({"SECURE": "1"}, "gssapi", r"pip install '\.\[kerberos\]'.*libkrb5-dev krb5-user"),
    ],
)
def test_what_is_missing_on_the_machine_is_one_line(
    environ: dict[str, str],
    missing: str,
    packages: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The line has the command that installs it, and nothing is started."""
    if missing == "java":
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("JAVA_HOME", raising=False)
    elif missing == "gssapi":
        monkeypatch.setitem(sys.modules, "gssapi", None)
        monkeypatch.setattr("nncache.demo.secured.find_programs", lambda *_: ())
    else:
        monkeypatch.setattr("nncache.testbed.programs.shutil.which", lambda *_, **__: None)
    stream = io.StringIO()
    assert main(environ, stream) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("The demo could not run: ")
    assert re.search(packages, line)
    assert "starting a cluster" not in stream.getvalue()


def ignores(pid: int, number: signal.Signals) -> bool:
    """Return whether the process ignores this signal."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    mask = next(line for line in status.splitlines() if line.startswith("SigIgn:")).split()[1]
    return bool(int(mask, 16) >> (number - 1) & 1)


@pytest.mark.parametrize(
    ("number", "nohup"),
    [(signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGHUP, False), (signal.SIGTERM, True)],
)
def test_a_signal_leaves_nothing_running(number: signal.Signals, *, nohup: bool) -> None:
    """The rule holds during the start, when servers are half up. Under `nohup`, SIGHUP stays ignored."""
    inherited = f"--{'ignore' if nohup else 'default'}-signal=HUP"
    with subprocess.Popen(
        ["env", "--default-signal=INT,TERM", inherited, sys.executable, "-m", "nncache.demo"],
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
        while not running(str(directory)):
            assert demo.poll() is None
        assert ignores(demo.pid, signal.SIGHUP) == nohup
        demo.send_signal(number)
        while demo.poll() is None and not ignores(demo.pid, signal.SIGTERM):
            pass
        demo.send_signal(
            signal.SIGTERM
        )  # a second, impatient signal must not interrupt the stopping of servers
        rest = demo.stdout.read()
        assert demo.wait(30) == INTERRUPTED
    assert rest.splitlines()[-1] == "Interrupted; everything is stopped."
    assert nothing_is_left(str(directory))
