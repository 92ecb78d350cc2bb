"""Each difference that docs/light-cluster.md lists exists; a row that no longer applies fails here.

`test_beside_a_namenode.py` detects new differences.
"""

from collections.abc import Callable

import pytest

from nncache.namenode.cluster import LightCluster
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker
from tests.cluster import HADOOP
from tests.namenode.asking import Reply, ask, call, target
from tests.namenode.test_beside_a_namenode import SPEAKS

Ask = Callable[[str, str], object]
"""Takes an address and its superuser; returns the value to compare."""


def _of_json(reply: Reply) -> object:
    return reply.status, reply.body


def _jmx(http: str) -> bytes:
    with Asker(http) as asker:
        return asker.ask("GET", "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState").body


DIFFERENCES: dict[str, Ask] = {
    "snapshots are made": lambda http, user: (
        call(http, "PUT", "/x", "ALLOWSNAPSHOT", user).status,
        call(http, "PUT", "/x", "CREATESNAPSHOT", user, snapshotname="one").status,
        call(http, "DELETE", "/x", "DELETESNAPSHOT", user, snapshotname="one").status,
    ),
    "the root has .snapshot": lambda http, user: (
        call(http, "GET", "/.snapshot", "GETFILESTATUS", user).status
    ),
    "erasure coding": lambda http, user: (
        call(http, "PUT", "/x", "SETECPOLICY", user, ecpolicy="RS-6-3-1024k").status
    ),
    "quotas by storage type": lambda http, user: (
        call(
            http, "PUT", "/x", "SETQUOTABYSTORAGETYPE", user, storagetype="DISK", storagespacequota=10**9
        ).status
    ),
    "Accept of HTML alone": lambda http, user: (
        ask(http, "GET", target("/", "GETFILESTATUS", user), headers=(("Accept", "text/html"),)).status
    ),
    "malformed Content-Type": lambda http, user: (
        ask(http, "PUT", target("/x", "MKDIRS", user), headers=(("Content-Type", "nonsense"),)).status
    ),
    "raw names": lambda http, user: call(http, "GET", "/.reserved/raw/x", "GETFILESTATUS", user).status,
    "a stack trace behind a DataNode's error": lambda http, user: (
        b"\\tat " in call(http, "PUT", "/x", "CREATE", user, b"").body
    ),
    "letters in a Location": lambda http, user: (
        [
            value.rpartition("/")[2]
            for name, value in call(http, "PUT", "/x/é", "CREATE", user, b"").headers.items()
            if name.lower() == "location"
        ]
    ),
    "checksums": lambda http, user: call(http, "GET", "/x/f", "GETFILECHECKSUM", user).json,
    "server defaults": lambda http, user: _of_json(call(http, "GET", "/", "GETSERVERDEFAULTS", user)),
    "a cookie": lambda http, user: (
        "Set-Cookie" in ask(http, "GET", target("/", "GETFILESTATUS", user)).headers
    ),
    "beans of JMX": lambda http, _: b"FSNamesystemState" in _jmx(http),
    "figures of disks": lambda http, user: (
        call(http, "GET", "/", "GETSTATUS", user).json["FsStatus"]["capacity"] > 0
    ),
    "policies of erasure coding": lambda http, user: _of_json(call(http, "GET", "/", "GETECPOLICIES", user)),
    "codecs of erasure coding": lambda http, user: _of_json(call(http, "GET", "/", "GETECCODECS", user)),
    "figures of DataNodes": lambda http, user: (
        call(http, "GET", "/x/f", "GET_BLOCK_LOCATIONS", user).json["LocatedBlocks"]["lastLocatedBlock"][
            "locations"
        ][0]["ipcPort"]
        > 0
    ),
}
"""By the row of the document."""


@pytest.mark.parametrize("name", DIFFERENCES)
def test_it_differs(name: str, cluster: Cluster) -> None:
    """The replies differ at the release whose answers a light cluster implements."""
    if HADOOP != SPEAKS:
        return
    compared: list[object] = []
    with LightCluster(superuser=cluster.superuser) as light:
        for http in (cluster.namenodes[0].http, light.namenode_http):
            call(http, "PUT", "/x", "MKDIRS", cluster.superuser)
            call(http, "PUT", "/x/f", "CREATE", cluster.superuser, b"some bytes")
            compared.append(DIFFERENCES[name](http, cluster.superuser))
            call(http, "PUT", "/x", "DISALLOWSNAPSHOT", cluster.superuser)
            call(http, "DELETE", "/x", "DELETE", cluster.superuser, recursive="true")
    assert compared[0] != compared[1]
