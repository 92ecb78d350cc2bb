"""What the filters' commands say where HDFS is not there, or a terminal is."""

import os
import pty
import subprocess
import sys

import pytest

from nncache.commands.filters_client import FiltersClient
from nncache.commands.progress_bar import bar
from nncache.errors import FiltersError
from nncache.hadoop.namenode_settings import WebHdfsSettings
from nncache.settings.commands import SettingsOfFilters
from nncache.testbed import Cluster


def test_a_silent_namenode_says_what_to_do() -> None:
    """The reason, and the flag that names others."""
    settings = SettingsOfFilters(namenodes=WebHdfsSettings(namenode_http=("127.0.0.1:1",), user="joe"))
    with pytest.raises(
        FiltersError,
        match=r"^the filters in /apps/nncache/filters cannot be read: Cannot connect to host 127\.0\.0\.1:1 .*; "
        r"--namenode-http names the NameNodes' HTTP addresses$",
    ):
        FiltersClient(settings).list(as_json=False)


def test_no_bar_is_shown_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    """Not in a file, however long it takes."""
    with bar("reading") as tell:
        tell(1, 2)
        tell(2, 2)
    assert capfd.readouterr() == ("", "")


def on_a_terminal(*command: str) -> str:
    """Run a command on a terminal of 100 columns and return what it shows."""
    ours, theirs = pty.openpty()
    environ = os.environ | {"COLUMNS": "100", "TERM": "xterm", "PYTHONPATH": "."}
    running = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ)
    os.close(theirs)
    shown = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:  # how Linux says that nobody holds the other end
            break
        if not read:
            break
        shown += read
    os.close(ours)
    assert running.wait(30) == 0, shown
    return shown.decode()


def test_a_terminal_shows_a_table(cluster: Cluster, hdfs_directory: str) -> None:
    """With its headings in small letters, unlike columns; whoever pipes gets columns."""
    command = (sys.executable, "-m", "nncache.cli", "filters")
    place = ("--namenode-http", cluster.namenodes[0].http, "--filters-path", hdfs_directory)
    who = ("--user", cluster.superuser)
    subprocess.run([*command, "add", "--name", "joe", "--glob", "/user/[a-z]*", *place, *who], check=True)
    shown = on_a_terminal(*command, "list", *place)
    assert "subscribers" in shown
    assert "/user/[a-z]*" in shown
    assert "SUBSCRIBERS" not in shown


def test_a_bar_is_shown_on_a_terminal_when_it_takes_long() -> None:
    """And taken away at the end."""
    code = (
        "from nncache.commands import filters_client as client\n"
        "client.PATIENCE_S = 0.0\n"
        "with client.bar('reading filters') as tell:\n"
        "    tell(1, 1000)\n"
        "print('the end')\n"
    )
    shown = on_a_terminal(sys.executable, "-c", code)
    assert "reading filters" in shown
    assert "1/1000" in shown
    assert shown.rstrip().endswith("the end")
