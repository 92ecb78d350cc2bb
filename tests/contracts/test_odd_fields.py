"""Header fields that a NameNode refuses, whatever is asked, and fields with which it gives the usual answer."""

from collections.abc import Iterator

import pytest

from nncache.hadoop.calls import PREFIX
from nncache.proxy.reading import CacheDirective, cache_directive_of
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker
from tests.proxy.test_cache_directives import MALFORMED

TARGET = f"{PREFIX}/none?op=GETFILESTATUS&user.name=alice"
RANGES = ("*", "*/*", "application/json", "application/*", "a.b+c/_-", "*/json", "json", "a/", "")
PARAMETERS = (
    "",
    ";q=.2",
    "; q=1.000",
    " ; q=0.5;q=1",
    ";v=b3",
    ";charset=-",
    ";q=2",
    ";q=-0",
    ";q=00",
    ";a",
    ";",
)
HOSTS = (
    "nn",
    "a_b..c.:09870",
    "[::1]",
    "[::ffff:192.0.2.1]:1",
    "[1]",
    "[12345::]",
    "nn:00",
    "nn:99999",
    "[::1%25lo]",
    "[fe80::1%eth0]:1",
    "[fe80::1%e-0.1]:1",
)


def _fields() -> Iterator[tuple[bytes, bytes]]:
    yield from MALFORMED
    for value in (f"{media}{parameters}" for media in RANGES for parameters in PARAMETERS):
        yield b"Accept", value.strip().encode()
        yield b"Accept", f"text/html;level=1,{value}".strip().encode()
        yield b"Content-Type", value.strip().encode()
    yield from ((b"Host", host.encode()) for host in HOSTS)


@pytest.fixture(scope="module")
def namenode(cluster: Cluster) -> Iterator[Asker]:
    """A connection to the NameNode."""
    with Asker(cluster.namenodes[0].http) as asker:
        yield asker


def test_what_leaves_a_trace_gets_the_usual_answer(namenode: Asker) -> None:
    """Verbatim: whatever it says is the answer to each request that the cache may answer."""
    usual = namenode.ask("GET", TARGET).body
    odd = 0
    for name, value in _fields():
        reply = namenode.ask("GET", TARGET, headers=[(name.decode(), value.decode())])
        odd += reply.body != usual
        if cache_directive_of([(name, value)]) is not CacheDirective.NO_TRACE:
            assert reply.body == usual, (name, value, reply.status)
        if (name, value) in MALFORMED:
            assert reply.status in {400, 500}, (name, value, reply.status)
    assert odd > 50, "most are refused"


def test_a_doas_in_a_form_is_who_writes(namenode: Asker, cluster: Cluster, hdfs_directory: str) -> None:
    """So the target alone does not say who asks (`nncache.proxy.identity.rpc_user_of_head`)."""
    target = f"{PREFIX}{hdfs_directory}/d?op={{}}&user.name={cluster.superuser}"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert namenode.ask("PUT", target.format("MKDIRS"), headers=form, body=b"doas=alice").status == 200
    assert b'"owner":"alice"' in namenode.ask("GET", target.format("GETFILESTATUS")).body
