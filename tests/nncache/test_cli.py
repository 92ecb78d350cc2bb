"""Whatever ends a start is one line on standard error."""

import socket
import subprocess
import sys

import pytest


def nncache(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "nncache.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "line", "code"),
    [
        (["proxy", "--max-staleness-s", "-1"], "max_staleness_s: -1.0: must be more than 0 seconds", 2),
        (["proxy", "--channel", "nowhere:Else"], "channel: nowhere:Else: must be direct", 2),
        (["proxy", "--glob", "/a", "--glob", "/b[\n"], "glob: /b[\\n: must be a Hadoop glob", 2),
        (["proxy", "--config", "no-such.toml"], "no-such.toml: No such file or directory", 2),
        (["explain", "/x", "--admin", "127.0.0.1:1"], "no proxy answers at 127.0.0.1:1", 1),
    ],
)
def test_what_ends_a_start_is_one_line(arguments: list[str], line: str, code: int) -> None:
    """No traceback, no usage: the line says what to change. Exit code 2 for what was configured."""
    result = nncache(*arguments)
    assert result.stderr.startswith(f"nncache: {line}")
    assert result.stderr.count("\n") == 1
    assert (result.stdout, result.returncode) == ("", code)


def test_each_fault_is_a_line_of_its_own() -> None:
    """All are named at once, also those of one component."""
    result = nncache("proxy", "--namenode-http", "http://nn:9870", "--user", "a b", "--lame-duck-s", "x")
    assert result.stderr.splitlines() == [
        "nncache: lame_duck_s: x: must be a number",
        "nncache: namenode_http: http://nn:9870: must be host:port, without http:// and without a path: nn:9870",
        "nncache: user: a b: must be a user name that HDFS knows, such as hdfs",
    ]
    assert result.returncode == 2


def test_a_port_in_use_is_one_line() -> None:
    """Named with its setting, before anything is started."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = nncache("proxy", "--listen", address, "--admin", "127.0.0.1:0")
    line = result.stderr.splitlines()[-1]
    assert line.startswith(f"nncache: listen: {address}: ")
    assert line.lower().endswith("address already in use")
    assert result.returncode == 1
