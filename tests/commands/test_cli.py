"""Rules for the output of every command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SAY = """
import sys, click
from nncache.commands.cli import main
from nncache.commands.group import nncache

@nncache.command()
def say():
    click.echo("data-\\U0001f600 caf\\xe9 lone-\\udc80")
    click.echo("err-\\U0001f600", err=True)

sys.argv = ["nncache", "say"]
main()
"""


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("latin-1", b"data-\\U0001f600 caf\xe9 lone-\\udc80\n"),
        ("koi8-r", b"data-\\U0001f600 caf\\xe9 lone-\\udc80\n"),
        ("utf-8", "data-\U0001f600 caf\xe9 lone-\\udc80\n".encode()),
    ],
)
def test_a_name_that_the_terminal_cannot_show_is_escaped(encoding: str, shown: bytes) -> None:
    """projecthamster/hamster #94, aws-cli #1386: a file name must not abort the output of another user's command."""
    environ = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-c", SAY], env=environ, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, shown), done.stderr
    assert done.stderr == "err-\U0001f600\n".encode(encoding, "backslashreplace")


SERVE = """
import sys
from nncache.commands.cli import main
from nncache.commands.group import nncache

@nncache.command()
def serve():
    import socket
    from nncache.daemons.daemon import run_until_signal

    async def serve(signals):
        with open(sys.argv[2], "w") as seen, socket.socket() as connection:
            print("not shown")
            seen.write(str(connection.fileno() > 2))

    run_until_signal(serve, "x")

serve.params.append(__import__("click").Argument(["file"], expose_value=False))
sys.argv[1:] = ["serve", *sys.argv[1:]]
main()
"""


def test_a_daemon_runs_without_standard_streams(tmp_path: Path) -> None:
    """As some scripts of init start one. No connection gets their numbers, to which libraries write errors."""
    words = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", SERVE, str(tmp_path / "seen")]
    assert subprocess.run(words, check=False).returncode == 0
    assert (tmp_path / "seen").read_text() == "True"
