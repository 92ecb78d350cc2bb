"""Clients that keep asking with their credentials during a fault."""

import http.client
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from nncache.cache.settings import CacheSettings
from nncache.testbed import Cluster
from nncache.testbed.asker import RawReply
from tests.auth_methods import AuthMethod
from tests.cluster import make_directory, webhdfs
from tests.patience import HANG_S, SLACK_S
from tests.real.pollers import Pollers
from tests.real.proxied_cluster import CallTarget, ProxiedCluster
from tests.real.stand import Channel, proxied
from tests.secured.auth_methods import Cookies

AGAIN_S: Final = 5.0
"""Answers come from memory again within this many seconds after a fault ends."""

GLOBS: Final = ("/t/*", "/t/*/*", "/t/*/*/*")
_PERIOD_S: Final = 0.05  # of each of the many clients
_REFUSED: Final = (http.client.UNAUTHORIZED, http.client.FORBIDDEN)


def private_place(cluster: Cluster) -> str:
    """Return a directory `d` in one that only alice and bob may enter. The first NameNode is active."""
    above = f"/t/{uuid.uuid4().hex[:12]}"
    make_directory(cluster, "/t")
    make_directory(cluster, above, permission="750")
    make_directory(cluster, f"{above}/d", permission="755")
    assert webhdfs(cluster, "PUT", above, "SETOWNER", owner="alice", group="users")[0] == http.client.OK
    return f"{above}/d"


def above(path: str) -> str:
    """Return the parent directory of a path."""
    return path.rpartition("/")[0]


@contextmanager
def on_both_channels(
    cluster: Cluster, *, grant_ttl_s: float = CacheSettings().grant_ttl_s
) -> Iterator[tuple[ProxiedCluster, ...]]:
    """Run a proxy on each channel in front of the cluster; their clients ask with cookies."""
    with ExitStack() as close:
        worlds = (
            proxied(cluster, *GLOBS, channel=channel, way=Cookies(cluster), grant_ttl_s=grant_ttl_s)
            for channel in Channel
        )
        yield tuple(close.enter_context(proxied_cluster) for proxied_cluster in worlds)


@dataclass(frozen=True, slots=True)
class Watch:
    """The replies to alice and bob, and to carol and the impostors of each method."""

    rightful: tuple[Pollers, ...]
    others: tuple[Pollers, ...]

    def await_hits(self) -> None:
        """Wait until each poller of alice and bob has a hit on a read that begins now."""
        now = time.monotonic()
        for each in self.rightful:
            each.await_hits(after=now, timeout_s=HANG_S)

    def replies(self) -> list[RawReply]:
        """Return all replies to alice and bob, each poller's in order."""
        return [reply for each in self.rightful for seen in each.seen.values() for reply in seen]

    def wrong(self, *bodies: bytes) -> list[RawReply]:
        """Return the replies to alice and bob that are neither these bodies nor a 5xx."""
        return [
            each
            for each in self.replies()
            if each.status < 500 and (each.status != http.client.OK or each.body not in bodies)
        ]

    def given_away(self) -> list[RawReply]:
        """Return the replies to unauthorized clients that are hits, or neither refusals nor a 5xx."""
        replies = [reply for each in self.others for seen in each.seen.values() for reply in seen]
        assert replies, "they have not asked"
        return [
            each for each in replies if each.is_hit or (each.status < 500 and each.status not in _REFUSED)
        ]


@contextmanager
def watched(worlds: Iterable[ProxiedCluster], ways: Iterable[AuthMethod], path: str) -> Iterator[Watch]:
    """Run clients that poll the status of a path through all proxies with each method; each has had a hit."""
    with ExitStack() as close:
        rightful: list[Pollers] = []
        others: list[Pollers] = []
        ways = tuple(ways)
        for proxied_cluster in worlds:
            for way in ways:
                for users, pollers in ((("alice", "bob"), rightful), (("carol", *way.impostors), others)):
                    asked = [(path, user) for user in users]
                    made = Pollers(proxied_cluster.proxy.address, asked, period_s=_PERIOD_S, way=way)
                    pollers.append(close.enter_context(made))
        watch = Watch(tuple(rightful), tuple(others))
        watch.await_hits()
        yield watch


def see_hits_again(worlds: Sequence[ProxiedCluster], path: str, *, since: float) -> None:
    """Assert that all proxies learn of a new directory below `path` and answer it from memory.

    A hit alone would prove nothing: the gate stays open for max_staleness after the last read of changes.

    Raises:
        AssertionError: it took too long, even for a busy machine.
    """
    made = f"{path}/{uuid.uuid4().hex[:12]}"
    worlds[0].do(CallTarget.NAMENODE, "PUT", "MKDIRS", made)
    for proxied_cluster in worlds:
        proxied_cluster.settle()
    again_s = max(proxied_cluster.make_hit(made, "alice").ended_at for proxied_cluster in worlds) - since
    print(f"hits again after {again_s:.2f} s, of {AGAIN_S:g}")  # noqa: T201 - the figure, with -s
    assert again_s <= AGAIN_S + SLACK_S
