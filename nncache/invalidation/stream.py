"""The stream of HDFS events that a cache or any application follows.

A channel is a class with this shape, named in the settings. The counterpart in Hadoop is
org.apache.hadoop.hdfs.DFSInotifyEventInputStream, which needs Java, superuser rights and up to a minute.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from nncache.coordination.login import ZooKeeperLogin
from nncache.coordination.settings import ZooKeeperSettings
from nncache.hadoop.change import Change
from nncache.hadoop.events import EventBatch
from nncache.invalidation.edits_source import EditsSource
from nncache.invalidation.namenodes import NameNodes
from nncache.invalidation.settings import (
    DIRECT,
    FEED,
    ZOOKEEPER,
    ChannelSettings,
    FeedSettings,
    PollingSettings,
    load_class,
)
from nncache.invalidation.stats import ChannelStats


@dataclass(frozen=True, slots=True)
class TransactionEvents:
    """The events of the next transaction that has any."""

    batch: EventBatch


@dataclass(frozen=True, slots=True)
class CoveredThrough:
    """Everything acknowledged to any client before `as_of` has been yielded (guarantee Bounded)."""

    as_of: float  # seconds of the stream's clock
    txid: int  # the last transaction read
    seen_as_of: float | None = (
        None  # everything that a client could see before has been yielded; None: as of `as_of`
    )


@dataclass(frozen=True, slots=True)
class FiltersInForce:
    """The filters in force from here on, for a channel that does not take them from the cache's own settings.

    Data kept for a filter whose id is no longer among them may have missed changes.
    """

    globs: Mapping[str, str]  # by the id of the filter: one that is removed and added again gets another


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """The changes of the next transactions, as far as they concern the filters in force."""

    changes: tuple[tuple[int, Change], ...]  # each with its transaction id, in order
    through_txid: int  # every transaction up to this one is in these changes or in earlier ones


StreamItem = FiltersInForce | TransactionEvents | ChangeBatch | CoveredThrough


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSetup:
    """The argument of a channel's constructor; each channel uses what it needs."""

    namenodes: NameNodes
    nameservice: str
    channel: ChannelSettings
    polling: PollingSettings
    zookeeper: ZooKeeperSettings
    clock: Callable[[], float]
    login: ZooKeeperLogin | None = None  # at ZooKeeper
    feed: FeedSettings = field(default_factory=FeedSettings)
    edits: EditsSource | None = None  # of the direct channel; None: the NameNode is polled


class InotifyEventInputStream(ABC, AsyncIterator[StreamItem]):
    """The changes of one nameservice, in order, each once.

    Entering it begins a run at the present end of the edits; leaving it ends that run; it may be entered again.
    A run is continuous. It survives lost connections if nothing was missed, and yields nothing in the meantime. It ends
    with MissingEventsError if something may have been missed.

    Invariants:
        S1  Every change acknowledged after `async with` was entered is yielded in that run, or the run ends
            with an error. Earlier changes need not be yielded: data read before the run cannot be kept.
        S2  Covered(as_of) comes only after everything acknowledged before `as_of` (since the beginning of the
            run) was yielded, by the one incarnation of a NameNode that was active until then.
        S3  `__anext__` may be cancelled and called again: nothing is skipped or yielded twice.

    Every channel is constructed as `Channel(setup)`.
    """

    @abstractmethod
    def __init__(self, setup: ChannelSetup) -> None: ...

    @property
    @abstractmethod
    def term(self) -> int:
        """The term of the active NameNode whose changes this run yields."""

    @abstractmethod
    async def open(self) -> None:
        """Begin a run: find the position, read once.

        Raises:
            ChannelUnavailableError: this is not possible now.
            NotPermittedError: this user may not do it.
            MissingEventsError: the active NameNode changed in between.
        """

    @abstractmethod
    async def close(self) -> None:
        """End the run, if there is one."""

    @abstractmethod
    async def __anext__(self) -> StreamItem:
        """Return the next item; wait without a time limit.

        Raises:
            MissingEventsError: continuity is lost; close and open again, after forgetting everything.
            NotPermittedError: the right to read the edits was taken away.
        """

    def request_probe(self) -> None:
        """Request the next Covered soon; a channel that cannot do this ignores it."""
        return

    async def shut_down(self) -> None:
        """Release what outlasts the runs, such as a session with ZooKeeper; no run follows."""
        return

    def stats(self) -> ChannelStats:
        """Return the channel's figures over all runs."""
        return ChannelStats()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


_BUILT_IN = {
    DIRECT: "nncache.invalidation.edits.direct:DirectInotifyEventInputStream",
    FEED: "nncache.invalidation.feed.stream:FeedInotifyEventInputStream",
    ZOOKEEPER: "nncache.invalidation.follower.stream:ZooKeeperInotifyEventInputStream",
}


def load_stream_class(name: str) -> type[InotifyEventInputStream]:
    """Return the channel of this name: a built-in one, or `package.module:Class`.

    Raises:
        SettingError: there is no such class, or it is not an InotifyEventInputStream.
    """
    return load_class("channel", name, _BUILT_IN, InotifyEventInputStream)  # type: ignore[type-abstract]  # for issubclass alone
