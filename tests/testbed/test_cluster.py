"""A real cluster starts, works, and leaves nothing behind."""

import json

from testbed import Cluster
from tests.cluster import HADOOP, webhdfs


def test_it_is_the_release_that_was_asked_for(cluster: Cluster) -> None:
    """`HADOOP` chooses what the session runs on."""
    assert cluster.hadoop_version == HADOOP
    assert HADOOP in cluster.classpath


def test_each_test_has_a_directory_for_everyone(cluster: Cluster, hdfs_directory: str) -> None:
    """Whoever it is may write there."""
    status, body = webhdfs(cluster, "PUT", f"{hdfs_directory}/d", "MKDIRS", user="alice")
    assert (status, json.loads(body)) == (200, {"boolean": True})
