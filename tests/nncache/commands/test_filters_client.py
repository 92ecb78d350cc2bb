"""What the filters' commands say where HDFS is not there, or a terminal is."""

import subprocess
import sys

import pytest

from nncache.commands.filters_client import FiltersClient
from nncache.errors import FiltersError
from nncache.hadoop.namenode_settings import WebHdfsSettings
from nncache.invalidation.filters.settings import FilterSettings
from nncache.settings.commands import SettingsOfFilters
from nncache.testbed import Cluster
from tests.nncache.commands.a_terminal import on_a_terminal


def test_a_silent_namenode_says_what_to_do() -> None:
    """The reason, and the flag that names others."""
    settings = SettingsOfFilters(namenodes=WebHdfsSettings(namenode_http=("127.0.0.1:1",), user="joe"))
    with pytest.raises(
        FiltersError,
        match=r"^the filters in /apps/nncache/filters cannot be read: cannot connect to 127\.0\.0\.1:1: "
        r"\[Errno 111\] Connection refused; "
        r"--namenode-http names the NameNodes' HTTP addresses$",
    ):
        FiltersClient(settings).list(as_json=False)


def test_a_glob_that_matches_less_than_it_seems_to_is_told(
    cluster: Cluster, hdfs_directory: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is added all the same: a level may be what is meant."""
    settings = SettingsOfFilters(
        namenodes=WebHdfsSettings(namenode_http=(cluster.namenodes[0].http,), user=cluster.superuser),
        filters=FilterSettings(filters_path=hdfs_directory),
    )
    FiltersClient(settings).add("deep", "/user/**/x", None, ())
    said = capsys.readouterr()
    assert said.out.startswith("added filter deep for /user/**/x")
    assert said.err.startswith("/user/**/x: ** stays within one level, as * does in Hadoop")
    FiltersClient(settings).add("flat", "/user/*/x", None, ())
    assert capsys.readouterr().err == ""


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
