"""Rules for the output of every command."""

import os
import subprocess
import sys

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
