"""A real cluster behind a real proxy, and three users: the setting of the stories.

The superuser may read everything and so proves nothing; the stories are about alice, bob and carol.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from nncache.hadoop.jmx import JOURNAL_QUERY, parse_last_txid
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker, RawReply
from nncache.testbed.daemon import ProxyDaemon, PublisherDaemon
from tests.auth_methods import USER_NAME, AuthMethod
from tests.patience import HANG_S
from tests.real.datanode import led_to
from tests.service import InotifyService

USERS: Final = ("alice", "bob", "carol")
MAX_STALENESS_S: Final = 3.0  # the proxy's default

# Fields that may differ between a reply from memory and the NameNode's own, see the guarantee Verbatim.
_OWN_TO_EACH: Final = frozenset(
    {
        "age",
        "cache-status",
        "connection",
        "content-length",
        "date",
        "expires",
        "keep-alive",
        "set-cookie",
        "transfer-encoding",
    }
)


class CallTarget(Enum):
    """The server to which a call is sent."""

    PROXY = "through the proxy"
    NAMENODE = "behind the proxy's back"


def differences(seen: RawReply, expected: RawReply) -> list[str]:
    """Return the differences between two replies that the guarantee Verbatim forbids."""
    found = []
    if seen.status != expected.status:
        found.append(f"status {seen.status} instead of {expected.status}")
    if seen.body != expected.body:
        found.append(f"body {seen.body!r} instead of {expected.body!r}")
    if (ours := _comparable(seen)) != (theirs := _comparable(expected)):
        found.append(f"headers {ours} instead of {theirs}")
    return found


def _comparable(reply: RawReply) -> list[tuple[str, str]]:
    return sorted(
        (name.lower(), _without_token(name, value))
        for name, value in reply.headers
        if name.lower() not in _OWN_TO_EACH
    )


def _without_token(name: str, value: str) -> str:
    """Return the value, without the token that answers one client's own ticket (RFC 4559, section 4.2)."""
    scheme, blank, _ = value.partition(" ")
    is_own = name.lower() == "www-authenticate" and scheme == "Negotiate"
    return scheme + blank if is_own else value


def was_forwarded(reply: RawReply) -> bool:
    """Return whether the proxy got this reply from the NameNode for this very request."""
    how = reply.header("Cache-Status")
    return "fwd=" in how and "collapsed" not in how


@dataclass(frozen=True, slots=True)
class RequestsSeen:
    """The time until a change was visible: from its acknowledgement to the start of the first correct read."""

    path: str
    user: str
    seconds: float
    was_hit: bool  # was a hit less than a second before the change


@dataclass
class ProxiedCluster:
    """A cluster, a proxy, and a connection to each.

    `way` is the authentication method of all requests.
    """

    cluster: Cluster
    proxy: ProxyDaemon
    publisher: PublisherDaemon | None = None
    service: InotifyService | None = None
    way: AuthMethod = USER_NAME
    through: Asker = field(init=False)
    direct: Asker = field(init=False)

    def __post_init__(self) -> None:
        self.through = Asker(self.proxy.address)
        self.direct = Asker(self.cluster.namenodes[0].http)

    def close(self) -> None:
        """Close the connections. The caller stops cluster and proxy."""
        self.through.close()
        self.direct.close()

    # -- reads

    def ask(self, path: str, user: str) -> RawReply:
        """Return the proxy's reply to GETFILESTATUS."""
        return self._status(self.through, path, user)

    def truth(self, path: str, user: str) -> RawReply:
        """Return the NameNode's reply to GETFILESTATUS."""
        return self._status(self.direct, path, user)

    def _status(self, asker: Asker, path: str, user: str) -> RawReply:
        signature = self.way.of(user)
        return asker.ask("GET", signature.target(path), headers=signature.headers)

    def disagreement(self, path: str, user: str) -> list[str]:
        """Ask the proxy, then the NameNode; return the differences.

        A forwarded reply is the NameNode's own. If it differs, the truth may have changed in between (the last block of
        a truncated file is recovered later), so both are asked again.
        """
        wrong: list[str] = []
        for _ in range(3):
            seen = self.ask(path, user)
            wrong = differences(seen, self.truth(path, user))
            if not wrong or not was_forwarded(seen):
                break
        return wrong

    def make_hit(self, path: str, user: str) -> RawReply:
        """Ask until the proxy has a hit that equals the NameNode's reply; return it.

        The truth may have changed by itself just before (the last block of a truncated file is recovered later, a
        directory was made for this test), so a hit may be stale as long as the guarantee Bounded allows.

        Raises:
            AssertionError: there is no hit, or it stays wrong.
        """
        began = time.monotonic()
        first_wrong: float | None = None
        while True:
            reply = self.ask(path, user)
            wrong = differences(reply, self.truth(path, user)) if reply.is_hit else ["it is no hit"]
            if not wrong:
                return reply
            if reply.is_hit:
                first_wrong = first_wrong or reply.started_at
                assert reply.started_at - first_wrong <= MAX_STALENESS_S, wrong
            assert reply.started_at - began < HANG_S, f"{path} for {user}: {wrong}: {reply}"

    def settle(self) -> None:
        """Wait until the proxy has applied all transactions that the NameNode has acknowledged so far."""
        asked = next(each for each in self.cluster.namenodes if each.http == self.direct.address)
        headers = asked.access.headers(self.cluster.superuser)
        last = parse_last_txid(self.direct.ask("GET", JOURNAL_QUERY, headers=headers).body)
        self.proxy.process.await_that(
            lambda: self.proxy.metrics()["nncache_cache_covered_txid"] >= last, f"has not applied {last}"
        )

    def await_agreement(self, path: str, user: str, *, since: float, was_hit: bool = False) -> RequestsSeen:
        """Ask until the proxy's reply equals the NameNode's; return how long that took.

        Raises:
            AssertionError: it took longer than the guarantee Bounded allows.
        """
        while True:
            seen = self.ask(path, user)
            wrong = differences(seen, self.truth(path, user))
            if not wrong:
                return RequestsSeen(path, user, seen.started_at - since, was_hit)
            age = seen.started_at - since
            assert age <= MAX_STALENESS_S, f"{path} for {user}, {age:.3f} s after the change: {wrong}"

    # -- writes

    def call(
        self, where: CallTarget, method: str, op: str, path: str, user: str | None = None, **parameters: str
    ) -> RawReply:
        """Make a call of one step as `user` (None: the superuser)."""
        asker = self.through if where is CallTarget.PROXY else self.direct
        query = "".join(f"&{name}={quote(value, safe='/:,')}" for name, value in parameters.items())
        signature = self.way.of(user or self.cluster.superuser)
        return asker.ask(method, signature.target(path, op) + query, headers=signature.headers)

    def do(
        self, where: CallTarget, method: str, op: str, path: str, user: str | None = None, **parameters: str
    ) -> RawReply:
        """Make a call of one step, which must succeed."""
        return self.must(self.call(where, method, op, path, user, **parameters))

    def write(
        self,
        where: CallTarget,
        path: str,
        data: bytes = b"",
        user: str | None = None,
        *,
        op: str = "CREATE",
        between: Callable[[], None] | None = None,
        parameters: Mapping[str, str] = MappingProxyType({}),
        is_redirected: bool = False,
    ) -> RawReply:
        """Create or append to a file in two steps, the second at the DataNode; return the last reply.

        `between` is called after the redirect, before the second step. With `is_redirected` the Location is followed,
        not the URL in the JSON, which may have the path in another form.
        """
        method, how = "POST" if op == "APPEND" else "PUT", {} if is_redirected else {"noredirect": "true"}
        first = self.call(where, method, op, path, user, **how, **parameters)
        if first.status not in {200, 307}:
            return first
        if between is not None:
            between()
        address, _, target = led_to(first).removeprefix("http://").partition("/")
        with Asker(address) as datanode:
            return datanode.ask(method, "/" + target, body=data)

    def put(self, where: CallTarget, path: str, data: bytes = b"", user: str | None = None) -> RawReply:
        """Create a file, which must succeed."""
        return self.must(self.write(where, path, data, user))

    def must(self, reply: RawReply) -> RawReply:
        """Return the reply of a call that must succeed.

        Raises:
            AssertionError: the call was refused.
        """
        assert reply.status < 300, f"{reply.status} {reply.body!r}"
        return reply

    def mkdirs(self, path: str, owner: str | None = None, permission: str = "755") -> None:
        """Make a directory and its missing parents directly at the NameNode, as their owner."""
        self.do(CallTarget.NAMENODE, "PUT", "MKDIRS", path, owner)
        self.do(CallTarget.NAMENODE, "PUT", "SETPERMISSION", path, owner, permission=permission)
