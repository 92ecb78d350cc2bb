"""Three ZooKeeper servers, plain and over TLS."""

import gc
import re
from contextlib import closing
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from nncache.testbed import four_letters
from nncache.testbed.certificates import Authority
from nncache.testbed.ensemble import SIZE, ZooKeeperEnsemble
from nncache.testbed.errors import StartError
from nncache.testbed.https import SERVER
from nncache.testbed.spec import ZooKeeperSecurity
from tests.cluster import HADOOP
from tests.patience import HANG_S
from tests.testbed.leftovers import eventually, nothing_is_left


def leads(ensemble: ZooKeeperEnsemble) -> bool:
    """Tell whether some server does."""
    try:
        ensemble.leader()
    except StartError:
        return False
    return True


@pytest.mark.parametrize("tls", [False, True])
def test_each_server_knows_itself_and_all(*, tls: bool, tmp_path: Path) -> None:
    """By a port of its own for each purpose; with TLS they speak it among themselves."""
    with closing(
        ZooKeeperEnsemble(
            hadoop_version=HADOOP, security=ZooKeeperSecurity(tls=tls), authority=tmp_path / "tls"
        )
    ) as ensemble:
        conf = ensemble.servers[0].data.parents[1] / "conf"
        configured = [
            (conf / f"{server.data.name}.cfg").read_text(encoding="utf-8") for server in ensemble.servers
        ]
        named = [
            [line for line in text.splitlines() if line.startswith(("server.", "ssl.quorum.", "sslQuorum"))]
            for text in configured
        ]
        assert named[0] == named[1] == named[2]
        assert (f"ssl.quorum.keyStore.location={tmp_path}/tls/server.p12" in named[0]) == tls
        assert ("sslQuorum=true" in named[0]) == tls
        own = [(server.data / "myid").read_text(encoding="ascii") for server in ensemble.servers]
        assert own == ["1\n", "2\n", "3\n"]
        assert len(set(ensemble.address.split(","))) == SIZE
        assert bool(ensemble.secure_address) == tls
        with pytest.raises(StartError, match="none of the ZooKeeper servers leads"):
            ensemble.leader()


# kazoo leaves the socket open when a server with TLS refuses its connection.
@pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning")
@pytest.mark.long
@pytest.mark.parametrize("tls", [False, True])
def test_what_was_written_survives_the_leader(*, tls: bool, tmp_path: Path) -> None:
    """A session goes on with the servers that are left, and the one that was killed comes back."""
    authority = Authority(tmp_path)
    authority.issue(SERVER)
    trusting = {"use_ssl": True, "ca": str(authority.ca), "check_hostname": True} if tls else {}
    with ZooKeeperEnsemble(
        hadoop_version=HADOOP,
        security=ZooKeeperSecurity(tls=tls, client_certificates="none"),
        authority=tmp_path,
    ) as ensemble:
        directory = str(ensemble.servers[0].data.parents[1])
        assert len(ensemble.servers) == SIZE
        client = KazooClient(ensemble.secure_address or ensemble.address, timeout=30.0, **trusting)
        try:
            client.start(timeout=HANG_S)
            client.create("/kept", b"x")
            first = ensemble.leader()
            modes = [
                re.findall(r"^Mode: (.*)$", four_letters.ask(server.address, "srvr"), re.MULTILINE)
                for server in (first, *(server for server in ensemble.servers if server is not first))
            ]
            assert modes == [["leader"], ["follower"], ["follower"]]
            first.kill()
            assert eventually(lambda: leads(ensemble))
            assert ensemble.leader() is not first
            assert client.retry(client.get, "/kept")[0] == b"x"
            client.retry(client.set, "/kept", b"y")
            first.start_again()
            assert eventually(lambda: first.writes() == ensemble.leader().writes())
        finally:
            client.stop()
            client.close()
            del client
            gc.collect()
    assert nothing_is_left(directory)
