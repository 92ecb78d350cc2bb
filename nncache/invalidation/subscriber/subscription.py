"""Follow a filter across gaps and outages: one stream after the other."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, Self

from nncache.coordination.errors import ConnectionLostError, NotAllowedError
from nncache.coordination.zookeeper import ZooKeeper
from nncache.invalidation.backoff import Backoff
from nncache.invalidation.channel.znodes import ZnodePaths
from nncache.invalidation.errors import (
    ChannelOutageError,
    ChannelUnavailableError,
    MissingEventsError,
    PublisherAwayError,
)
from nncache.invalidation.subscriber.events import (
    FilterInotifyEventInputStream,
    ReceivedEvents,
    SubscriptionItem,
    SubscriptionStart,
)

LOOK_S: Final = 1.0
"""Seconds between two checks whether the publisher is back, notified or not."""

GAPS_IN_A_ROW: Final = 2
"""After more gaps than this without an event in between, it continues from now. A recreated filter brings two."""


class Subscription(AsyncIterator[SubscriptionItem]):
    """The events of one filter, in order, each once, while its user requests them.

    An error that ends a stream is raised unchanged, and the next call continues where that stream ended: immediately
    after a gap, else when the publisher is back, or after a pause. Directly after a gap another one is likely while
    records come and go quickly: after a few gaps it continues from now instead, and that is a gap, too.

    Each stream begins with its Position. `__anext__` may be cancelled and called again: nothing is skipped.
    """

    def __init__(
        self,
        zookeeper: ZooKeeper,
        znodes: ZnodePaths,
        filter_name: str,
        clock: Callable[[], float],
        from_txid: int | None = None,
        *,
        chain: str | None = None,
        outage_s: float,
    ) -> None:
        """Create a subscription; the arguments are those of FilterInotifyEventInputStream."""
        self._zookeeper = zookeeper
        self._znodes = znodes
        self._name = filter_name
        self._clock = clock
        self._outage_s = outage_s
        self.position = from_txid  # it continues after this transaction; None: from now
        self.chain = chain  # the id of the chain in which that position is valid
        self._stream: FilterInotifyEventInputStream | None = None
        self._held: SubscriptionStart | None = None  # read, to be returned after a gap
        self._pause: Callable[[], Awaitable[None]] | None = None  # before the next stream
        self._gaps = 0  # in a row, without an event in between
        self._backoff = Backoff(limit_s=LOOK_S)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SubscriptionItem:
        """Return the next item; wait without a time limit.

        Raises:
            MissingEventsError: events are missing, from `first_txid` to `last_txid` where these are known. Read the
                present state from HDFS; the next call continues after them.
            ZooKeeperSilentError, PublisherAwayError: it has been unknown for too long whether events are missing. The
                next call continues at the same position, when the outage is over.
            UnknownFilterError: there is no such filter.
            NotPermittedError: ZooKeeper's ACL forbids it.
            ChannelUnavailableError: nothing was published yet, or the filter's definition cannot be read.
        """
        if self._held is not None:
            held, self._held = self._held, None
            return held
        if self._pause is not None:
            await self._pause()
            self._pause = None
        if self._stream is None:
            self._stream = self._next_stream()
        stream = self._stream
        try:
            item = await anext(stream)
        except (MissingEventsError, ChannelUnavailableError) as exc:
            self._ended(stream, exc)
            raise
        before = self.position
        self.position, self.chain = stream.position, stream.chain
        match item:
            case SubscriptionStart(txid):
                self._backoff.succeeded()
                if before is not None and txid > before:
                    self._held = item
                    first, last = before + 1, txid
                    raise MissingEventsError(
                        f"transactions {first} to {last} are missing", first_txid=first, last_txid=last
                    )
            case ReceivedEvents():
                self._gaps = 0
        return item

    def _next_stream(self) -> FilterInotifyEventInputStream:
        is_skipping = self._gaps > GAPS_IN_A_ROW
        return FilterInotifyEventInputStream(
            self._zookeeper,
            self._znodes,
            self._name,
            self._clock,
            None if is_skipping else self.position,
            chain=None if is_skipping else self.chain,
            outage_s=self._outage_s,
        )

    def _ended(self, stream: FilterInotifyEventInputStream, exc: Exception) -> None:
        """Record where and when the next stream begins."""
        self._stream = None
        if stream.position is not None:
            self.position, self.chain = stream.position, stream.chain
        match exc:
            case PublisherAwayError():
                self._pause = self._publisher_back
            case ChannelOutageError():
                pass  # the next stream waits for ZooKeeper
            case MissingEventsError():
                self._gaps += 1
            case _:
                self._pause = self._back_off

    async def _back_off(self) -> None:
        await asyncio.sleep(self._backoff.failed(random.random()))  # noqa: S311 - jitter of the backoff

    async def _publisher_back(self) -> None:
        """Wait until there is a publisher: before that nothing can happen to the stream."""
        watch = self._zookeeper.watch(self._znodes.publisher)
        while True:
            try:
                if await watch.read() is not None:
                    return
                await watch.changed(LOOK_S)
            except NotAllowedError:
                return  # a missing znode is not refused
            except ConnectionLostError:
                await asyncio.sleep(LOOK_S)
