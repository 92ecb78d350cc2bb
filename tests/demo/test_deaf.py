"""The channel that says it has read everything and delivers nothing."""

from demo.deaf import DeafStream
from invalidation.stream import Covered
from tests.invalidation import virtual_time
from tests.invalidation.fakes import FakeNameNode, FakePool
from tests.invalidation.virtual_time import clock
from tests.setup import channel_setup


def test_it_claims_coverage_of_changes_that_it_keeps_to_itself() -> None:
    """Otherwise the gate would close and the demo's answers would be right without any invalidation."""
    namenode = FakeNameNode()

    async def story() -> None:
        async with DeafStream(channel_setup(FakePool(clock, namenode), clock)) as stream:
            assert stream.term == 1
            txid = namenode.unlink("/w/f")
            written_at = clock()
            item = await anext(stream)
            while item.as_of < written_at:
                item = await anext(stream)
            assert isinstance(item, Covered)
            assert item.txid == txid
            stream.request_probe()
            assert stream.stats().polls_found == 1

    virtual_time.run(story())
