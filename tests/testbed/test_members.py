"""The servers of a cluster."""

from nncache.testbed import Cluster


def test_a_namenode_tells_its_state(cluster: Cluster) -> None:
    """One without a partner is active."""
    assert [namenode.state() for namenode in cluster.namenodes] == ["active"]


def test_each_process_runs_under_its_name(cluster: Cluster) -> None:
    """The names are those of the logs."""
    assert {process.name for process in cluster.processes} == {"namenode", "datanode", "zookeeper"}
    for process in cluster.processes:
        assert process.pid is not None
        assert process.log == cluster.logs / f"{process.name}.log"
        assert process.log.exists()
