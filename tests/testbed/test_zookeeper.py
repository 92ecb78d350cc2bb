"""A ZooKeeper of one's own goes without a trace."""

from pathlib import Path

import pytest

from nncache.testbed import StartError
from nncache.testbed.ports import is_free
from tests.cluster import HADOOP
from tests.testbed.leftovers import eventually, nothing_is_left
from tests.zookeepers import ZooKeeperServer


def test_it_goes_without_a_trace() -> None:
    """Neither a process nor a directory nor a taken port stays."""
    with ZooKeeperServer(hadoop_version=HADOOP) as server:
        directory = server.data.parents[1]
        assert Path(directory).exists()
    assert nothing_is_left(str(directory))
    assert eventually(lambda: is_free(int(server.address.rpartition(":")[2])))


def test_a_start_that_fails_leaves_nothing() -> None:
    """And says why."""
    server = ZooKeeperServer(hadoop_version=HADOOP)
    server.data.parent.joinpath("zookeeper").write_text("no directory", encoding="ascii")
    with pytest.raises(StartError, match="zookeeper ended"), server:
        pass
    assert nothing_is_left(str(server.data.parents[1]))
