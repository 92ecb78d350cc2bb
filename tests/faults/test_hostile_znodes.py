"""Foreign znodes below the service's znodes, beside a live publisher and proxy, cost only themselves."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

import psutil
import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.security import make_digest_acl

from tests.faults.outage import is_never_wrong
from tests.real.beside import beside
from tests.real.proxied_cluster import ProxiedCluster
from tests.service import NAMESERVICE

pytestmark = pytest.mark.timeout(600)

FOREIGN = 20_000
"""Number of znodes whose names the channel does not use."""

PLANTED = 2_000
"""Number of znodes in the place of definitions; each of them has to be read."""

AT_ONCE = 1_000
"""Operations per transaction."""

MORE_BYTES = 150 << 20
"""How much the memory of a process may grow during the test."""

LARGE = b" " * 900_000


def kinds(definition: bytes) -> dict[str, bytes]:
    """Return invalid contents of definitions, by znode name."""
    whole = json.loads(definition)
    return {
        "random": bytes(range(256)),
        "truncated": definition[:-7],
        "empty": b"",
        "other-version": json.dumps(whole | {"id": "x0", "version": 2}).encode(),
        "wrong-types": json.dumps(whole | {"since": "yesterday"}).encode(),
        "nested": b"[" * 100_000,
        "long-glob": json.dumps(whole | {"id": "x1", "pathGlob": "/" + "*a" * 200_000}).encode(),
        "many-globs": json.dumps(whole | {"id": "x2", "pathGlob": "/" + "{a,b}" * 1_000}).encode(),
        **{f"large-{number}": LARGE for number in range(20)},
    }


@contextmanager
def hand(address: str) -> Iterator[KazooClient]:
    """Return a ZooKeeper client outside the service."""
    client = KazooClient(address, timeout=60.0)
    client.start(timeout=60)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def create_all(client: KazooClient, paths: list[str], data: bytes) -> None:
    """Create many znodes."""
    for start in range(0, len(paths), AT_ONCE):
        transaction = client.transaction()
        for path in paths[start : start + AT_ONCE]:
            transaction.create(path, data)
        assert not [each for each in transaction.commit() if isinstance(each, Exception)]


def blink(client: KazooClient, path: str, ending: threading.Event) -> None:
    """Create and delete a znode repeatedly: a client that lists it may find it missing."""
    while not ending.is_set():
        client.create(path, b"?")
        with suppress(NoNodeError):  # the publisher was faster
            client.delete(path)


def resident(pid: int | None) -> int:
    """Return the resident memory of a process, in bytes."""
    found: int = psutil.Process(pid).memory_info().rss
    return found


def test_hostile_znodes_cost_only_themselves(two_filters: ProxiedCluster, hdfs_directory: str) -> None:
    """No stale answer, no crash, bounded memory; znodes are counted, and deleted from the place of definitions."""
    assert two_filters.service is not None
    assert two_filters.publisher is not None
    service, paths = two_filters.service, [f"{hdfs_directory}/{name}/f" for name in "ab"]
    top = f"{service.root}/{NAMESERVICE}"
    is_never_wrong(two_filters, *paths)
    pids = [two_filters.proxy.process.pid, two_filters.publisher.process.pid]
    before = [resident(pid) for pid in pids]
    with hand(service.zookeeper) as client:
        planted = kinds(client.get(f"{top}/.filters/f0")[0])
        for name, data in planted.items():
            client.create(f"{top}/.filters/{name}", data)
        hidden = [make_digest_acl("else", "secret", all=True)]
        client.add_auth("digest", "else:secret")
        for name in ("hidden", "stuck"):
            client.create(f"{top}/.filters/{name}", b"?", acl=hidden)
        client.create(f"{top}/.filters/stuck/below", b"")  # only its creator may delete it and its parent
        create_all(client, [f"{top}/.filters/p{number}" for number in range(PLANTED)], b"{}")
        create_all(client, [f"{top}/-{number}" for number in range(FOREIGN)], b"")
        for name in (".cache/notes", ".cache/007", ".cache/1e9", "f0/notes", "f0/-1", ".filters/-odd"):
            client.create(f"{top}/{name}", b"\x00\xff")
        with beside(partial(blink, client, f"{top}/.filters/blink")):
            service.add("f2", f"{hdfs_directory}/c/*")  # the proxy reads all definitions again
            is_never_wrong(two_filters, *paths)
            service.remove("f2")
            is_never_wrong(two_filters, *paths)
        assert two_filters.proxy.metrics()["nncache_channel_corrupt_znodes_total"] >= len(planted)
        assert two_filters.proxy.metrics()["nncache_channel_foreign_znodes_total"] >= 1
        while set(client.get_children(f"{top}/.filters")) != {"f0", "f1", "-odd", "stuck"}:
            time.sleep(0.2)  # the publisher checks twice a minute; the test's own timeout ends a hang
    is_never_wrong(two_filters, *paths)
    assert [two_filters.proxy.process.pid, two_filters.publisher.process.pid] == pids
    grown = [resident(pid) - earlier for pid, earlier in zip(pids, before, strict=True)]
    print(f"grown by {[each >> 20 for each in grown]} MiB")  # noqa: T201 - figures for the report
    assert max(grown) < MORE_BYTES
