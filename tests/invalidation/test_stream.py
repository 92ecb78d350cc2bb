"""The stream's shape, and the choice of a channel by name."""

import pytest

from nncache.invalidation.direct import DirectInotifyEventInputStream
from nncache.invalidation.settings import DIRECT
from nncache.invalidation.stats import ChannelStats
from nncache.invalidation.stream import (
    ChannelSetup,
    Covered,
    InotifyEventInputStream,
    StreamItem,
    load_stream_class,
)
from nncache.net.setting_error import SettingError
from tests.invalidation.fakes import FakePool
from tests.setup import channel_setup


class CountdownStream(InotifyEventInputStream):
    """A channel of somebody else: three coverages and no more."""

    def __init__(self, setup: ChannelSetup) -> None:
        self._left = 0

    @property
    def term(self) -> int:
        """One run is like another."""
        return 1

    async def open(self) -> None:
        """Begin."""
        self._left = 3

    async def close(self) -> None:
        """End."""
        self._left = 0

    async def __anext__(self) -> StreamItem:
        """Count down."""
        if self._left == 0:
            raise StopAsyncIteration
        self._left -= 1
        return Covered(0.0, self._left)


def test_the_built_in_channel_has_a_short_name() -> None:
    """`direct` needs no module's name."""
    assert load_stream_class(DIRECT) is DirectInotifyEventInputStream


def test_any_other_channel_is_named_by_module_and_class() -> None:
    """Channels are pluggable."""
    assert load_stream_class("tests.invalidation.test_stream:CountdownStream") is CountdownStream
    with pytest.raises(
        SettingError, match=r"^channel: kafka: must be direct, zookeeper or package\.module:Class"
    ):
        load_stream_class("kafka")


async def test_a_run_is_a_context_and_an_iterator() -> None:
    """It may be entered again; what a channel doesn't count or can't hurry is left at that."""
    stream = CountdownStream(channel_setup(FakePool(lambda: 0.0), lambda: 0.0))
    for _ in range(2):
        async with stream as run:
            assert run is stream
            run.request_probe()
            assert [item async for item in run] == [Covered(0.0, 2), Covered(0.0, 1), Covered(0.0, 0)]
    assert stream.stats() == ChannelStats()
