"""A publisher's /status document: its content, that JSON can represent it, and that docs/status.md describes it."""

import json
import math
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import SessionStats
from nncache.daemons.history import History
from nncache.daemons.namenodes_view import namenodes_view
from nncache.daemons.publisher_state import PublisherState
from nncache.daemons.publisher_status import (
    FILTERS_SHOWN,
    PublisherSnapshot,
    PublisherTotals,
    status_of,
)
from nncache.daemons.watchdog import LoopStats
from nncache.hadoop.election_view import Active, NameNode, Probe
from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.invalidation.channel.records import MatchedEvents, StaleChanges
from nncache.invalidation.publisher.filter_journal import FilterHistory
from nncache.invalidation.publisher.output_stream import FilterChange, Publication
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.publisher.stats import OutputStats, PublisherStats
from nncache.invalidation.settings import PollingSettings
from nncache.invalidation.stats import ChannelStats, JournalStats
from nncache.settings.commands import SettingsOfPublisher
from tests.daemons.status_page import described, keys_of
from tests.invalidation.publisher.fakes import batch, positions

NAMENODE = NameNodeSettings(namenode_http=("nn1:9870",), namenode_rpc=("nn1:8020",))
BOOT_AT = 1_795_000_000.0
FILTERS = positions({"joe": "/user/joe/*", "ann": "/user/ann/*"}, 10)
STATS = PublisherStats(
    is_publishing=True,
    runs=2,
    runs_failed=1,
    read_txid=118,
    read_at=499.9,
    published_txid=117,
    published_at=499.5,
    coverage_records=30,
    events_matched=240,
    filters=2,
    output=OutputStats(writes=400, write_s=2.0, cache_records=380, filter_records=90),
    session=SessionStats(is_connected=True, sessions=1, connections=1, calls=500),
    channel=ChannelStats(
        polls=4_000,
        poll_charged_s=0.8,
        poll_budget_s=0.4,
        rolls=3,
        source="inotify",
        passed_over={"journalnodes": "1 of 3 can be read"},
        journal=JournalStats(counted={"j1:8485": 1}),
    ),
)
PUBLISHING = PublisherState(
    active=Active(namenode=NameNode("nn1:9870", "nn1:8020"), started_ms=1, transition_ms=1, term=3),
    is_zookeeper_connected=True,
    trouble="",
)


def journal() -> FilterHistory:
    """Return a journal in which joe's filter was added and then had three events in two records."""
    made = FilterHistory()
    made.changed(FilterChange(added=(FILTERS["joe"].filter,)), {}, FILTERS, 110.0)
    for at, found in ((400.0, batch(116, "/user/joe/a", "/user/joe/b")), (450.0, batch(117, "/user/joe/a"))):
        published = Publication(
            txid=found.txid, content=StaleChanges(()), filters={"joe": MatchedEvents((found,))}
        )
        made.published(published, FILTERS, at)
    return made


SEEN = PublisherSnapshot(
    version="0.1.0",
    host="master2",
    now=500.0,
    boot_at=BOOT_AT,
    started_at=100.0,
    is_ready=True,
    ready_reason="",
    state="publishing 2 filters up to transaction 117",
    publishing=PUBLISHING,
    stats=STATS,
    waiting_s=0.3,
    last_probe=Probe(as_of=499.0, txid=120, asked_at=499.0, term=3),
    history=History(100.0, PublisherTotals()),
    filters=FILTERS,
    broken={"old": "it has no glob", "ann": "two globs"},
    journal=journal(),
    loop=LoopStats(),
    namenodes=namenodes_view(NameNodePool(NAMENODE, lambda: 0.0)),
    settings=SettingsOfPublisher(
        publisher=PublisherSettings(max_write_ops_per_s=8.0),
        polling=PollingSettings(poll_budget_share=0.02),
        zookeeper=ZooKeeperSettings(zookeeper=("zk1:2181",)),
    ),
)


def document(seen: PublisherSnapshot = SEEN) -> dict[str, Any]:
    """Return the document as a client reads it."""
    read: dict[str, Any] = json.loads(msgspec.json.encode(status_of(seen)))
    return read


def test_what_it_is_and_since_when() -> None:
    """Times are Unix times."""
    reported = document()
    assert (reported["daemon"], reported["version"], reported["host"]) == ("publisher", "0.1.0", "master2")
    assert (reported["now"], reported["started_at"], reported["uptime_s"]) == (
        BOOT_AT + 500,
        BOOT_AT + 100,
        400.0,
    )
    assert (reported["is_ready"], reported["reason"]) == (True, "")


def test_the_position_and_how_far_it_is_behind() -> None:
    """Transactions: behind the NameNode's last txid. Seconds: the larger delay of reading and publishing."""
    assert document()["position"] == {
        "term": 3,
        "namenode_txid": 120,
        "read_txid": 118,
        "read_at": BOOT_AT + 499.9,
        "published_txid": 117,
        "published_at": BOOT_AT + 499.5,
        "lag_txids": 3,
        "lag_s": 0.3,
    }
    assert document(replace(SEEN, waiting_s=0.0))["position"]["lag_s"] == pytest.approx(0.1)


def test_an_older_probe_gives_no_negative_lag() -> None:
    """NameNodes are probed less often than edits are polled."""
    old = Probe(as_of=400.0, txid=90, asked_at=400.0, term=3)
    assert document(replace(SEEN, last_probe=old))["position"]["lag_txids"] == 0


def test_what_is_not_known_is_null() -> None:
    """This is the case before the first poll, and without an active NameNode."""
    nothing = replace(SEEN, stats=PublisherStats(), last_probe=None)
    assert set(document(nothing)["position"].values()) == {None}
    assert document(nothing)["writes"]["mean_s"] is None


def test_a_standby_publisher_is_not_behind() -> None:
    """Another publisher does the work, so this one's last position has no meaning."""
    trouble = "another publisher is running: nn2 (process 7)"
    state = replace(PUBLISHING, trouble=trouble, is_standby=True)
    stats = replace(STATS, waiting_for="nn2 (process 7)")
    reported = document(replace(SEEN, publishing=state, stats=stats))
    assert (reported["position"]["lag_txids"], reported["position"]["lag_s"]) == (None, None)
    assert reported["publishing"]["is_standby"]
    assert reported["publishing"]["waiting_for"] == "nn2 (process 7)"


def test_a_publisher_that_fell_silent_is_behind() -> None:
    """The lag is the time since the last read; the number of transactions is unknown."""
    state = replace(PUBLISHING, trouble="the edits have not been read for 60 s")
    reported = document(replace(SEEN, publishing=state, stats=replace(STATS, read_at=440.0)))
    assert (reported["position"]["lag_txids"], reported["position"]["lag_s"]) == (None, 60.0)


def test_writes_of_the_last_minute_against_the_limit() -> None:
    """The cost of polling is shown against its budget."""
    recent = History(100.0, PublisherTotals())
    recent.look(
        440.0, PublisherTotals(writes=280, events=180, polls=2_800, cost_s=0.2), is_well=True, state=""
    )
    reported = document(replace(SEEN, history=recent))
    assert reported["writes"] == {
        "seconds": 60.0,
        "per_s": 2.0,
        "limit_per_s": 8.0,
        "events_per_s": 1.0,
        "events": 240,
        "writes": 400,
        "failed": 0,
        "mean_s": 0.005,
        "cache_records": 380,
        "coverage_records": 30,
        "filter_records": 90,
    }
    assert reported["edits"]["passed_over"] == [{"source": "journalnodes", "why": "1 of 3 can be read"}]
    assert reported["polling"] == {
        "polls_per_s": 20.0,
        "cost_share": pytest.approx(0.01),
        "budget_share": 0.02,
        "budget_left_s": 0.4,
        "polls": 4_000,
        "failed": 0,
        "rolls": 3,
        "rolls_failed": 0,
    }
    just_now = document(replace(SEEN, now=100.0))
    assert (just_now["writes"]["per_s"], just_now["polling"]["cost_share"]) == (0.0, 0.0)


def test_the_session_with_zookeeper() -> None:
    """It is null for an output without a session."""
    reported = document()["zookeeper"]
    assert (reported["servers"], reported["root"]) == (["zk1:2181"], ZooKeeperSettings().zookeeper_root)
    assert (reported["is_connected"], reported["sessions"], reported["calls"]) == (True, 1, 500)
    elsewhere = replace(SEEN, publishing=replace(PUBLISHING, is_zookeeper_connected=None))
    assert document(elsewhere)["zookeeper"] is None


def test_filters_with_the_latest_events_come_first() -> None:
    """Each has its published events and records. Only the first ones of thousands are shown."""
    reported = document()["filters"]
    assert reported["in_force"] == 2
    assert reported["shown"] == [
        {
            "name": "joe",
            "glob": "/user/joe/*",
            "owner": "joe",
            "since_txid": 0,
            "events": 3,
            "records": 2,
            "last_event_txid": 117,
            "last_event_at": BOOT_AT + 450,
        },
        {
            "name": "ann",
            "glob": "/user/ann/*",
            "owner": "joe",
            "since_txid": 0,
            "events": 0,
            "records": 0,
            "last_event_txid": None,
            "last_event_at": None,
        },
    ]
    many = document(replace(SEEN, filters=positions({f"f{n}": f"/{n}" for n in range(5_000)})))["filters"]
    assert (many["in_force"], len(many["shown"])) == (5_000, FILTERS_SHOWN)


def test_broken_filters_and_why() -> None:
    """A filter that is broken in HDFS may stay in force with its last valid definition."""
    assert document()["broken"] == {
        "filters": 2,
        "shown": [
            {"name": "ann", "why": "two globs", "is_in_force": True},
            {"name": "old", "why": "it has no glob", "is_in_force": False},
        ],
    }
    many = document(replace(SEEN, broken={f"b{n}": "no glob" for n in range(500)}))["broken"]
    assert (many["filters"], len(many["shown"])) == (500, FILTERS_SHOWN)


def test_recent_changes_of_the_filters() -> None:
    """Times are Unix times."""
    assert document()["changes"] == [
        {"at": BOOT_AT + 110, "change": "added", "name": "joe", "glob": "/user/joe/*"}
    ]


def test_when_it_published_and_when_not() -> None:
    """The transitions have reasons. The chart covers the last ten minutes."""
    recent = History(100.0, PublisherTotals())
    recent.look(
        105.0, PublisherTotals(writes=10, events=50), is_well=False, state="no connection to ZooKeeper"
    )
    recent.look(110.0, PublisherTotals(writes=20, events=50), is_well=True, state="")
    reported = document(replace(SEEN, history=recent))
    assert reported["publishing"]["history"] == [
        {"at": BOOT_AT + 110, "is_publishing": True, "state": ""},
        {"at": BOOT_AT + 105, "is_publishing": False, "state": "no connection to ZooKeeper"},
    ]
    assert reported["course"] == [
        {"at": BOOT_AT + 105, "events_per_s": 10.0, "writes_per_s": 2.0},
        {"at": BOOT_AT + 110, "events_per_s": 0.0, "writes_per_s": 2.0},
    ]


def test_a_moment_that_never_was_is_null() -> None:
    """JSON has no infinity."""
    assert (SEEN.unix(None), SEEN.unix(-math.inf), SEEN.unix(1.0)) == (None, None, BOOT_AT + 1)


def test_each_key_is_described() -> None:
    """docs/status.md describes exactly these keys."""
    recent = History(100.0, PublisherTotals())
    recent.look(105.0, PublisherTotals(), is_well=True, state="")
    assert described("The document of a publisher") == set(keys_of(document(replace(SEEN, history=recent))))
