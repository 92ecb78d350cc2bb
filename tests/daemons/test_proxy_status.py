"""The /status document: its content, that JSON can represent it, and that docs/status.md describes all of it."""

import json
import math
from collections import Counter
from dataclasses import replace
from typing import Any, cast

import msgspec
import pytest

from nncache.cache.decisions import MissReason
from nncache.cache.stats import CacheStats
from nncache.cache.store import Forgotten
from nncache.daemons.history import History, Totals
from nncache.daemons.proxy_status import (
    FILTERS_SHOWN,
    StatusSnapshot,
    status_of,
    totals_of,
)
from nncache.daemons.watchdog import LoopStats
from nncache.hadoop.namenodes.pool import PoolStats
from nncache.invalidation.stats import ChannelStats, JournalStats
from nncache.proxy.cache_status import Bypass
from nncache.proxy.decide.front_end import FrontEndStats
from nncache.proxy.traffic import Result, TrafficStats
from nncache.settings.commands import SettingsOfProxy
from nncache.tenants.hottest import Hot, HottestStats
from tests.daemons.status_page import described, keys_of
from tests.figures import made_up

BOOT_AT = 1_795_000_000.0
TOTALS = Totals(
    requests=1_000,
    from_memory=900,
    failed=3,
    refused=2,
    own_calls=40,
    forwarded={"miss": 60, "no-filter": 30, "method": 5},
)
SEEN = StatusSnapshot(
    version="0.1.0",
    host="proxy7",
    is_ready=True,
    ready_reason="",
    now=500.0,
    boot_at=BOOT_AT,
    started_at=100.0,
    max_staleness_s=3.0,
    max_cache_bytes=1_000,
    gate="open",
    totals=TOTALS,
    history=History(100.0, Totals()),
    cache=CacheStats(entries=7, grants=5, bytes=250, windows=1, evictions=2, is_open=True, gate_age_s=0.2),
    loop=LoopStats(stalls=1, stalled_s=0.5, lag_s=0.001, lag_max_s=0.02),
    hottest=HottestStats(
        paths=(Hot("/w/<script>", 3.0, 0.0),),
        callers=(Hot("joe", 2.0, 0.1),),
        addresses=(Hot("::1", 1.0, 0.0),),
    ),
    globs={"f1": "/w/*", "f2": "/v/*"},
    filter_names={"f1": "ours"},
    channel=ChannelStats(
        source="journalnodes",
        passed_over={"other": "it is not there"},
        journal=JournalStats(
            epoch=3,
            discarded=2,
            counted={"j1:8485": 1, "j2:8485": 0},
            behind_txids={"j1:8485": 0},
            troubles={"j2:8485": "connection refused"},
        ),
    ),
    changes=(Forgotten("/w/a", "Touched", 7, 450.0), Forgotten("/w", "SubtreeUnknown", None, 460.0)),
    namenodes=(
        {
            "http": "nn1:9870",
            "rpc": "nn1:8020",
            "namespace_over_http": "BP-1",
            "namespace_over_rpc": None,
            "state": "active",
        },
    ),
    settings=SettingsOfProxy(),
)


def document(seen: StatusSnapshot = SEEN) -> dict[str, Any]:
    """Return the document as a client reads it."""
    read: dict[str, Any] = json.loads(msgspec.json.encode(status_of(seen)))
    return read


def test_what_is_saved_now_and_since_the_start() -> None:
    """The proxy's own calls are subtracted from the saved calls. Without requests, the ratio is null."""
    recent = History(100.0, Totals())
    before = replace(
        TOTALS, requests=800, from_memory=800, own_calls=30, forwarded={"miss": 60, "no-filter": 10}
    )
    recent.look(440.0, before, is_well=True, state="open")
    saved = document(replace(SEEN, history=recent))["saved"]
    assert saved["since_start"] == {
        "seconds": 400.0,
        "requests": 1_000,
        "requests_per_s": 2.5,
        "from_memory": 900,
        "ratio": 0.9,
        "forwarded": 95,
        "failed": 3,
        "refused": 2,
        "own_calls": 40,
        "calls_saved": 860,
    }
    minute = saved["last_minute"]
    assert (minute["seconds"], minute["requests"], minute["ratio"], minute["calls_saved"]) == (
        60.0,
        200,
        0.5,
        90,
    )
    nothing = document(replace(SEEN, totals=Totals(), now=100.0))["saved"]
    assert (nothing["last_minute"]["ratio"], nothing["last_minute"]["requests_per_s"]) == (None, 0.0)


def test_the_source_of_edits_and_its_journalnodes() -> None:
    """An unknown value is null: nothing is known of a silent JournalNode's lag."""
    assert document()["edits"] == {
        "source": "journalnodes",
        "passed_over": [{"source": "other", "why": "it is not there"}],
        "epoch": 3,
        "discarded": 2,
        "journalnodes": [
            {"address": "j1:8485", "is_counted": True, "why_not": "", "behind_txids": 0},
            {
                "address": "j2:8485",
                "is_counted": False,
                "why_not": "connection refused",
                "behind_txids": None,
            },
        ],
    }
    assert document(replace(SEEN, channel=ChannelStats()))["edits"] == {
        "source": None,
        "passed_over": [],
        "epoch": None,
        "discarded": 0,
        "journalnodes": [],
    }


def test_misses_are_in_the_order_of_the_last_minute() -> None:
    """Each has the reason of `Cache-Status` and the metric, and its meaning."""
    recent = History(100.0, Totals())
    recent.look(440.0, replace(TOTALS, forwarded={"miss": 60, "no-filter": 10}), is_well=True, state="open")
    misses = document(replace(SEEN, history=recent))["misses"]
    assert [(each["reason"], each["requests"]) for each in misses] == [
        ("no-filter", 30),
        ("method", 5),
        ("miss", 60),
    ]
    assert misses[0]["per_s"] == pytest.approx(20 / 60)
    assert "no filter matches it" in misses[0]["meaning"]


def test_the_gate_and_its_history() -> None:
    """Times are Unix times. An infinite age is null, since JSON has no infinity."""
    recent = History(100.0, Totals())
    recent.look(101.0, Totals(), is_well=False, state="closed: not read")
    recent.look(102.0, Totals(), is_well=True, state="open")
    gate = document(replace(SEEN, history=recent))["gate"]
    assert (gate["is_open"], gate["age_s"], gate["max_staleness_s"]) == (True, 0.2, 3.0)
    assert gate["history"] == [
        {"at": BOOT_AT + 102, "is_open": True, "state": "open"},
        {"at": BOOT_AT + 101, "is_open": False, "state": "closed: not read"},
    ]
    never = document(replace(SEEN, cache=CacheStats(gate_age_s=math.inf)))["gate"]
    assert never["age_s"] is None


def test_filters_have_their_names_and_are_not_all_shown() -> None:
    """A glob from the proxy's settings is its own name. Only the first ones of thousands are shown."""
    filters = document()["filters"]
    assert filters == {
        "in_force": 2,
        "shown": [{"name": "f2", "glob": "/v/*"}, {"name": "ours", "glob": "/w/*"}],
    }
    many = document(replace(SEEN, globs={str(number): f"/{number}/*" for number in range(5_000)}))["filters"]
    assert (many["in_force"], len(many["shown"])) == (5_000, FILTERS_SHOWN)


def test_the_latest_change_comes_first() -> None:
    """A purge or a write through the proxy has no transaction id."""
    assert document()["changes"] == [
        {"at": BOOT_AT + 460, "path": "/w", "change": "SubtreeUnknown", "txid": None},
        {"at": BOOT_AT + 450, "path": "/w/a", "change": "Touched", "txid": 7},
    ]


def test_the_course_is_that_of_the_last_ten_minutes() -> None:
    """It has a point every five seconds."""
    recent = History(100.0, Totals())
    recent.look(105.0, Totals(requests=50, from_memory=25), is_well=True, state="open")
    recent.look(110.0, Totals(requests=50, from_memory=25), is_well=True, state="open")
    assert document(replace(SEEN, history=recent))["course"] == [
        {"at": BOOT_AT + 105, "requests_per_s": 10.0, "ratio": 0.5},
        {"at": BOOT_AT + 110, "requests_per_s": 0.0, "ratio": None},
    ]


def test_totals_are_those_of_the_metrics() -> None:
    """As in the recording rules, own calls are polls, probes, rolls and checks whether a file is closed."""
    traffic = TrafficStats(
        requests={
            (Result.HIT, "GETFILESTATUS"): 10,
            (Result.COLLAPSED, "GETFILESTATUS"): 2,
            (Result.FORWARDED, "OPEN"): 5,
            (Result.FAILED, "OPEN"): 1,
            (Result.REFUSED, "other"): 3,
        },
        durations={},
    )
    figures = made_up("proxy")
    front_end = replace(
        cast("FrontEndStats", figures["front_end"]),
        forwarded=Counter({MissReason.MISS: 4, Bypass.OPERATION: 2}),
        closed_queries=1_000,
    )
    pool = replace(cast("PoolStats", figures["pool"]), probes={"nn1:9870": 100})
    assert totals_of(traffic, front_end, pool, ChannelStats(polls=10, rolls=1)) == Totals(
        requests=21,
        from_memory=12,
        failed=1,
        refused=3,
        own_calls=1_111,
        forwarded={"miss": 4, "operation": 2},
    )


def test_each_key_is_described() -> None:
    """docs/status.md describes exactly these keys."""
    recent = History(100.0, Totals())
    recent.look(105.0, Totals(), is_well=True, state="open")
    expanded = {
        key.replace("saved.*", f"saved.{span}").replace("hottest.*", f"hottest.{kind}")
        for key in described("The document of a proxy")
        for span in ("last_minute", "since_start")
        for kind in ("paths", "callers", "addresses")
    }
    assert expanded == set(keys_of(document(replace(SEEN, history=recent))))
