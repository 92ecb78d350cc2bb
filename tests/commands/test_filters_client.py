"""What the filters' commands say where HDFS is not there, or a terminal is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nncache.commands.filters_client import FiltersClient
from nncache.commands.filters_files import FilterFiles
from nncache.errors import ConfigurationError, FiltersError
from nncache.hadoop.namenode_settings import WebHdfsSettings
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.filter_file import encode_filters
from nncache.invalidation.filters.settings import FilterSettings
from nncache.settings.commands import SettingsOfFilters
from nncache.testbed import Cluster
from tests.commands.a_terminal import on_a_terminal


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
    cluster: Cluster, administrators_directory: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is refused unless that is meant: a level may be."""
    settings = SettingsOfFilters(
        namenodes=WebHdfsSettings(namenode_http=(cluster.namenodes[0].http,), user=cluster.superuser),
        filters=FilterSettings(filters_path=administrators_directory),
    )
    with pytest.raises(ConfigurationError, match=r"stays within one level.*; nothing was changed: --yes"):
        FiltersClient(settings).add("deep", "/user/**/x", None, ())
    FiltersClient(settings).list(as_json=False)
    assert "deep" not in capsys.readouterr().out
    FiltersClient(settings).add("deep", "/user/**/x", None, (), is_meant=True)
    said = capsys.readouterr()
    assert said.out.startswith("added filter deep for /user/**/x")
    assert said.err.startswith("/user/**/x: ** stays within one level, as * does in Hadoop")
    FiltersClient(settings).add("flat", "/user/*/x", None, ())
    assert capsys.readouterr().err == ""


def test_what_is_refused_is_not_written(
    cluster: Cluster, administrators_directory: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """By a flag of the command or its file of settings, as those of the publisher; the list names what is there."""

    def client(**limits: int) -> FiltersClient:
        return FiltersClient(settings_of(cluster, administrators_directory, **limits))

    with pytest.raises(
        ConfigurationError, match=r"^filter wide is refused: /\*/x has a wildcard in level 1 "
    ):
        client().add("wide", "/*/x", None, ())
    client().add("a", "/user/a", "ann", ())
    with pytest.raises(ConfigurationError, match=r"^filter b is refused: there are 1 filters already"):
        client(max_filters=1).add("b", "/user/b", None, ())
    with pytest.raises(ConfigurationError, match=r"^filter b is refused: ann owns 1 filters already"):
        client(max_filters_per_owner=1).add("b", "/user/b", "ann", ())
    with pytest.raises(FiltersError, match=r"^there is a filter a "):
        client(max_filters=1).add("a", "/user/a", "ann", ())
    client().add("b", "/user/b", "joe", ())
    with pytest.raises(ConfigurationError, match=r"^filter b is refused: ann owns 1 filters already"):
        client(max_filters_per_owner=1).modify("b", glob=None, owner="ann")
    with pytest.raises(ConfigurationError, match=r"^filter b is refused: /\* has a wildcard in level 1"):
        client().modify("b", glob="/*", owner=None)
    file = tmp_path / "filters.toml"
    file.write_text(encode_filters([Filter("c", "/user/c", "ann"), Filter("d", "/*", "ann")]))
    files = FilterFiles(settings_of(cluster, administrators_directory, max_filters_per_owner=1))
    with pytest.raises(FiltersError, match=r"^refused, so nothing was changed: c, d$"):
        files.apply(str(file), prune=False, as_json=False)
    capsys.readouterr()
    client(max_filters=1).list(as_json=False)
    said = capsys.readouterr()
    assert "c  " not in said.out
    assert said.err == (
        "refused, unless it was in force before the limit: b: there are 1 filters already (max_filters)\n"
    )


def test_a_filter_is_modified(
    cluster: Cluster, administrators_directory: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Glob, owner, or both; its subscribers stay."""
    client = FiltersClient(settings_of(cluster, administrators_directory))
    client.add("a", "/user/a", "ann", ("bob",))
    capsys.readouterr()
    with pytest.raises(ConfigurationError, match=r"nothing was changed: --yes"):
        client.modify("a", glob="/user/a/**", owner=None)
    client.modify("a", glob="/user/a/**", owner=None, is_meant=True)
    said = capsys.readouterr()
    assert said.out == "modified filter a: glob /user/a -> /user/a/**\n"
    assert "** stays within one level" in said.err
    client.modify("a", glob="/user/b", owner="joe")
    assert capsys.readouterr().out == "modified filter a: glob /user/a/** -> /user/b; owner ann -> joe\n"
    client.modify("a", glob="/user/b", owner="joe")
    assert capsys.readouterr().out == "filter a is so already\n"
    client.show("a", as_json=True)
    assert json.loads(capsys.readouterr().out) == {
        "name": "a",
        "pathGlob": "/user/b",
        "owner": "joe",
        "allowedSubscribers": ["bob"],
    }
    with pytest.raises(ConfigurationError, match=r"^nothing to modify: give --glob, --owner or both$"):
        client.modify("a", glob=None, owner=None)


def settings_of(cluster: Cluster, administrators_directory: str, **limits: int) -> SettingsOfFilters:
    """Return settings of a command that keeps its filters in this directory."""
    return SettingsOfFilters(
        namenodes=WebHdfsSettings(namenode_http=(cluster.namenodes[0].http,), user=cluster.superuser),
        filters=FilterSettings(filters_path=administrators_directory, **limits),
    )


def test_a_terminal_shows_a_table(cluster: Cluster, administrators_directory: str) -> None:
    """With its headings in small letters, unlike columns; whoever pipes gets columns."""
    command = (sys.executable, "-m", "nncache.cli", "filters")
    place = ("--namenode-http", cluster.namenodes[0].http, "--filters-path", administrators_directory)
    who = ("--user", cluster.superuser)
    subprocess.run([*command, "add", "--name", "joe", "--glob", "/user/[a-z]*", *place, *who], check=True)
    shown = on_a_terminal(*command, "list", *place)
    assert "subscribers" in shown
    assert "/user/[a-z]*" in shown
    assert "SUBSCRIBERS" not in shown
