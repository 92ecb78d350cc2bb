"""A client that does not poll, beside a real NameNode."""

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from nncache.bench import bystander
from nncache.bench.bystander import CALLS_PER_S, KINDS, Watched, observe, rpc_activity
from nncache.bench.polling.clock import boottime
from nncache.testbed import Cluster

pytestmark = pytest.mark.long
SECONDS = 1.0


def watched(cluster: Cluster, seconds: float = SECONDS, rpc: str = "") -> Watched:
    """Return what is watched from now on."""
    namenode, now = cluster.namenodes[0], boottime()
    return Watched(
        http=namenode.http,
        rpc=rpc or namenode.rpc,
        user=cluster.superuser,
        path="/",
        begins_s=now,
        ends_s=now + seconds,
    )


def test_its_calls_are_answered_and_timed(cluster: Cluster) -> None:
    """Each one that was due, from when it was due."""
    rows = [row for row in observe(watched(cluster), threading.Event()) if row["kind"] == "call"]
    assert len(rows) == CALLS_PER_S * SECONDS
    assert [row["error"] for row in rows] == [None] * len(rows)
    assert all(isinstance(row["seconds"], float) and row["seconds"] > 0 for row in rows)
    assert sorted(str(row["at_s"]) for row in rows) == sorted({str(row["at_s"]) for row in rows})


def test_the_namenode_says_what_is_read_of_it(cluster: Cluster) -> None:
    """By these names."""
    said = rpc_activity(cluster.namenodes[0].http, cluster.namenodes[0].rpc)
    assert said["RpcQueueTimeNumOps"] > 0
    for name in KINDS.values():
        assert isinstance(said[f"{name}AvgTime"], float)


def test_a_mean_counts_once_for_the_calls_since_the_one_before(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The NameNode renews its figures now and then; microseconds become seconds."""

    def said() -> Iterator[Mapping[str, Any]]:
        for calls, mean in ((100, 7.0), (100, 7.0), (150, 20.0)):
            yield {"RpcQueueTimeNumOps": calls} | {f"{name}AvgTime": mean for name in KINDS.values()}
        while True:
            yield {"RpcQueueTimeNumOps": 150} | {f"{name}AvgTime": 20.0 for name in KINDS.values()}

    answers = said()
    monkeypatch.setattr(bystander, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(bystander, "rpc_activity", lambda *_: next(answers))
    rows = observe(watched(cluster), threading.Event())
    assert [(row["kind"], row["seconds"], row["calls"]) for row in rows if row["kind"] != "call"] == [
        ("queue", 2e-5, 50),
        ("lock wait", 2e-5, 50),
        ("processing", 2e-5, 50),
    ]


def test_a_call_without_a_reply_is_one_that_failed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no reason to end; neither is a NameNode that says nothing of itself for once."""

    def silent(*_: object) -> Mapping[str, Any]:
        raise OSError("timed out")

    monkeypatch.setattr(bystander, "rpc_activity", silent)
    rows = observe(watched(cluster, 0.2, rpc="127.0.0.1:1"), threading.Event())
    assert rows
    assert all(row["error"] for row in rows if row["kind"] == "call")
