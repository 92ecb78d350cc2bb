"""The form of `nncache watch`; what it does is told in test_watch_wiring."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from nncache.commands.group import nncache
from nncache.errors import ConfigurationError


def test_it_needs_to_know_where_zookeeper_is() -> None:
    """And nothing else but the filter; there is no default that could be another's."""
    result = CliRunner().invoke(nncache, ["watch", "joe"])
    assert isinstance(result.exception, ConfigurationError)
    assert str(result.exception).startswith("zookeeper: none: must name the servers")


def test_the_file_of_the_daemons_will_do(tmp_path: Path) -> None:
    """Keys of other commands may stand in it; wrong values of its own are told."""
    config = tmp_path / "nncache.toml"
    config.write_text('namenode_http = ["nn:9870"]\nzookeeper = ["nowhere"]\n', encoding="utf-8")
    result = CliRunner().invoke(nncache, ["watch", "joe", "--config", str(config)])
    assert isinstance(result.exception, ConfigurationError)
    assert str(result.exception).startswith("zookeeper: nowhere: ")


@pytest.mark.parametrize("arguments", [[], ["joe", "ann"], ["joe", "--from", "x"], ["joe", "--from", "-1"]])
def test_what_makes_no_sense_is_refused(arguments: list[str]) -> None:
    """One filter, and a transaction to begin behind."""
    assert CliRunner().invoke(nncache, ["watch", *arguments, "--zookeeper", "zk:2181"]).exit_code == 2
