"""The forecast agrees with a proxy's savings, on a real NameNode."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nncache.testbed import Cluster, ClusterSpec
from tests.advisor.loop import run_loop
from tests.cluster import HADOOP


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Yield a cluster with an audit log."""
    with Cluster.start(ClusterSpec(hadoop_version=HADOOP, with_zookeeper=True, audit_log=True)) as found:
        yield found


@pytest.mark.long
def test_forecast_and_measurement_agree(cluster: Cluster, tmp_path: Path) -> None:
    """They agree within five points for savings, a fifth for memory, 1 % for hits; no other filter is advised."""
    outcome = run_loop(cluster, tmp_path, seconds=30)
    assert list(outcome.shortfalls()) == []
    assert outcome.filters == ("/data/*/flow/*/_SUCCESS",)
    assert outcome.reads[0] == outcome.reads[1]
    assert outcome.hits.off <= 0.01 * outcome.hits.measured
