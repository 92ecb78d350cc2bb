"""Header fields that are not part of the cache key do not change a NameNode's reply."""

import re

import pytest

from nncache.hadoop.calls import PREFIX
from nncache.net.http1.per_request_fields import NAMES
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker

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
    """Return the status, fields and body, with fields that differ each time blanked."""
    with Asker(cluster.namenodes[0].http) as namenode:
        target = f"{PREFIX}{path}?op=GETFILESTATUS&user.name=alice"
        reply = namenode.ask("GET", target, headers=[] if field is None else [field])
    fields = [
        (name, "" if name in {"Date", "Expires"} else re.sub(r"&e=.*", "", value))
        for name, value in reply.headers
    ]
    return reply.status, fields, reply.body


@pytest.mark.parametrize("name", NAMES)
def test_a_namenode_makes_nothing_of_it(cluster: Cluster, hdfs_directory: str, name: str) -> None:
    """This holds for an existing and for a missing path."""
    for path in (hdfs_directory, f"{hdfs_directory}/missing"):
        plain = asked(cluster, path, None)
        assert {200: path == hdfs_directory, 404: path != hdfs_directory}[plain[0]]
        for value in VALUES:
            assert asked(cluster, path, (name, value)) == plain, (name, value)
