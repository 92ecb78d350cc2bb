"""Follow a filter for as long as its user watches, past gaps and outages. (nncache/commands/subscription.py)"""

import asyncio
import random
from collections.abc import Callable

from nncache.commands.event_lines import Away, Happened, Missing, Started, Told
from nncache.coordination.errors import ConnectionLostError, NotAllowedError
from nncache.coordination.zookeeper import ZooKeeper
from nncache.errors import WatchError
from nncache.invalidation.backoff import Backoff
from nncache.invalidation.channel.znodes import Znodes
from nncache.invalidation.errors import (
    ChannelOutageError,
    ChannelUnavailableError,
    MissingEventsError,
    NotPermittedError,
    PublisherAwayError,
    UnknownFilterError,
)
from nncache.invalidation.subscriber.events import FilterInotifyEventInputStream, Position, Received

LOOK_S = 1.0
"""Between two looks whether the publisher is back, notified or not."""


GAPS_IN_A_ROW = 2
"""With more than that without an event in between it goes on from now. A filter that was made again brings two."""


class Subscription:
    """One filter's events, one stream after the other, told in order.

    What ends a stream is told as what it is, an outage once; the next stream goes on where the last one ended. Right
    behind a gap the next one is likely, while records come and go quickly: then it goes on from now instead.
    """

    def __init__(
        self,
        zookeeper: ZooKeeper,
        znodes: Znodes,
        filter_name: str,
        clock: Callable[[], float],
        tell: Callable[[Told], None],
        *,
        outage_s: float,
    ) -> None:
        self._zookeeper = zookeeper
        self._znodes = znodes
        self._name = filter_name
        self._clock = clock
        self._tell = tell
        self._outage_s = outage_s
        self._position: int | None = None  # goes on behind this; None: from now
        self._chain: str | None = None  # what that is a position in
        self._has_begun = False
        self._begun_after = -1  # what was told last
        self._outage = ""  # what was told last, until something else was
        self._gaps = 0  # in a row, without an event in between
        self._backoff = Backoff(limit_s=LOOK_S)

    async def run(self, from_txid: int | None) -> None:
        """Follow until cancelled.

        Raises:
            WatchError: there is nothing to follow; says what to do.
        """
        self._position = from_txid
        while True:
            try:
                await self._follow()
            except PublisherAwayError as exc:
                self._say_away(str(exc))
                await self._publisher_back()
            except ChannelOutageError as exc:
                if not self._has_begun:
                    raise WatchError(f"{exc}: is --zookeeper right?") from exc
                self._say_away(str(exc))
            except MissingEventsError as exc:
                self._gaps += 1
                self._tell(Missing(str(exc), exc.first_txid, exc.last_txid))
                self._outage, self._begun_after = "", -1
            except (UnknownFilterError, NotPermittedError) as exc:
                raise WatchError(str(exc)) from exc
            except ChannelUnavailableError as exc:
                if not self._has_begun:
                    raise WatchError(
                        f"{exc}: is a publisher running, and are --nameservice and --zookeeper-root the same as its?"
                    ) from exc
                self._say_away(str(exc))
                await asyncio.sleep(self._backoff.failed(random.random()))  # noqa: S311 - spreads retries apart

    async def _follow(self) -> None:
        """Follow one stream to its end, an error."""
        is_skipping = self._gaps > GAPS_IN_A_ROW
        stream = FilterInotifyEventInputStream(
            self._zookeeper,
            self._znodes,
            self._name,
            self._clock,
            None if is_skipping else self._position,
            chain=None if is_skipping else self._chain,
            outage_s=self._outage_s,
        )
        try:
            async for item in stream:
                match item:
                    case Position(txid):
                        self._begin(txid)
                    case Received(batches):
                        self._outage, self._gaps = "", 0
                        for batch in batches:
                            for event in batch.events:
                                self._tell(Happened(batch.txid, event))
                                self._begun_after = -1
        finally:
            if stream.position is not None:
                self._position, self._chain = stream.position, stream.chain

    def _begin(self, txid: int) -> None:
        self._has_begun = True
        self._backoff.succeeded()
        if self._position is not None and txid > self._position:
            first, last = self._position + 1, txid
            self._tell(Missing(f"transactions {first} to {last} are missing", first, last))
        if txid != self._begun_after or self._outage:
            self._tell(Started(txid))
        self._begun_after, self._outage = txid, ""

    def _say_away(self, reason: str) -> None:
        if reason != self._outage:
            self._outage = reason
            self._tell(Away(reason))

    async def _publisher_back(self) -> None:
        """Wait until a publisher is there: before that nothing can happen to the stream."""
        watch = self._zookeeper.watch(self._znodes.publisher)
        while True:
            try:
                if await watch.read() is not None:
                    return
                await watch.changed(LOOK_S)
            except NotAllowedError:
                return  # what is not there is not refused
            except ConnectionLostError:
                await asyncio.sleep(LOOK_S)
