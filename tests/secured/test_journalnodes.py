"""Permission to read the JournalNodes of a secured pair, over RPC and over HTTP or HTTPS."""

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from nncache.hadoop.configured_namenodes import parse_quorum_journal
from nncache.hadoop.kerberos.identity import identity_of
from nncache.hadoop.kerberos.settings import KerberosSettings
from nncache.hadoop.namenode_settings import NameNodeTlsSettings
from nncache.hadoop.namenode_web import NameNodeWeb
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.invalidation.journal.access import JournalAccess
from nncache.invalidation.journal.finalized import FinalizedSegments
from nncache.testbed import Cluster, ClusterSpec, Kdc, Kerberos, Tls
from nncache.testbed.daemon import ProxyDaemon
from nncache.testbed.spec import REALM
from tests.cluster import HADOOP, make_directory, webhdfs
from tests.commands.planted import checked
from tests.kerberos import clients_of, need_gssapi, need_kdc
from tests.patience import HANG_S, until
from tests.secured.asking import Question, ask, cookie_of, until_hit
from tests.secured.service import SERVICE, keytab_of, principal_flags

pytestmark = pytest.mark.timeout(300)

TOP = "/journal"
NAMENODES_OWN = f"nn/_HOST@{REALM}", "nn/localhost"
"""The NameNodes' principal on this host, and the name of its keytab."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A secured pair of NameNodes with three JournalNodes."""

    cluster: Cluster
    kdc: Kdc
    is_authorizing: bool  # hadoop.security.authorization

    def flags(self, principal: str, keytab: str) -> tuple[str, ...]:
        """Return the flags of a proxy that reads the JournalNodes as this principal."""
        cluster = self.cluster
        tls = ("--namenode-tls", "--namenode-ca", str(cluster.authority.ca)) if cluster.authority else ()
        return (
            *("--namenode-http", ",".join(each.web for each in cluster.namenodes), *tls),
            *("--namenode-rpc", ",".join(each.rpc for each in cluster.namenodes)),
            *principal_flags(self.kdc, principal, keytab),
            *("--edits-source", "journalnodes", "--shared-edits-dir", cluster.shared_edits_dir),
            *("--channel", "direct", "--glob", f"{TOP}/*"),
        )


@pytest.fixture(scope="module", params=["authorization, HTTP", "no authorization, HTTPS only"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Start the pair. This process is a client of its KDC."""
    need_kdc()
    need_gssapi()
    is_authorizing = request.param.startswith("authorization")
    spec = ClusterSpec(
        hadoop_version=HADOOP,
        ha=True,
        journalnodes=3,
        with_datanode=False,
        kerberos=Kerberos(),
        tls=None if is_authorizing else Tls(http_policy="HTTPS_ONLY"),
        overrides={
            "dfs.ha.tail-edits.in-progress": "true",
            "hadoop.security.authorization": str(is_authorizing).lower(),
        },
    )
    with Cluster.start(spec) as cluster:
        assert cluster.kdc is not None
        with clients_of(cluster.kdc):
            make_directory(cluster, TOP)
            yield Pair(cluster, cluster.kdc, is_authorizing)


def permission(proxy: ProxyDaemon, question: Question) -> str:
    """Return the permission in a proxy's answer."""
    return str(json.loads(ask(proxy.address, question).body)["FileStatus"]["permission"])


def test_as_the_namenodes_principal_changes_are_followed(pair: Pair) -> None:
    """This includes a change of the storage policy, which inotify does not report. No NameNode is polled."""
    path = f"{TOP}/followed"
    make_directory(pair.cluster, path, "755")
    question = Question(path, headers=(("Cookie", cookie_of(pair.cluster, "alice")),))
    flags = pair.flags(*NAMENODES_OWN)
    with ProxyDaemon(*flags) as proxy:
        proxy.await_gate()
        until_hit(proxy, question)
        webhdfs(pair.cluster, "PUT", path, "SETPERMISSION", permission="700")
        until(lambda: permission(proxy, question) == "700")
        until_hit(proxy, question)
        webhdfs(pair.cluster, "PUT", path, "SETSTORAGEPOLICY", storagepolicy="COLD")
        until(lambda: json.loads(ask(proxy.address, question).body)["FileStatus"]["storagePolicy"] == 2)
        figures = proxy.metrics()
        assert figures["nncache_channel_polls_total"] == 0
        assert figures["nncache_journal_polls_total"] > 0
    report = checked("proxy", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", *flags)
    assert "all 3 JournalNodes can be read" in report.of("journalnodes", "ok")[0], report


def test_another_principal_is_refused_with_the_one_needed(pair: Pair) -> None:
    """The log and the check name it: for RPC if RPC refuses it, otherwise for HTTP."""
    says = (
        ("is only accessible by nn/localhost@TEST.LOCAL", "dfs.namenode.kerberos.principal")
        if pair.is_authorizing
        else ("answers 403", "it wants a principal of a NameNode", "hadoop.security.auth_to_local")
    )
    flags = pair.flags(SERVICE, "nncache")
    with ProxyDaemon(*flags) as proxy:
        until(lambda: all(part in proxy.process.log.read_text(encoding="utf-8") for part in says))
        assert not proxy.readiness()["is_gate_open"]
    report = checked("proxy", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", *flags)
    failed = report.of("journalnodes", "failed")
    assert len(failed) == 3, report
    for text in failed:
        assert [part for part in says if part not in text] == [], text


def test_segments_are_read_as_the_namenodes_principal(pair: Pair) -> None:
    """A publisher reads the edits that it missed over HTTP with SPNEGO, or over HTTPS."""
    cluster = pair.cluster
    principal, name = f"nn/localhost@{REALM}", "nn/localhost"

    async def read() -> tuple[list[int], range]:
        identity = identity_of(
            KerberosSettings(principal=principal, keytab=keytab_of(pair.kdc, name)), time.monotonic
        )
        web = NameNodeWeb(
            NameNodeTlsSettings(namenode_tls=True, namenode_ca=str(cluster.authority.ca))
            if cluster.authority
            else NameNodeTlsSettings()
        )
        access = JournalAccess(
            journal=parse_quorum_journal("shared_edits_dir", cluster.shared_edits_dir),
            nameservice=cluster.spec.nameservice,
            user=cluster.superuser,
            identity=identity,
            web=web,
        )
        namenode = NameNodeRpc(cluster.namenodes[0].rpc, cluster.superuser, identity=identity)
        rpcs = {address: access.rpc(address) for address in access.journal.addresses}
        try:
            async with asyncio.timeout(HANG_S):
                after_txid = await namenode.get_current_edit_log_txid()
                await asyncio.to_thread(make_directory, cluster, f"{TOP}/missed")
                end_txid = await namenode.roll_edits() - 1
                storage = await namenode.namespace_id(), (await namenode.namespace()).cluster_id
                segments = FinalizedSegments(access, rpcs).read(after_txid + 1, storage)
                found = [each.frame.txid async for shown in segments for each in shown]
                return [txid for txid in found if txid <= end_txid], range(after_txid + 1, end_txid + 1)
        finally:
            await namenode.close()
            for rpc in rpcs.values():
                await rpc.close()

    found, missed = asyncio.run(read())
    assert len(missed) > 1  # MKDIR, END_LOG_SEGMENT
    assert found == list(missed)
