"""`nncache filters estimate`: what it says, and of which edits."""

import json

import pytest

from nncache.commands.filters_estimate import estimate_filter, lines
from nncache.errors import ConfigurationError, FiltersError
from nncache.hadoop.namenode_settings import WebHdfsSettings
from nncache.invalidation.publisher.estimate import Estimate
from nncache.settings.commands import SettingsOfFilters
from nncache.testbed import Cluster
from tests.cluster import make_directory

FOUND = Estimate(
    first_txid=11,
    last_txid=20,
    seconds=10.0,
    events=8,
    matched=3,
    matched_transactions=2,
    busiest_minute=3,
    over_limit=0,
    examples=("/a/f",),
)


def settings_of(cluster: Cluster, user: str) -> SettingsOfFilters:
    """Return settings of a command that asks this cluster."""
    return SettingsOfFilters(namenodes=WebHdfsSettings(namenode_http=(cluster.namenodes[0].http,), user=user))


def test_the_namenodes_latest_edits_are_read(
    cluster: Cluster, hdfs_directory: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Up to the end, and no more of them than are asked for; superusers may."""
    for name in ("a", "b", "c"):
        make_directory(cluster, f"{hdfs_directory}/{name}")
    settings, glob = settings_of(cluster, cluster.superuser), f"{hdfs_directory}/*"

    def estimate(user: SettingsOfFilters = settings, glob: str = glob, transactions: int = 1000) -> str:
        estimate_filter(user, glob, transactions=transactions, max_s=30.0, limit_per_s=1000.0, as_json=True)
        return capsys.readouterr().out

    found = json.loads(estimate())
    assert found["isWhole"] is True
    assert found["matched"] == 3
    assert found["examples"] == [f"{hdfs_directory}/{name}" for name in "cba"]
    assert json.loads(estimate(transactions=1))["transactions"] <= 1
    with pytest.raises(FiltersError, match="only a superuser of HDFS may read the edits"):
        estimate(settings_of(cluster, "joe"))
    with pytest.raises(ConfigurationError, match="a glob begins with a /"):
        estimate(glob="x")
    estimate_filter(settings, "/*/**", transactions=9, max_s=1e-9, limit_per_s=0.0, as_json=False)
    said = capsys.readouterr()
    assert said.out.startswith("/*/**\n")
    assert "not to the end: --max-seconds" in said.err
    assert "** stays within one level" in said.err


def test_it_is_told_in_lines() -> None:
    """With what the limits say."""
    assert list(lines("/a/*", FOUND, 1000.0, "")) == [
        "/a/*",
        "  edits      10 transactions (11 to 20), of 10 s",
        "  events     3 of 8, 0.3 a second; in the busiest minute 3",
        "  share      20.00% of the transactions",
        "  such as    /a/f",
        "  limits     within 1000 events a second",
    ]
    assert list(lines("/a/*", FOUND, 0.0, ""))[-1] == "  limits     any number of events"
    assert list(lines("/a/*", FOUND, 0.0, "too general"))[-1] == "  limits     refused: too general"


def test_what_is_not_known_is_not_said() -> None:
    """How long it took, or anything at all."""
    vague = Estimate(
        first_txid=1,
        last_txid=1,
        seconds=None,
        events=9,
        matched=9,
        matched_transactions=1,
        busiest_minute=9,
        over_limit=4,
        examples=(),
    )
    assert list(lines("/a", vague, 2.5, "")) == [
        "/a",
        "  edits      1 transactions (1 to 1)",
        "  events     9 of 9; in the busiest minute 9",
        "  share      100.00% of the transactions",
        "  limits     4 of these events would be left out: 2.5 a second are allowed",
    ]
    none = Estimate(
        first_txid=0,
        last_txid=-1,
        seconds=None,
        events=0,
        matched=0,
        matched_transactions=0,
        busiest_minute=0,
        over_limit=0,
        examples=(),
    )
    assert list(lines("/a", none, 2.5, "")) == ["/a", "  the NameNode has no edits to look at"]
