"""A ZooKeeper in virtual time, and the outputs of publishers over it."""

from collections.abc import Awaitable, Callable

from nncache.coordination.settings import ZooKeeperSettings
from nncache.hadoop.change import Vanished
from nncache.invalidation.channel.records import Events, Stale
from nncache.invalidation.publisher.identity import PublisherIdentity
from nncache.invalidation.publisher.output_stream import (
    FilterChange,
    OutputSetup,
    Publication,
    PublishedState,
)
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.publisher.zookeeper_output import ZooKeeperInotifyEventOutputStream
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation import virtual_time
from tests.invalidation.publisher.samples import batch, published
from tests.invalidation.virtual_time import clock

US = PublisherIdentity(id="1", host="a", pid=1, admin="127.0.0.1:9873")
POOL = "BP-1"


class Fixture:
    """A ZooKeeper, and outputs over it."""

    def __init__(self) -> None:
        self.zookeeper = FakeZooKeeper(clock)
        self.outsider = self.zookeeper.session()

    def output(self, session: FakeSession | None = None) -> ZooKeeperInotifyEventOutputStream:
        """Return an output of a process of its own."""
        setup = OutputSetup(
            nameservice="ns1",
            publisher=PublisherSettings(max_records_per_filter=4),
            zookeeper=ZooKeeperSettings(),
            clock=clock,
        )
        return ZooKeeperInotifyEventOutputStream(setup, session or self.zookeeper.session())

    async def begun(self, txid: int = 10, *names: str) -> ZooKeeperInotifyEventOutputStream:
        """Return an output that has begun after this transaction, with these filters."""
        output = self.output()
        await output.open(US, POOL)
        await output.begin(txid)
        if names:
            await output.change_filters(
                FilterChange(added=tuple(published(name, since_txid=txid) for name in names))
            )
        return output

    async def reopened(self) -> PublishedState:
        """Return what a successor finds."""
        return await self.output().open(US, POOL)


def play(story: Callable[[Fixture], Awaitable[None]]) -> None:
    """Play a story in virtual time."""

    async def in_fixture() -> None:
        await story(Fixture())

    virtual_time.run(in_fixture())


def events(txid: int, *names: str) -> Publication:
    """Return a publication of one transaction, for these filters."""
    content = Stale(((txid, Vanished("/f")),))
    return Publication(txid=txid, content=content, filters=dict.fromkeys(names, Events((batch(txid, "/f"),))))
