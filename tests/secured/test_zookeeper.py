"""The ZooKeeper of a cluster with Kerberos: who has a ticket has a name."""

import os
from pathlib import Path

import pyspark
import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError

from nncache.testbed import Cluster, Kdc, workplace
from nncache.testbed.jars import java as find_java
from tests.patience import HANG_S

JARS = Path(pyspark.__file__).with_name("jars") / "*"
"""ZooKeeper's own client is not whole in Hadoop's jars; Spark has one."""

CLIENT = """\
Client {{
  com.sun.security.auth.module.Krb5LoginModule required
  useTicketCache=true
  ticketCache="{tickets}"
  principal="alice@TEST.LOCAL";
}};
"""


def test_a_ticket_gives_a_name_that_acls_know(secured_cluster: Cluster, kdc: Kdc, tmp_path: Path) -> None:
    """ZooKeeper's own client makes a znode that is alice's; a client without SASL is let in and reads nothing of it."""
    assert secured_cluster.zookeeper is not None
    address = secured_cluster.zookeeper.address
    (tmp_path / "jaas.conf").write_text(CLIENT.format(tickets=kdc.kinit("alice")), encoding="utf-8")
    command = (
        find_java(),
        f"-Djava.security.krb5.conf={kdc.krb5_conf}",
        f"-Djava.security.auth.login.config={tmp_path / 'jaas.conf'}",
        *("-cp", str(JARS), "org.apache.zookeeper.ZooKeeperMain", "-server", address),
    )
    lines = "create /alices x sasl:alice@TEST.LOCAL:cdrwa\ngetAcl /alices\nquit\n"
    made = workplace.run(command, environ=os.environ, stdin=lines)
    assert "'sasl,'alice@TEST.LOCAL" in made.stdout, made
    stranger = KazooClient(address, timeout=20.0)
    try:
        stranger.start(timeout=2 * HANG_S)
        with pytest.raises(NoAuthError):
            stranger.get("/alices")
    finally:
        stranger.stop()
        stranger.close()
