"""A publisher's first nameservice is new; one beside others may be mistyped, and makes a second tree."""

import pytest

from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import Create
from nncache.invalidation.publisher.identity import PublisherIdentity
from nncache.invalidation.publisher.output_stream import OutputSetup
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.publisher.zookeeper_output import ZooKeeperInotifyEventOutputStream
from tests.coordination.fake_zookeeper import FakeZooKeeper
from tests.invalidation import virtual_time
from tests.invalidation.virtual_time import clock

US = PublisherIdentity(id="1", host="a", pid=1, admin="127.0.0.1:9873")


def output(zookeeper: FakeZooKeeper, nameservice: str) -> ZooKeeperInotifyEventOutputStream:
    """Return an output of a process of its own."""
    setup = OutputSetup(
        nameservice=nameservice, publisher=PublisherSettings(), zookeeper=ZooKeeperSettings(), clock=clock
    )
    return ZooKeeperInotifyEventOutputStream(setup, zookeeper.session())


def test_a_new_nameservice_beside_others_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """It is taken all the same: it may be meant. The log lists those that there were."""

    async def story() -> None:
        zookeeper = FakeZooKeeper(clock)
        await output(zookeeper, "ns1").open(US, "BP-1")
        assert caplog.messages == []
        outsider = zookeeper.session()
        await outsider.commit([Create("/HDFSInotifyRoot/.x", b""), Create("/HDFSInotifyRoot/prod", b"BP-2")])
        await outsider.ensure("/HDFSInotifyRoot/quota")
        for _ in range(2):
            await output(zookeeper, "nsl").open(US, "BP-1")
        (line,) = caplog.messages
        assert line.startswith(
            "/HDFSInotifyRoot/nsl is new; published in /HDFSInotifyRoot before: ns1, prod. If one of these was meant"
        )

    virtual_time.run(story())
