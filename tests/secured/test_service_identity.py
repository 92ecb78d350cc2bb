"""The service's own identity on a secured cluster: RPC, SPNEGO, and its reaction to a failing KDC."""

import os
import time
from collections.abc import Callable
from contextlib import closing

import aiohttp
import pytest
from click.testing import CliRunner

from nncache.commands.group import nncache
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.errors import KerberosError, RemoteCallError, RpcAuthenticationError, RpcLoginError
from nncache.hadoop.kerberos.identity import KerberosIdentity, Negotiation, identity_of
from nncache.hadoop.kerberos.principal import Principal
from nncache.hadoop.kerberos.settings import KerberosSettings
from nncache.hadoop.kerberos.web_login import WebLogin
from nncache.hadoop.namenodes.jmx_client import JmxClient
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.hadoop.remote_exception import Verdict
from nncache.hadoop.rpc.callers import CallerConnections
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.hadoop.rpc.user import RpcUser
from nncache.testbed import Cluster, ClusterSpec, Kdc, Kerberos, Relay
from nncache.testbed.daemon import ProxyDaemon, PublisherDaemon
from nncache.testbed.spec import REALM
from tests.cluster import HADOOP, make_directory, webhdfs
from tests.kerberos import clients_of, need_gssapi, need_kdc
from tests.real.faults import paused
from tests.secured.asking import Question, ask, cookie_of
from tests.secured.service import NAMENODES, SERVICE, identity_flags, keytab_of, without


@pytest.fixture(autouse=True)
def gssapi() -> None:
    """Skip or fail the test without gssapi."""
    need_gssapi()


def identity(kdc: Kdc, principal: str = "nncache/localhost", keytab: str = "nncache") -> KerberosIdentity:
    """Return the identity of one of the cluster's principals."""
    settings = KerberosSettings(
        principal=f"{principal}@{REALM}", keytab=keytab_of(kdc, keytab), namenode_principal=NAMENODES
    )
    made = identity_of(settings, time.monotonic)
    assert made is not None
    return made


def node_of(cluster: Cluster) -> NameNode:
    """Return the NameNode's addresses with its host name, which its principal contains."""
    return NameNode(cluster.namenodes[0].http, cluster.namenodes[0].rpc)


async def test_edits_are_read_with_a_keytab_and_privacy(secured_cluster: Cluster, kdc: Kdc) -> None:
    """The client chooses the server's strongest protection. Pages of edits arrive whole."""
    rpc = NameNodeRpc(node_of(secured_cluster).rpc, "nobody", identity=identity(kdc), timeout_s=20)
    before = await rpc.get_current_edit_log_txid()
    for number in range(200):
        webhdfs(secured_cluster, "PUT", f"/edits/{'d' * 200}{number}", "MKDIRS")
    after = await rpc.get_current_edit_log_txid()
    seen, txid = 0, before + 1
    while txid <= after:
        page = await rpc.get_edits(txid)
        if page.first_txid == -1:
            continue
        seen += sum(len(batch.events) for batch in page.batches)
        txid = page.last_txid + 1
    await rpc.close()
    assert seen >= 200


@pytest.mark.long
@pytest.mark.parametrize("protection", ["authentication", "integrity"])
async def test_each_protection_of_a_real_namenode(protection: str) -> None:
    """Each server offers only one; the shared cluster also offers privacy."""
    need_kdc()
    spec = ClusterSpec(hadoop_version=HADOOP, with_datanode=False, kerberos=Kerberos(protection=protection))
    with Cluster.start(spec) as cluster:
        assert cluster.kdc is not None
        with clients_of(cluster.kdc):
            rpc = NameNodeRpc(node_of(cluster).rpc, "nobody", identity=identity(cluster.kdc), timeout_s=20)
            assert await rpc.exists("/")
            assert await rpc.get_current_edit_log_txid() >= 0
            await rpc.close()


async def test_a_proxy_user_asks_only_as_allowed_callers(secured_cluster: Cluster, kdc: Kdc) -> None:
    """hadoop.proxyuser.proxy.users names alice and bob. Carol's permissions cannot be asked about."""
    make_directory(secured_cluster, "/asked", permission="750")
    webhdfs(secured_cluster, "PUT", "/asked", "SETOWNER", owner="alice", group="users")
    address = node_of(secured_cluster).rpc
    callers = CallerConnections(
        time.monotonic, timeout_s=20, identity=identity(kdc, "proxy/localhost", "proxy")
    )
    seen = {}
    for user in ("alice", "bob"):
        async with callers.borrow(address, RpcUser(user), None) as rpc:
            seen[user] = await rpc.may_write("/asked")
    assert seen == {"alice": True, "bob": False}
    async with callers.borrow(address, RpcUser("carol"), None) as rpc:
        with pytest.raises(RpcAuthenticationError, match="not allowed to impersonate carol"):
            await rpc.may_write("/asked")
    with pytest.raises(RpcAuthenticationError, match="may not be asked for"):
        async with callers.borrow(address, RpcUser("alice", real_name="oozie"), None):
            pass
    await callers.close()


async def test_without_a_proxy_users_rights_it_asks_as_itself(secured_cluster: Cluster, kdc: Kdc) -> None:
    """A principal that is not a superuser gets an error when it reads the edits."""
    rpc = NameNodeRpc(node_of(secured_cluster).rpc, "nobody", identity=identity(kdc, "alice", "alice"))
    assert await rpc.exists("/")
    with pytest.raises(RemoteCallError) as caught:
        await rpc.get_current_edit_log_txid()
    assert caught.value.verdict is Verdict.ACCESS_CONTROL
    assert f"as alice@{REALM}" in str(caught.value)
    await rpc.close()


async def test_another_server_than_the_expected_one_is_not_asked(secured_cluster: Cluster, kdc: Kdc) -> None:
    """The server's principal must match namenode_principal."""
    made = identity(kdc)
    made.namenode_principal = Principal("hdfs", "_HOST", REALM)
    rpc = NameNodeRpc(node_of(secured_cluster).rpc, "nobody", identity=made)
    with pytest.raises(RpcLoginError, match=r"calls itself nn/localhost, and hdfs/localhost.*is expected"):
        await rpc.exists("/")
    failing = [rpc.is_login_failing]
    made.namenode_principal = None
    assert await rpc.exists("/")
    assert [*failing, rpc.is_login_failing] == [True, False]
    await rpc.close()


async def test_jmx_and_webhdfs_by_spnego_once_and_then_the_cookie(secured_cluster: Cluster, kdc: Kdc) -> None:
    """Several requests need one SPNEGO token."""
    made = identity(kdc, "proxy/localhost", "proxy")
    tokens = []
    negotiation = made.negotiation

    async def counted(host: str, timeout_s: float) -> Negotiation:
        tokens.append(host)
        return await negotiation(host, timeout_s)

    made.negotiation = counted  # type: ignore[method-assign] # counts the calls
    namenode = node_of(secured_cluster)
    login = WebLogin(made, [namenode.http], timeout_s=20)
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(middlewares=(login,), cookie_jar=jar) as session:
        jmx = JmxClient(session, time.monotonic, timeout_s=20, user="nobody", wants_guard=True)
        for _ in range(3):
            assert (await jmx.ask(namenode)).journal is not None
    assert tokens == ["localhost"]


async def test_files_are_written_and_read_as_the_principal(secured_cluster: Cluster, kdc: Kdc) -> None:
    """The second step, to the DataNode, sends the token from the NameNode's redirect."""
    namenode = node_of(secured_cluster)
    async with WebHdfs(f"http://{namenode.http}", "nobody", identity=identity(kdc)) as hdfs:
        await hdfs.create("/written/f", b"content")
        assert await hdfs.read("/written/f") == b"content"
        assert (await hdfs.status("/written/f")).owner == "nncache"


def status(proxy: ProxyDaemon, cluster: Cluster) -> int:
    """Ask through the proxy with a valid cookie of alice; return the status."""
    return ask(proxy.address, Question("/", headers=(("Cookie", cookie_of(cluster, "alice")),))).status


def log_says(daemon: ProxyDaemon | PublisherDaemon, text: str) -> Callable[[], bool]:
    """Return a function that tells whether the daemon has logged this text."""
    return lambda: text in daemon.process.log.read_text(encoding="utf-8")


def test_a_silent_kdc_leaves_edits_and_forwarding(secured_cluster: Cluster, kdc: Kdc) -> None:
    """The proxy starts, forwards, logs the remedy, and opens its gate when the KDC answers again."""
    proxy = ProxyDaemon(*identity_flags(secured_cluster, kdc), "--glob", "/no/*")
    with closing(proxy):
        with paused(kdc.process):
            proxy.start()
            proxy.process.await_that(log_says(proxy, "the KDC does not answer"), "does not name the KDC")
            assert status(proxy, secured_cluster) == 200
        proxy.await_gate()
        with paused(kdc.process):  # now it has tickets, and nothing is interrupted
            assert status(proxy, secured_cluster) == 200
            assert proxy.readiness()["is_gate_open"] is True


def test_a_ticket_that_ends_while_the_kdc_is_silent(secured_cluster: Cluster, kdc: Kdc) -> None:
    """An open connection stays usable. A new one gets no ticket, so calls are forwarded until the KDC answers."""
    kdc.add("nncache/short")
    kdc._kadmin('modprinc -maxlife "6 seconds" nncache/short')  # noqa: SLF001 - of this test alone
    kdc.keytab("short", "nncache/short")
    with Relay(node_of(secured_cluster).rpc) as relay:
        rpc = f"localhost:{relay.address.rpartition(':')[2]}"
        own = (
            *without(
                identity_flags(secured_cluster, kdc, f"nncache/short@{REALM}", "short"), "--namenode-rpc"
            ),
            *("--namenode-rpc", rpc),
        )
        with ProxyDaemon(*own, "--glob", "/no/*") as proxy:
            proxy.await_gate()
            with paused(kdc.process):

                def is_logged() -> bool:
                    relay.cut()
                    relay.restore()
                    return log_says(proxy, "the KDC does not answer")()

                proxy.process.await_that(is_logged, "does not name the KDC")
                proxy.await_gate(is_open=False)
                assert status(proxy, secured_cluster) == 200
                assert proxy.readiness()["ready"] is True
            proxy.await_gate()


def test_a_keytab_that_is_replaced_is_taken_up(secured_cluster: Cluster, kdc: Kdc) -> None:
    """After a key change at the KDC, the log says so and calls are forwarded. The new keytab opens the gate."""
    kdc.add("rolled/localhost")
    kdc.keytab("rolled", "rolled/localhost")
    kdc.change_key("rolled/localhost")
    principal = f"rolled/_HOST@{REALM}"
    with ProxyDaemon(
        *identity_flags(secured_cluster, kdc, principal, "rolled"), "--glob", "/no/*", "--user", "nobody"
    ) as proxy:
        wrong = "the key in the keytab is not the KDC's"
        proxy.process.await_that(log_says(proxy, wrong), "does not name the key")
        assert status(proxy, secured_cluster) == 200
        kdc.keytab("rolled", "rolled/localhost")
        # This error for a user who is no superuser shows that there is a ticket.
        proxy.process.await_that(log_says(proxy, "Superuser privilege is required"), "has no ticket")


def test_a_principal_that_the_kdc_does_not_know(secured_cluster: Cluster, kdc: Kdc) -> None:
    """The log says what to do. The daemon recovers when the principal is created."""
    kdc.add("late/localhost")
    kdc.keytab("late", "late/localhost")
    kdc._kadmin("delprinc -force late/localhost")  # noqa: SLF001 - of this test alone
    with ProxyDaemon(
        *identity_flags(secured_cluster, kdc, f"late/_HOST@{REALM}", "late"), "--glob", "/no/*"
    ) as proxy:
        proxy.process.await_that(log_says(proxy, "see that principal is spelt right"), "does not name it")
        assert status(proxy, secured_cluster) == 200
        kdc.add("late/localhost")
        kdc.keytab("late", "late/localhost")
        proxy.process.await_that(log_says(proxy, "Superuser privilege is required"), "has no ticket")


async def test_an_expired_ticket_is_logged_and_a_new_one_used(secured_cluster: Cluster, kdc: Kdc) -> None:
    """Another program, such as k5start, maintains the cache."""
    cache = kdc.kinit("alice", lifetime_s=1, ccache=kdc.directory / "tickets" / "short")
    made = identity_of(KerberosSettings(ticket_cache=f"FILE:{cache}"), time.monotonic)
    assert made is not None
    address = node_of(secured_cluster).rpc
    rpc = NameNodeRpc(address, "nobody", identity=made)
    with pytest.raises(RpcLoginError, match="renew"):
        await rpc.exists("/")
    kdc.kinit("alice", ccache=cache)
    assert await rpc.exists("/")
    await rpc.close()


def test_filters_are_published_on_a_secured_cluster(secured_cluster: Cluster, kdc: Kdc) -> None:
    """The publisher reads filters over WebHDFS and edits over RPC, as its principal."""
    where = (
        "--zookeeper",
        secured_cluster.zookeeper.address,
        "--zookeeper-root",
        "/identity",
        "--zookeeper-sasl",
        "kerberos",
    )
    with PublisherDaemon(
        *identity_flags(secured_cluster, kdc), *where, "--filters-path", "/filters/identity"
    ) as publisher:
        publisher.await_publishing()


def test_a_keytab_that_others_may_read_is_refused(kdc: Kdc) -> None:
    """The error names the mode to set."""
    file = kdc.keytab("open", "alice")
    os.chmod(file, 0o640)  # noqa: PTH101 - the wrong mode
    settings = KerberosSettings(principal=f"alice@{REALM}", keytab=str(file))
    with pytest.raises(Exception, match=r"keytab: .*: has mode 0640.*chmod 0400") as caught:
        identity_of(settings, time.monotonic)
    assert not isinstance(caught.value, KerberosError)


def test_filters_are_made_on_the_command_line(secured_cluster: Cluster, kdc: Kdc) -> None:
    """The principal becomes the owner. Without a ticket, the command gets a 401."""
    http, where = node_of(secured_cluster).http, ("--filters-path", "/filters/commanded")
    given = ("--namenode-http", http, *where)
    mine = ("--principal", SERVICE, "--keytab", keytab_of(kdc, "nncache"))
    run = CliRunner().invoke
    made = run(nncache, ["filters", "add", "--name", "f", "--glob", "/a/*", *given, *mine])
    assert made.exit_code == 0, made.output
    shown = run(nncache, ["filters", "list", *given, *mine])
    assert "/a/*" in shown.output, shown.output
    refused = run(nncache, ["filters", "list", *given])
    assert refused.exit_code != 0
    assert "401, it asks for Negotiate: for Kerberos name --principal and --keytab" in str(refused.exception)
