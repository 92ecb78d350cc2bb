"""A redirect may name another path than its request: that path is written (cloudera/hue #2888, droppyjs/droppy #72).

The NameNode builds the Location with Java's `URI.toASCIIString`, which normalizes it to form C, and decodes bytes that
are not UTF-8 as U+FFFD. macOS uses form D for names. With `noredirect=true` the JSON has the requested name, and the
client's library decides how to send it.
"""

import json
import unicodedata
import uuid
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, unquote, urlsplit

import pytest

from nncache.hadoop.calls import PREFIX
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker, RawReply
from tests.cluster import make_directory
from tests.real.proxied_cluster import CallTarget, ProxiedCluster
from tests.real.stand import Channel, proxied

NAMES: Final = {
    "form D": ("cafe%CC%81", "caf%C3%A9"),
    "CJK compatibility": ("%EF%A4%80", "%E8%B1%88"),
    "Hangul": ("%E1%84%80%E1%85%A1", "%EA%B0%80"),
    "a directory on the way": ("cafe%CC%81/x/f", "caf%C3%A9/x/f"),
    "no UTF-8": ("f%FF", "f%EF%BF%BD"),
}
"""Names as requested, and as the DataNode writes them."""

SHARE: Final = 4
"""Maximum number of windows per client address; more open windows invalidate their directory."""

NORMALIZED: Final = ["307", "NFC", "raw"]
"""Ways to the DataNode: by the redirect, or by the URL in the JSON, normalized to form C or not."""


@pytest.fixture(scope="module", params=Channel, ids=lambda channel: channel.value)
def place(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[tuple[ProxiedCluster, str]]:
    """A proxy that polls changes only every second, so that a missing invalidation at the redirect shows."""
    top = f"/u{uuid.uuid4().hex[:10]}"
    make_directory(cluster, top, "777")
    globs = tuple(top + "/*" * depth for depth in range(1, 5))
    polling = {"poll_interval_s": 1.0}
    with proxied(
        cluster, *globs, channel=request.param, polling=polling, max_two_step_windows=16 * SHARE
    ) as proxied_cluster:
        yield proxied_cluster, top


def first_step(proxied_cluster: ProxiedCluster, spelled: str, op: str, *, way: str) -> str:
    """Start a write through the proxy; return the URL for the data."""
    query = f"op={op}&user.name=alice" + ("" if way == "307" else "&noredirect=true")
    method = "POST" if op == "APPEND" else "PUT"
    reply = proxied_cluster.through.ask(method, f"{PREFIX}{spelled}?{query}")
    if way == "307":
        assert reply.status == 307, reply
        return reply.header("Location")
    location = json.loads(proxied_cluster.must(reply).body)["Location"]
    return quote(unicodedata.normalize("NFC", location) if way == "NFC" else location, safe=":/?&=%")


def upload(
    proxied_cluster: ProxiedCluster,
    spelled: str,
    data: bytes = b"data",
    *,
    op: str = "CREATE",
    way: str = "307",
) -> RawReply:
    """Write through the proxy in two steps; the path is sent as spelled."""
    location = urlsplit(first_step(proxied_cluster, spelled, op, way=way))
    with Asker(location.netloc) as datanode:
        method = "POST" if op == "APPEND" else "PUT"
        return datanode.ask(method, f"{location.path}?{location.query}", body=data)


@pytest.mark.parametrize(("asked", "written"), NAMES.values(), ids=NAMES)
def test_own_writes_what_the_redirect_names_is_seen(
    place: tuple[ProxiedCluster, str], asked: str, written: str
) -> None:
    """OwnWrites: the created file, and the status of the directory that had to be made."""
    proxied_cluster, top = place
    home = f"{top}/{uuid.uuid4().hex[:8]}"
    proxied_cluster.mkdirs(home, "alice", "777")
    path = f"{home}/{unquote(written)}"
    for each in (home, path):
        proxied_cluster.make_hit(each, "alice")
    assert upload(proxied_cluster, f"{home}/{asked}").status == 201
    assert proxied_cluster.ask(path, "alice").status == 200
    assert proxied_cluster.disagreement(path, "alice") == proxied_cluster.disagreement(home, "alice") == []
    proxied_cluster.settle()  # before the next upload: too many open windows would invalidate their directory


@pytest.mark.parametrize("way", NORMALIZED)
@pytest.mark.parametrize("op", ["CREATE", "APPEND"])
def test_own_writes_both_forms_are_right(place: tuple[ProxiedCluster, str], op: str, way: str) -> None:
    """OwnWrites: either of the two files may be written. For APPEND both exist."""
    proxied_cluster, top = place
    home = f"{top}/{uuid.uuid4().hex[:8]}"
    proxied_cluster.mkdirs(home, "alice", "777")
    paths = [f"{home}/{unquote(spelled)}" for spelled in NAMES["form D"]]
    if op == "APPEND":
        for path in paths:
            proxied_cluster.put(CallTarget.NAMENODE, path, b"one", "alice")
    for path in paths:
        proxied_cluster.make_hit(path, "alice")
    assert upload(proxied_cluster, quote(paths[0]), op=op, way=way).status in {200, 201}
    assert [proxied_cluster.disagreement(path, "alice") for path in paths] == [[], []]
    proxied_cluster.settle()


def test_finished_uploads_of_rewritten_names_cost_no_hits(place: tuple[ProxiedCluster, str]) -> None:
    """HitsKept: each window ends with its CLOSE. One on a path that is not written would stay and use up the share."""
    proxied_cluster, top = place
    home = f"{top}/{uuid.uuid4().hex[:8]}"
    proxied_cluster.mkdirs(home, "alice", "777")
    hits = [f"{home}/hit-{number}" for number in range(5)]
    for number in range(2 * SHARE):
        assert (
            upload(proxied_cluster, f"{home}/cafe%CC%81-{number}", way=NORMALIZED[number % 3]).status == 201
        )
        proxied_cluster.settle()
    for path in hits:
        proxied_cluster.make_hit(path, "bob")
    assert upload(proxied_cluster, f"{home}/%EF%A4%80").status == 201
    proxied_cluster.settle()
    assert all(proxied_cluster.ask(path, "bob").is_hit for path in hits)
    assert proxied_cluster.proxy.metrics()["nncache_cache_two_step_windows"] == 0
