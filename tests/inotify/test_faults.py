"""A short history of faults; `make inotify-faults` plays long ones."""

import pytest

from nncache.testbed import Cluster
from tests.inotify.figures import Figures
from tests.inotify.history import play
from tests.inotify.plan import Fault, Kind, draw
from tests.inotify.real_cluster import FILTERS, RealCluster
from tests.inotify.zookeeper_log import transactions, writers
from tests.real.faults import Break

pytestmark = pytest.mark.timeout(300)

FAULTS = (
    Fault(at_s=1.0, kind=Kind.LEADER_DEPOSED, lasts_s=0.5),
    Fault(at_s=2.5, kind=Kind.FILTER_MODIFIED, lasts_s=0.0),
    Fault(at_s=3.0, kind=Kind.LEADER_STOPPED, lasts_s=3.5),
    Fault(at_s=4.0, kind=Kind.SUBSCRIBER_STOPPED, lasts_s=3.0),
    Fault(at_s=7.0, kind=Kind.LEADER_WITHOUT_ZOOKEEPER, lasts_s=1.0, way=Break.HELD),
    Fault(at_s=8.9, kind=Kind.FILTER_MODIFIED, lasts_s=0.0),
    Fault(at_s=9.0, kind=Kind.LEADER_HANDS_OVER, lasts_s=0.5),
    Fault(at_s=1.5, kind=Kind.STREAMS_BROKEN, lasts_s=0.5, way=Break.CUT),
    Fault(at_s=5.5, kind=Kind.PROXY_KILLED, lasts_s=0.5),
)


def test_subscribers_receive_what_happened(cluster: Cluster) -> None:
    """The events agree with the NameNode's log whichever publisher leads, and only the elected leader writes."""
    zookeeper = (cluster.zookeeper,)
    with RealCluster(cluster, zookeeper, "short") as real_cluster:
        played = play(real_cluster, FAULTS, seconds=10.0, seed=1)
    figures = Figures([played], [writers(transactions(cluster, zookeeper), real_cluster.namespace)])
    assert figures.shortfalls(timed=False) == ()
    assert played.elections >= 4
    assert played.deposed == 1
    assert played.modified == 2
    assert played.resumed >= len(FILTERS), "behind the proxy's end"


def test_a_history_is_drawn_again_from_its_seed() -> None:
    """A seed gives the same faults each time. All kinds occur, and each fault ends before its history."""
    drawn = [draw(seed, 20.0) for seed in range(60)]
    assert drawn == [draw(seed, 20.0) for seed in range(60)]
    assert {fault.kind for faults in drawn for fault in faults} == set(Kind)
    assert all(fault.at_s + fault.lasts_s <= 20.0 for faults in drawn for fault in faults)
