"""The channel that says it has read everything and delivers nothing."""

from collections.abc import Iterator
from typing import Self

from nncache.demo.deaf import DeafStream
from nncache.hadoop.change import EverythingUnknown
from nncache.invalidation.stats import ChannelStats
from nncache.invalidation.stream import (
    Changes,
    ChannelSetup,
    Covered,
    Filters,
    InotifyEventInputStream,
    StreamItem,
)
from tests.invalidation.fakes import FakePool
from tests.invalidation.virtual_time import clock
from tests.setup import channel_setup

SETUP = channel_setup(FakePool(clock), clock)


class Scripted(InotifyEventInputStream):
    """A stream that yields what it is given, and notes what it is asked to do."""

    def __init__(self, setup: ChannelSetup) -> None:
        del setup
        self._items: Iterator[StreamItem] = iter(
            (Filters({"1": "/w/*"}), Changes(((7, EverythingUnknown("a test")),), 7), Covered(2.5, 7))
        )
        self.asked: list[str] = []

    @property
    def term(self) -> int:
        """A term."""
        return 3

    async def open(self) -> None:
        """Note it."""
        self.asked.append("open")

    async def close(self) -> None:
        """Note it."""
        self.asked.append("close")

    async def __anext__(self) -> StreamItem:
        """Return the next."""
        return next(self._items)

    def __aiter__(self) -> Self:
        """Return itself."""
        return self

    def request_probe(self) -> None:
        """Note it."""
        self.asked.append("request_probe")

    async def shut_down(self) -> None:
        """Note it."""
        self.asked.append("shut_down")

    def stats(self) -> ChannelStats:
        """Return figures."""
        return ChannelStats(polls=5)


async def test_it_claims_coverage_of_changes_that_it_keeps_to_itself() -> None:
    """Otherwise the gate would close and the demo's answers would be right without any invalidation."""
    heard = Scripted(SETUP)
    async with DeafStream(SETUP, heard) as stream:
        assert await anext(stream) == Filters({"1": "/w/*"})
        assert await anext(stream) == Covered(2.5, 7)


async def test_it_does_everything_else_as_the_channel_that_it_wraps() -> None:
    """The story fails for want of changes, and of nothing else."""
    heard = Scripted(SETUP)
    async with DeafStream(SETUP, heard) as stream:
        assert stream.term == 3
        stream.request_probe()
        assert stream.stats().polls == 5
    await stream.shut_down()
    assert heard.asked == ["open", "request_probe", "close", "shut_down"]
