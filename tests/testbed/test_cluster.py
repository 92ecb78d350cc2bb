"""A real cluster: what others rely on, and that it goes without a trace."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from nncache.testbed import Cluster, ClusterSpec, NameNode, Ports, StartError, readiness
from nncache.testbed.asker import Asker
from nncache.testbed.errors import PortError
from nncache.testbed.ports import PortLease
from tests.cluster import HADOOP, make_directory, webhdfs
from tests.testbed.leftovers import eventually, nothing_is_left


def write_file(cluster: Cluster, path: str, content: bytes, block_bytes: int) -> None:
    """Create a file in two steps, as a WebHDFS client does."""
    status, body = webhdfs(cluster, "PUT", path, "CREATE", noredirect="true", blocksize=block_bytes)
    assert status == http.client.OK, body
    target = urlsplit(json.loads(body)["Location"])
    with Asker(target.netloc) as datanode:
        reply = datanode.ask("PUT", f"{target.path}?{target.query}", body=content)
    assert reply.status == http.client.CREATED


def file_info_ops(namenode: NameNode) -> int:
    """Read the NameNode's own count of getFileInfo calls."""
    bean = readiness.jmx(namenode.http, "Hadoop:service=NameNode,name=NameNodeActivity")
    assert bean is not None
    return int(bean["FileInfoOps"])


def test_it_is_the_release_that_was_asked_for(cluster: Cluster) -> None:
    """`HADOOP` chooses what the session runs on; the NameNode says so itself."""
    bean = readiness.jmx(cluster.namenodes[0].http, "Hadoop:service=NameNode,name=NameNodeInfo")
    assert bean is not None
    assert bean["SoftwareVersion"] == cluster.hadoop_version == HADOOP


def test_the_start_says_what_it_took(cluster: Cluster) -> None:
    """For each server and in total."""
    assert cluster.start_s.keys() == {"format", "namenode", "datanode", "zookeeper", "total"}
    assert all(seconds > 0 for seconds in cluster.start_s.values())


def test_a_small_file_is_written_through_the_datanode(cluster: Cluster, hdfs_directory: str) -> None:
    """In blocks as small as a test wants."""
    write_file(cluster, f"{hdfs_directory}/f", b"x" * 1_500, block_bytes=512)
    _, body = webhdfs(cluster, "GET", f"{hdfs_directory}/f", "GETFILESTATUS")
    status = json.loads(body)["FileStatus"]
    assert (status["length"], status["blockSize"], status["replication"]) == (1_500, 512, 1)


def test_the_users_have_their_groups(cluster: Cluster, hdfs_directory: str) -> None:
    """Alice and bob share `users`; carol and the anonymous dr.who don't."""
    make_directory(cluster, f"{hdfs_directory}/d", permission="750")
    webhdfs(cluster, "PUT", f"{hdfs_directory}/d", "SETOWNER", group="users")
    seen = {
        user: webhdfs(cluster, "GET", f"{hdfs_directory}/d/none", "GETFILESTATUS", user=user)[0]
        for user in ("alice", "bob", "carol", "dr.who")
    }
    assert seen == {"alice": 404, "bob": 404, "carol": 403, "dr.who": 403}


def test_acls_are_on(cluster: Cluster, hdfs_directory: str) -> None:
    """Tests of grants set them."""
    status, body = webhdfs(
        cluster, "PUT", hdfs_directory, "MODIFYACLENTRIES", aclspec="user:carol:r-x,default:user:bob:rwx"
    )
    assert status == http.client.OK, body


def test_the_superuser_may_act_for_others(cluster: Cluster, hdfs_directory: str) -> None:
    """And nobody else may."""
    status, body = webhdfs(cluster, "PUT", f"{hdfs_directory}/d", "MKDIRS", doas="alice")
    assert status == http.client.OK, body
    _, body = webhdfs(cluster, "GET", f"{hdfs_directory}/d", "GETFILESTATUS")
    assert json.loads(body)["FileStatus"]["owner"] == "alice"
    status, _ = webhdfs(cluster, "GET", hdfs_directory, "GETFILESTATUS", user="bob", doas="alice")
    assert status == http.client.FORBIDDEN


def test_the_counters_of_the_namenode_move(cluster: Cluster) -> None:
    """Within seconds, not within Hadoop's ten: the demo and the tests read them."""
    before = file_info_ops(cluster.namenodes[0])
    webhdfs(cluster, "GET", "/", "GETFILESTATUS")
    assert eventually(lambda: file_info_ops(cluster.namenodes[0]) > before)


def test_the_shell_acts_as_the_user_given(cluster: Cluster, hdfs_directory: str, tmp_path: Path) -> None:
    """It prints what `hdfs dfs` prints and nothing of its own."""
    (tmp_path / "f").write_bytes(b"hello")
    put = cluster.fs_shell("-put", str(tmp_path / "f"), f"{hdfs_directory}/f", user="alice")
    assert (put.exit_code, put.stdout, put.stderr) == (0, "", "")
    shown = cluster.fs_shell("-stat", "%u %b", f"{hdfs_directory}/f")
    assert (shown.exit_code, shown.stdout, shown.stderr) == (0, "alice 5\n", "")


def test_what_the_shell_removes_is_in_the_trash(cluster: Cluster, hdfs_directory: str) -> None:
    """As on most clusters; and a failure is an exit code."""
    make_directory(cluster, f"{hdfs_directory}/d")
    assert cluster.fs_shell("-rm", "-r", f"{hdfs_directory}/d").exit_code == 0
    trashed = f"/user/{cluster.superuser}/.Trash/Current{hdfs_directory}/d"
    assert webhdfs(cluster, "GET", trashed, "GETFILESTATUS")[0] == http.client.OK
    failed = cluster.fs_shell("-ls", f"{hdfs_directory}/d")
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert "No such file or directory" in failed.stderr


def test_another_cluster_can_run_beside_it_and_crash(cluster: Cluster) -> None:
    """Own ports, own directory; what was acknowledged before a SIGKILL is there after it."""
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
    """The audit log shows the first address of X-Forwarded-For, if the sender is to be believed."""
    with Asker(proxied.namenodes[0].http) as namenode:
        target = "/webhdfs/v1/asked?op=GETFILESTATUS&user.name=alice"
        namenode.ask("GET", target, headers={"X-Forwarded-For": "10.1.2.3, 10.4.5.6"})
    log = proxied.logs / "hdfs-audit.log"
    assert eventually(lambda: "src=/asked" in log.read_text(encoding="utf-8"))
    (line,) = [line for line in log.read_text(encoding="utf-8").splitlines() if "src=/asked" in line]
    assert "ip=/10.1.2.3\t" in line


def test_a_directory_of_ones_own_is_kept(tmp_path: Path) -> None:
    """The next start finds what the last one wrote, on the same port if that is given."""
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
    """Before anything is started."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    taken = int(cluster.namenodes[0].rpc.rpartition(":")[2])
    with pytest.raises(PortError, match=f"port {taken} is taken"):
        Cluster.start(ClusterSpec(hadoop_version=HADOOP, ports=Ports(namenode_rpc=taken)))
    assert not list(tmp_path.glob("nncache-cluster-*"))


def test_a_failing_server_is_told_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the others, which were well, are stopped."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spec = ClusterSpec(hadoop_version=HADOOP, overrides={"dfs.datanode.data.dir": "/proc/none"})
    with pytest.raises(StartError, match=r"(?s)^datanode ended with 1 .*Too many failed volumes"):
        Cluster.start(spec)
    assert not list(tmp_path.glob("nncache-cluster-*"))


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    """Two NameNodes and a JournalNode."""
    with Cluster.start(ClusterSpec(hadoop_version=HADOOP, ha=True, with_datanode=False)) as started:
        yield started


def test_of_a_pair_the_first_is_active_and_the_second_takes_over(pair: Cluster) -> None:
    """Nothing that the first acknowledged is lost, and it comes back as the standby."""
    first, second = pair.namenodes
    assert (first.state(), second.state()) == ("active", "standby")
    make_directory(pair, "/kept")
    first.process.kill()
    pair.transition_to_active(1)
    pair.await_writable(1)
    assert pair.fs_shell("-test", "-d", "/kept").exit_code == 0
    first.process.start()
    assert (first.state(), second.state()) == ("standby", "active")
    pair.transition_to_standby(1)
    pair.transition_to_active(0)
    assert (first.state(), second.state()) == ("active", "standby")
