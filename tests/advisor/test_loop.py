"""The forecast is what a proxy then saves, on a real NameNode."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nncache.testbed import Cluster, ClusterSpec
from tests.advisor.loop import run_loop
from tests.cluster import HADOOP


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Start one with an audit log."""
    with Cluster.start(ClusterSpec(hadoop_version=HADOOP, with_zookeeper=True, audit_log=True)) as found:
        yield found


@pytest.mark.long
def test_forecast_and_measurement_agree(cluster: Cluster, tmp_path: Path) -> None:
    """Within five points for savings, a fifth for memory, and a hit in a hundred; nothing else is recommended."""
    outcome = run_loop(cluster, tmp_path, seconds=30)
    assert list(outcome.shortfalls()) == []
    assert outcome.filters == ("/data/*/flow/*/_SUCCESS",)
    assert outcome.reads[0] == outcome.reads[1]
    assert outcome.hits.off <= 0.01 * outcome.hits.measured
