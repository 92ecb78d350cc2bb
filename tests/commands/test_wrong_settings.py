"""Mistakes in settings, in the cluster's files and in the environment: no server is asked, and the start is refused."""

from pathlib import Path

import pytest

from nncache.checks.table import SETTINGS
from tests.commands.planted import Report, checked
from tests.commands.plants import FILES, PLANTS, SITES, WRONG_SETTINGS
from tests.commands.registry_plants import IN_THE_REGISTRY
from tests.hadoop.site_files import prop, site
from tests.processes import free_address

ADDRESSES = {"superuser": "hdfs", "filters": "/filters", "http": "a:1", "rpc": "a:2"}


def assert_it_is_told(report: Report, *parts: str) -> None:
    """Each part is in some line, and nothing can start."""
    assert report.exit_code == 2
    reported = " | ".join(each["text"] for each in report.findings)
    assert [part for part in parts if part not in reported] == [], reported


@pytest.mark.parametrize("name", WRONG_SETTINGS)
def test_a_wrong_setting_is_named(name: str) -> None:
    """With its value, and what would be right."""
    words, parts = WRONG_SETTINGS[name]
    report = checked(*words.format_map(ADDRESSES).split())
    assert {(each["check"], each["verdict"]) for each in report.findings} == {(SETTINGS, "failed")}
    assert_it_is_told(report, *parts)


def test_at_least_eighty_mistakes_are_planted() -> None:
    """Beside those with Kerberos, in tests/secured/test_check.py."""
    assert len((*WRONG_SETTINGS, *FILES, *SITES, *PLANTS, *IN_THE_REGISTRY)) >= 80


@pytest.mark.parametrize("name", FILES)
def test_a_mistake_in_a_file_is_named(tmp_path: Path, name: str) -> None:
    """With the file, the key and what would be right."""
    content, parts = FILES[name]
    config = tmp_path / "nncache.toml"
    config.write_text(content)
    report = checked("proxy", "--config", str(config))
    assert_it_is_told(report, str(config), *parts)
    assert "hidden" not in str(report)


@pytest.mark.parametrize("name", SITES)
def test_a_mistake_in_hadoops_files_is_named(tmp_path: Path, name: str) -> None:
    """By the property that is missing: no host is made of a nameservice's name."""
    values, words, parts = SITES[name]
    (tmp_path / "hdfs-site.xml").write_text(site(*(prop(*each) for each in values.items())))
    report = checked("proxy", "--hadoop-conf-dir", str(tmp_path), *words)
    assert_it_is_told(report, str(tmp_path), *parts)


def test_a_variable_that_means_nothing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings stand in a file or on the command line."""
    monkeypatch.setenv("NNCACHE_LISTEN", "h:1")
    address = free_address()
    where = ("--namenode-http", address, "--namenode-rpc", address, "--listen", "127.0.0.1:0")
    (line,) = checked("proxy", "--admin", "127.0.0.1:0", *where).of("settings", "warning")
    assert "NNCACHE_LISTEN in the environment means nothing" in line
    assert "give --listen" in line
