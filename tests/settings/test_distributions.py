"""One command runs a proxy with a distribution's configuration files."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from nncache.settings.commands import PROXY, PUBLISHER, load_settings
from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.daemon import ProxyDaemon
from tests.cluster import HADOOP
from tests.hadoop.layouts import DISTRIBUTIONS, Addresses
from tests.processes import fetched


@dataclass(frozen=True, slots=True)
class _At:
    http: str
    rpc: str


FIRST = _At("m1.example.com:50070", "m1.example.com:8020")
SECOND = _At("m2.example.com:50070", "m2.example.com:8020")


def lay_out(directory: Path, distribution: str, first: Addresses, second: Addresses) -> str:
    """Write the files; return the nameservice."""
    layout = DISTRIBUTIONS[distribution](first, second)
    (directory / "core-site.xml").write_text(layout.core)
    (directory / "hdfs-site.xml").write_text(layout.hdfs)
    return layout.nameservice


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_both_namenodes_are_found(tmp_path: Path, distribution: str) -> None:
    """Both daemons find them, and ignore unrelated properties."""
    nameservice = lay_out(tmp_path, distribution, FIRST, SECOND)
    given: dict[str, object] = {"hadoop_conf_dir": str(tmp_path)}
    on_zookeeper = {**given, "zookeeper": ("zk:2181",)}
    for namenodes in (
        load_settings(PROXY, None, given).namenodes,
        load_settings(PUBLISHER, None, on_zookeeper).namenodes,
    ):
        assert namenodes.nameservice == nameservice
        assert namenodes.namenode_http == (FIRST.http, SECOND.http)
        assert namenodes.namenode_rpc == (FIRST.rpc, SECOND.rpc)


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    """Yield a cluster of two NameNodes."""
    with Cluster.start(ClusterSpec(hadoop_version=HADOOP, ha=True)) as cluster:
        yield cluster


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_one_command_runs_a_proxy(pair: Cluster, tmp_path: Path, distribution: str) -> None:
    """`nncache proxy --hadoop-conf-dir DIR --glob GLOB` answers from memory, with a real pair's addresses."""
    lay_out(tmp_path, distribution, *pair.namenodes)
    words = ("--hadoop-conf-dir", str(tmp_path), "--glob", "/user/*/_SUCCESS", "--user", pair.superuser)
    with ProxyDaemon(*words) as proxy:
        proxy.await_gate()
        assert proxy.readiness()["active"] == pair.namenodes[0].http
        target = "/webhdfs/v1/user/joe/_SUCCESS?op=GETFILESTATUS&user.name=joe"
        while not any(served.endswith("hit") for _, served, _ in fetched(proxy.address, target)):
            pass  # until the gate is open and the entry settled
