"""A real cluster: the properties that other tests rely on, and a stop that leaves no trace."""

import http.client
from pathlib import Path

import pytest

from nncache.testbed import Cluster, ClusterSpec, Ports, ServerStartError
from nncache.testbed.asker import Asker
from nncache.testbed.errors import PortError
from nncache.testbed.ports import PortLease
from tests.cluster import HADOOP, make_directory, webhdfs
from tests.testbed.leftovers import eventually, nothing_is_left


def test_another_cluster_can_run_beside_it_and_crash(cluster: Cluster) -> None:
    """It has its own ports and directory; acknowledged data survives a SIGKILL."""
    spec = ClusterSpec(
        hadoop_version=HADOOP, with_datanode=False, audit_log=True, proxy_servers=("127.0.0.1",)
    )
    with Cluster.start(spec) as other:
        (namenode,) = other.namenodes
        assert namenode.http != cluster.namenodes[0].http
        _a_proxy_server_may_say_for_whom_it_asks(other)
        make_directory(other, "/kept")
        namenode.process.kill()
        assert namenode.state() is None
        namenode.process.start()
        other.await_writable()
        assert webhdfs(other, "GET", "/kept", "GETFILESTATUS")[0] == http.client.OK
        assert webhdfs(cluster, "GET", "/kept", "GETFILESTATUS")[0] == http.client.NOT_FOUND
        namenode.process.pause()
        assert namenode.state() is None
        namenode.process.resume()
        assert namenode.state() == "active"
        directory = str(other.directory)
    assert nothing_is_left(directory)


def _a_proxy_server_may_say_for_whom_it_asks(proxied: Cluster) -> None:
    """The audit log shows the first address of X-Forwarded-For if the sender is a trusted proxy server."""
    with Asker(proxied.namenodes[0].http) as namenode:
        target = "/webhdfs/v1/asked?op=GETFILESTATUS&user.name=alice"
        namenode.ask("GET", target, headers={"X-Forwarded-For": "10.1.2.3, 10.4.5.6"})
    log = proxied.logs / "hdfs-audit.log"
    assert eventually(lambda: "src=/asked" in log.read_text(encoding="utf-8"))
    (line,) = [line for line in log.read_text(encoding="utf-8").splitlines() if "src=/asked" in line]
    assert "ip=/10.1.2.3\t" in line


def test_a_directory_of_ones_own_is_kept(tmp_path: Path) -> None:
    """The next start finds the data of the last one, on the same port if that is given."""
    with PortLease() as ports:
        wanted = Ports(namenode_http=ports.take())
    spec = ClusterSpec(hadoop_version=HADOOP, with_datanode=False, directory=tmp_path / "c", ports=wanted)
    with Cluster.start(spec) as first:
        make_directory(first, "/kept")
    with Cluster.start(spec) as second:
        assert second.namenodes[0].http == f"127.0.0.1:{wanted.namenode_http}"
        assert webhdfs(second, "GET", "/kept", "GETFILESTATUS")[0] == http.client.OK


def test_a_taken_port_is_an_error_and_no_trace(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start fails before any server is started."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    taken = int(cluster.namenodes[0].rpc.rpartition(":")[2])
    with pytest.raises(PortError, match=f"port {taken} is taken"):
        Cluster.start(ClusterSpec(hadoop_version=HADOOP, ports=Ports(namenode_rpc=taken)))
    assert not list(tmp_path.glob("nncache-cluster-*"))


def test_a_failing_server_is_named_with_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other servers are stopped."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spec = ClusterSpec(hadoop_version=HADOOP, overrides={"dfs.datanode.data.dir": "/proc/none"})
    with pytest.raises(ServerStartError, match=r"(?s)^datanode ended with 1 .*Too many failed volumes"):
        Cluster.start(spec)
    assert not list(tmp_path.glob("nncache-cluster-*"))
