"""`nncache filters estimate`: what it says, and of which edits."""

import json
from dataclasses import replace

from click.testing import CliRunner, Result

from nncache.commands.filters import filters
from nncache.commands.filters_estimate import lines
from nncache.errors import ConfigurationError, FiltersError
from nncache.invalidation.publisher.estimate import Estimate
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


def test_the_namenodes_latest_edits_are_read(cluster: Cluster, hdfs_directory: str) -> None:
    """Up to the end, and no more of them than are asked for; superusers may."""
    for name in ("a", "b", "c"):
        make_directory(cluster, f"{hdfs_directory}/{name}")

    def estimate(*words: str, glob: str = f"{hdfs_directory}/*", user: str = cluster.superuser) -> Result:
        place = ("--namenode-http", cluster.namenodes[0].http, "--user", user)
        return CliRunner().invoke(filters, ["estimate", "--glob", glob, *words, *place])

    found = json.loads(estimate("--json").stdout)
    assert found["isWhole"] is True
    assert found["matched"] == 3
    assert found["examples"] == [f"{hdfs_directory}/{name}" for name in "cba"]
    assert json.loads(estimate("--json", "--transactions", "1").stdout)["transactions"] <= 1
    refused, wrong = estimate(user="joe").exception, estimate(glob="x").exception
    assert isinstance(refused, FiltersError)
    assert "only a superuser of HDFS may read the edits" in str(refused)
    assert isinstance(wrong, ConfigurationError)
    assert "a glob begins with a /" in str(wrong)
    said = estimate("--transactions", "9", "--max-seconds", "1e-9", "--limit", "0", glob="/*/**")
    assert said.stdout.startswith("/*/**\n")
    assert "not to the end: --max-seconds" in said.stderr
    assert "** stays within one level" in said.stderr


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
    vague = replace(
        FOUND, first_txid=1, last_txid=1, seconds=None, matched=9, events=9, matched_transactions=1
    )
    vague = replace(vague, busiest_minute=9, over_limit=4, examples=())
    assert list(lines("/a", vague, 2.5, "")) == [
        "/a",
        "  edits      1 transactions (1 to 1)",
        "  events     9 of 9; in the busiest minute 9",
        "  share      100.00% of the transactions",
        "  limits     4 of these events would be left out: 2.5 a second are allowed",
    ]
    none = replace(vague, first_txid=0, last_txid=-1)
    assert list(lines("/a", none, 2.5, "")) == ["/a", "  the NameNode has no edits to look at"]
