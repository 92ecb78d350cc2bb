"""Header fields that are left out of the key of an answer change nothing in what a NameNode says."""

import http.client
import re

import pytest

from nncache.hadoop.calls import PREFIX
from nncache.proxy.clients.per_request_fields import NAMES
from nncache.testbed import Cluster

VALUES = (
    "",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "Mon, 01 Jan 1990 00:00:00 GMT",
    "user=hdfs",
    "x" * 999,
)


def asked(
    cluster: Cluster, path: str, field: tuple[str, str] | None
) -> tuple[int, list[tuple[str, str]], bytes]:
    """Return status, fields and body; what differs each time is blanked."""
    connection = http.client.HTTPConnection(cluster.namenodes[0].http, timeout=30)
    headers = dict([field] if field is not None else [])
    connection.request("GET", f"{PREFIX}{path}?op=GETFILESTATUS&user.name=alice", headers=headers)
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    fields = [
        (name, "" if name in {"Date", "Expires"} else re.sub(r"&e=.*", "", value))
        for name, value in reply.getheaders()
    ]
    return reply.status, fields, body


@pytest.mark.parametrize("name", NAMES)
def test_a_namenode_makes_nothing_of_it(cluster: Cluster, hdfs_directory: str, name: str) -> None:
    """Of a path that is there, and of one that is not."""
    for path in (hdfs_directory, f"{hdfs_directory}/missing"):
        plain = asked(cluster, path, None)
        assert {200: path == hdfs_directory, 404: path != hdfs_directory}[plain[0]]
        for value in VALUES:
            assert asked(cluster, path, (name, value)) == plain, (name, value)
