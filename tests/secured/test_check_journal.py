"""Who may read the JournalNodes of a secured cluster, as `nncache check` says it before a daemon starts."""

import re

import pytest

from nncache.testbed import Cluster, ClusterSpec, Kerberos
from tests.cluster import HADOOP
from tests.commands.planted import Report, checked
from tests.kerberos import clients_of, need_gssapi, need_kdc
from tests.secured.service import NAMENODES, SERVICE, identity_flags

pytestmark = pytest.mark.timeout(240)


def look(pair: Cluster, principal: str, keytab: str) -> Report:
    """Check a proxy that would read the JournalNodes as this principal."""
    assert pair.kdc is not None
    return checked(
        "proxy",
        *("--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--channel", "direct", "--glob", "/no/*"),
        *("--edits-source", "journalnodes", "--shared-edits-dir", pair.shared_edits_dir),
        *identity_flags(pair, pair.kdc, principal, keytab),
    )


def test_who_may_not_read_is_named_with_what_is_wanted() -> None:
    """With service authorization it is refused over RPC, without it by the web server; the NameNodes' name may read."""
    need_kdc()
    need_gssapi()
    spec = ClusterSpec(
        hadoop_version=HADOOP,
        kerberos=Kerberos(),
        ha=True,
        with_datanode=False,
        overrides={"dfs.ha.tail-edits.in-progress": "true"},
    )
    with Cluster.start(spec) as pair:
        assert pair.kdc is not None
        (journalnode,) = pair.journalnodes
        with clients_of(pair.kdc):
            (refused,) = look(pair, SERVICE, "nncache").of("journalnodes", "failed")
            assert "hadoop.security.authorization" in refused
            assert "(dfs.namenode.kerberos.principal)" in refused
            well = look(pair, NAMENODES, "servers")
            assert well.of("journalnodes", "ok") == ["all 1 JournalNodes can be read; to do: "]

            site = pair.conf_dir / "hdfs-site.xml"
            text, changes = re.subn(
                r"(hadoop\.security\.authorization</name>\s*<value>)true", r"\1false", site.read_text()
            )
            assert changes == 1
            site.write_text(text)
            journalnode.process.restart()
            (refused,) = look(pair, SERVICE, "nncache").of("journalnodes", "failed")
            assert "/getJournal at" in refused
            assert "answers 403" in refused
            assert "hadoop.security.auth_to_local" in refused
