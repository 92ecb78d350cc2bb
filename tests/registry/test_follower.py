"""Waiting clients learn which entries changed, on a real ZooKeeper."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from nncache.coordination.acl import Acl, ZnodeAclEntry, ZnodePerms
from nncache.coordination.session import KazooSession
from nncache.coordination.zookeeper import CreateOp
from nncache.proxy.errors import RegistryUnavailableError
from nncache.registry.access import AccessPolicy
from nncache.registry.follower import RegistryFollower
from nncache.registry.operations import Registry
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.coordination.simulations import connected, expire
from tests.patience import HANG_S
from tests.registry.flat_session import FlatSession
from tests.registry.samples import WEBHDFS


@dataclass
class Fixture:
    """A follower of a registry, and its reports."""

    registry: Registry
    session: KazooSession | None
    reported: list[tuple[str | None, int]] = field(default_factory=list)  # and the number of followed entries
    gaps_reported: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        """Create the follower."""
        self.follower = RegistryFollower(lambda: self.session, self.registry.root)

    def invalidated(self, path: str | None) -> None:
        """Record a report."""
        self.reported.append((path, self.follower.followed))
        if path is None:
            self.gaps_reported = self.follower.gaps
        self.news.set()

    async def until(self, path: str | None, followed: int | None = None) -> None:
        """Wait for this report, with this number of followed entries, and discard all reports so far."""
        async with asyncio.timeout(HANG_S):
            while not any(
                reported == path and followed in {None, count} for reported, count in self.reported
            ):
                self.news.clear()
                await self.news.wait()
        self.reported.clear()

    async def until_gap(self) -> None:
        """Wait until everything is reported after a gap."""
        async with asyncio.timeout(HANG_S):
            while not self.gaps_reported:
                self.news.clear()
                await self.news.wait()
        self.reported.clear()


@asynccontextmanager
async def fixture(server: ZooKeeperServer) -> AsyncIterator[Fixture]:
    """Yield one that does not run."""
    async with connected(server.address) as session:
        registry = Registry(session, f"/registry-{uuid.uuid4().hex[:12]}", AccessPolicy())
        await registry.make_root()
        yield Fixture(registry, session)


@asynccontextmanager
async def following(server: ZooKeeperServer) -> AsyncIterator[Fixture]:
    """Yield one that runs and has reported all existing entries."""
    async with fixture(server) as made, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(made.follower.run(made.invalidated))
        await made.until(None)
        yield made
        running.cancel()


async def test_each_change_is_reported(zookeeper_server: ZooKeeperServer) -> None:
    """Existing entries are reported once, as one report of everything; the number of entries is visible."""
    async with following(zookeeper_server) as s:
        assert s.follower.followed == 3
        await s.registry.bind("/services/a", WEBHDFS)
        await s.until("/services/a")
        await s.registry.bind("/services/a", replace(WEBHDFS, description="b"), overwrite=True)
        await s.until("/services/a")
        assert s.follower.followed == 4
        await s.registry.delete("/services/a")
        await s.until("/services/a", followed=3)  # an entry may be reported more often than it changes
        assert (s.follower.followed, s.follower.gaps) == (3, 0)
    assert s.follower.followed == 0


async def test_after_a_gap_all_is_reported(zookeeper_server: ZooKeeperServer) -> None:
    """The report comes after everything was read again."""
    async with following(zookeeper_server) as s:
        assert s.session is not None
        await expire(zookeeper_server.address, s.session)
        await s.until_gap()
        await s.registry.mknode("/services/b")
        await s.until("/services/b")


async def test_a_loss_is_reported_before_the_next_connection(zookeeper_server: ZooKeeperServer) -> None:
    """Waiting clients must learn of it."""
    async with following(zookeeper_server) as s:
        zookeeper_server.process.kill()
        try:
            await s.until(None)
            assert s.follower.gaps == 0
        finally:
            await asyncio.to_thread(zookeeper_server.process.start)
        await s.until_gap()


async def test_what_cannot_be_followed_is_an_error(zookeeper_server: ZooKeeperServer) -> None:
    """There is no connection yet, it is replaced, or an ACL denies reading."""
    async with fixture(zookeeper_server) as s, asyncio.timeout(HANG_S):
        session, s.session = s.session, None
        with pytest.raises(RegistryUnavailableError, match="not connected"):
            await s.follower.run(s.invalidated)
        s.session = session
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(ended(s))
            await s.until(None)
            s.session = None
            assert "another one" in await running
        s.session = session
        await s.registry.zookeeper.set_acl(s.registry.root, ONLY_TO_ADMINISTER, 0)
        assert "cannot be followed" in await ended(s)


ONLY_TO_ADMINISTER = Acl((ZnodeAclEntry("world", "anyone", ZnodePerms.ADMIN),))


async def test_an_entry_that_may_not_be_read_costs_no_other(zookeeper_server: ZooKeeperServer) -> None:
    """All other entries are followed."""
    async with fixture(zookeeper_server) as s, asyncio.TaskGroup() as tasks:
        secret = s.registry.znode("/users/bob")
        await s.registry.zookeeper.commit([CreateOp(secret, b"", acl=ONLY_TO_ADMINISTER)])
        running = tasks.create_task(s.follower.run(s.invalidated))
        await s.until(None)
        await s.registry.delete("/users/bob")
        await s.registry.mknode("/users/joe")
        await s.until("/users/joe")  # the list has been read without it
        await s.registry.mknode("/users/bob")
        await s.until("/users/bob")
        running.cancel()


async def test_to_follow_again_leaves_no_watcher_behind() -> None:
    """Following starts whenever a client waits, for years, and kazoo keeps each watcher until its watch fires."""
    session: Any = FlatSession("/r/users", "/r/users/joe", "/r/services")
    follower = RegistryFollower(lambda: session, "/r")
    read = asyncio.Event()
    for _ in range(2):
        read.clear()
        async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
            running = tasks.create_task(follower.run(lambda _: read.set()))
            await read.wait()
            assert (follower.followed, session.watchers) == (4, 8)
            running.cancel()
        assert follower.followed == 0


async def ended(s: Fixture) -> str:
    """Return the reason for a follower's end."""
    try:
        await s.follower.run(s.invalidated)
    except RegistryUnavailableError as error:
        return str(error)
