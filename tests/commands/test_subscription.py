"""The items that `nncache watch` reports through gaps and outages, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from nncache.commands.event_lines import EventItem, GapItem, OutageItem, WatchItem
from nncache.commands.watch import Telling
from nncache.coordination.zookeeper import DeleteOp
from nncache.errors import WatchError
from nncache.hadoop.events import Unlink
from nncache.invalidation.subscriber.events import SubscriptionStart
from nncache.invalidation.subscriber.subscription import Subscription
from tests.invalidation.channel.fake_cluster import FakeCluster, play
from tests.invalidation.channel.press import ZNODES
from tests.invalidation.virtual_time import clock


class Watcher:
    """A subscription and its reported items."""

    def __init__(self, fake_cluster: FakeCluster, name: str = "joe") -> None:
        self.reported: list[WatchItem] = []
        subscription = Subscription(fake_cluster.session, ZNODES, name, clock, None, outage_s=6.0)
        self.telling = Telling(subscription, self.reported.append)

    def news(self) -> list[WatchItem]:
        """Return the items reported since the last call."""
        news, self.reported[:] = self.reported[:], []
        return news


def watching(
    story: Callable[[FakeCluster, Watcher], Awaitable[None]],
) -> Callable[[FakeCluster], Awaitable[None]]:
    """Return the story with a subscription that runs from its start to its end."""

    async def watched(fake_cluster: FakeCluster) -> None:
        watcher = Watcher(fake_cluster)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(watcher.telling.run())
            await asyncio.sleep(0.1)
            await story(fake_cluster, watcher)
            running.cancel()

    return watched


def unlinked(txid: int, path: str) -> EventItem:
    """Return the report of a deleted path."""
    return EventItem(txid, Unlink(path))


def test_gaps_in_a_row_are_left_behind() -> None:
    """When records expire too fast to be read, it resumes at the present and reports the skipped transactions."""

    async def story(fake_cluster: FakeCluster, watcher: Watcher) -> None:
        watcher.news()
        fake_cluster.server.latency_s = 0.02
        for _ in range(300):
            fake_cluster.unlink("/joe/a")
            await asyncio.sleep(0.005)
        fake_cluster.server.latency_s = 0.002
        await asyncio.sleep(3)
        news = watcher.news()
        covered = [10]
        for reported in news:
            match reported:
                case GapItem(_, first, last) if first is not None and last is not None:
                    assert first == covered[-1] + 1
                    covered.append(last)
                case SubscriptionStart(txid):
                    assert txid == covered[-1]
                case EventItem(txid):
                    assert txid == covered[-1] + 1
                    covered.append(txid)
        assert covered[-1] == 310
        assert len([reported for reported in news if isinstance(reported, GapItem)]) < 40
        fake_cluster.unlink("/joe/b")
        await asyncio.sleep(0.1)
        assert watcher.news() == [unlinked(311, "/joe/b")]

    play(watching(story))


def test_a_filter_made_anew_goes_on_behind_what_is_missing() -> None:
    """GapFlush: two gaps report the lost transactions, and the later events follow."""

    async def story(fake_cluster: FakeCluster, watcher: Watcher) -> None:
        watcher.news()
        fake_cluster.server.disconnect()
        fake_cluster.press.change_filters({})
        fake_cluster.unlink("/joe/a")
        fake_cluster.press.change_filters({"joe": "/joe/*"})
        fake_cluster.unlink("/joe/b")
        fake_cluster.server.connect()
        await asyncio.sleep(3)
        reported = watcher.news()
        assert [type(item) for item in reported] == [GapItem, GapItem, SubscriptionStart, EventItem]
        assert reported[1:3] == [
            GapItem("filter joe is matched from transaction 12 on only", 11, 11),
            SubscriptionStart(11),
        ]

    play(watching(story))


def test_an_outage_is_reported_once_and_so_is_its_end() -> None:
    """Its length does not matter, and no event is missing after it."""

    async def story(fake_cluster: FakeCluster, watcher: Watcher) -> None:
        watcher.news()
        fake_cluster.server.disconnect()
        await asyncio.sleep(100)
        fake_cluster.unlink("/joe/a")
        fake_cluster.server.connect()
        await asyncio.sleep(3)
        reported = watcher.news()
        assert isinstance(reported[0], OutageItem)
        assert reported[1:] == [SubscriptionStart(10), unlinked(11, "/joe/a")]

    play(watching(story))


def test_a_publisher_away_is_reported_once_and_so_is_its_return() -> None:
    """An outage of ZooKeeper during that time adds no report."""

    async def story(fake_cluster: FakeCluster, watcher: Watcher) -> None:
        watcher.news()
        fake_cluster.press.vanish()
        await asyncio.sleep(30)
        fake_cluster.server.disconnect()
        await asyncio.sleep(30)
        fake_cluster.server.connect()
        await asyncio.sleep(30)
        assert watcher.news() == [OutageItem("no publisher has been there for 10 s")]
        fake_cluster.press.appear()
        await asyncio.sleep(0.1)
        assert watcher.news() == [SubscriptionStart(10)]
        fake_cluster.unlink("/joe/a")
        await asyncio.sleep(0.1)
        assert watcher.news() == [unlinked(11, "/joe/a")]

    play(watching(story))


def test_a_wiped_zookeeper_is_waited_for() -> None:
    """It waits for a publisher to fill it again. The events of that time are a gap."""

    async def story(fake_cluster: FakeCluster, watcher: Watcher) -> None:
        watcher.news()
        fake_cluster.server.wipe()
        await asyncio.sleep(30)
        gap, away = watcher.news()
        assert isinstance(gap, GapItem)
        assert isinstance(away, OutageItem)
        fake_cluster.namenode.unlink("/joe/lost")
        fake_cluster.press.begin()
        await asyncio.sleep(3)
        assert watcher.news() == [
            GapItem("filter joe is matched from transaction 12 on only", 11, 11),
            SubscriptionStart(11),
        ]

    play(watching(story))


@pytest.mark.parametrize("name", ["ann", "../x"])
def test_an_unknown_filter_ends_it_with_the_names_there_are(name: str) -> None:
    """The message lists the valid names for a mistyped one."""

    async def story(fake_cluster: FakeCluster) -> None:
        with pytest.raises(WatchError, match=r"there is no filter .*; there are: joe$"):
            await Watcher(fake_cluster, name).telling.run()

    play(story)


def test_a_filter_that_is_removed_ends_it() -> None:
    """The gap is reported before the error."""

    async def story(fake_cluster: FakeCluster) -> None:
        watcher = Watcher(fake_cluster)
        asyncio.get_running_loop().call_later(1, fake_cluster.press.change_filters, {"ann": "/ann/*"})
        with pytest.raises(WatchError, match=r"there are: ann$"):
            await watcher.telling.run()
        assert [type(reported) for reported in watcher.reported] == [SubscriptionStart, GapItem]

    play(story)


def test_what_is_away_at_the_beginning_is_an_error() -> None:
    """No ZooKeeper, no publisher, no permission: the user at the terminal sees the error immediately."""

    async def story(fake_cluster: FakeCluster) -> None:
        fake_cluster.server.tree.forbidden.add(ZNODES.definition("joe"))
        with pytest.raises(WatchError, match="ACL"):
            await Watcher(fake_cluster).telling.run()
        fake_cluster.press.commit(DeleteOp(ZNODES.stream("joe")))
        fake_cluster.server.wipe()
        with pytest.raises(WatchError, match="is a publisher running"):
            await Watcher(fake_cluster).telling.run()
        fake_cluster.server.disconnect()
        with pytest.raises(WatchError, match="is --zookeeper right"):
            await Watcher(fake_cluster).telling.run()

    play(story)
