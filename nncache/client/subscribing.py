"""HDFS's events for applications: `nncache.subscribe`."""

from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from nncache.client.portal import Entered, Portal, session_of, settings_of
from nncache.clock import boottime
from nncache.hadoop.events import EventBatch
from nncache.invalidation.channel.znodes import Znodes
from nncache.invalidation.errors import ChannelOutageError, MissingEventsError
from nncache.invalidation.subscriber.events import FilterModified, ReceivedEvents
from nncache.invalidation.subscriber.subscription import Subscription
from nncache.settings.commands import WATCH, SettingsOfWatch

_OUTSIDE: Final = "events are read inside of a block: with nncache.subscribe(...) as events"


@dataclass(frozen=True, slots=True)
class EventsPosition:
    """Where a subscriber has come to; to be stored, as `str()`, and given as `resume` after a restart."""

    txid: int  # all events up to this transaction have been seen
    chain: str | None = (
        None  # of which run of the filter; a filter that was made again since is noticed by it
    )

    def __str__(self) -> str:
        return f"{self.txid}@{self.chain}" if self.chain else str(self.txid)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str()` wrote. Raises ValueError."""
        txid, _, chain = text.partition("@")
        if not (txid.isascii() and txid.isdigit()):
            raise ValueError(f"{text!r} is no position: it is a transaction id, and a chain behind an @")
        return cls(int(txid), chain or None)


def subscribe(
    filter_name: str,
    *,
    resume: EventsPosition | None = None,
    config: Path | str | None = None,
    **settings: object,
) -> "FilterEvents":
    """Return the events of a filter, for a `with` block and `for`, or `async with` and `async for`.

    Args:
        filter_name: a filter that is published; the caller must be among its subscribers.
        resume: begin behind this position; None: with what happens from now on.
        config: a TOML file of settings.
        settings: those of `nncache watch` (docs/settings.md); they win over the file. `zookeeper` and `nameservice`
            are enough where ZooKeeper asks for no login.

    Raises:
        ConfigurationError: a setting is missing or wrong; it says which, and what is allowed.

    Entering the block waits for ZooKeeper; it raises UnknownFilterError, NotPermittedError, ZooKeeperSilentError or
    ChannelUnavailableError where there is nothing to follow.
    """
    return FilterEvents(filter_name, settings_of(WATCH, config, settings), resume)


@asynccontextmanager
async def subscribed(
    settings: SettingsOfWatch, filter_name: str, resume: EventsPosition | None
) -> AsyncIterator[Subscription]:
    """Yield a subscription over a session of its own, which begins behind `resume`, or with what happens from now on.

    Raises:
        ConfigurationError: the login at ZooKeeper cannot be made.
    """
    zookeeper = settings.zookeeper
    async with session_of(zookeeper, settings.kerberos, log_name=f"events of {filter_name}") as session:
        yield Subscription(
            session,
            Znodes(zookeeper.zookeeper_root, settings.nameservice.nameservice),
            filter_name,
            boottime,
            None if resume is None else resume.txid,
            chain=None if resume is None else resume.chain,
            outage_s=zookeeper.zookeeper_session_timeout_s,
        )


class FilterEvents(Iterator[EventBatch | FilterModified], AsyncIterator[EventBatch | FilterModified]):
    """The events of one filter that match, by transaction: in order, each once; each call waits for the next.

    A FilterModified says from which transaction on the filter has another glob or owner; it has no `events`, so a
    program that looks for these alone passes over it. Nothing is skipped in silence. An error does not end it: call
    again, or begin another `for`, to go on.

    - MissingEventsError: events are missing, of transactions `first_txid` to `last_txid` where that is known. Read the
      present state from HDFS, then go on behind them.
    - ZooKeeperSilentError, PublisherAwayError (both are MissingEventsError): for longer than the session's timeout, or
      10 seconds, it has not been known what happens. The next call goes on where it was when that is over; if events
      are missing then, it says so.
    - UnknownFilterError, NotPermittedError, ChannelUnavailableError: there is nothing to follow now.
    """

    def __init__(self, filter_name: str, settings: SettingsOfWatch, resume: EventsPosition | None) -> None:
        """Prepare it; use `subscribe`."""
        self._name = filter_name
        self._settings = settings
        self._position = resume
        self._read: deque[tuple[EventBatch | FilterModified, EventsPosition]] = deque()
        # Found at the beginning, and the position behind it.
        self._gap: tuple[MissingEventsError, EventsPosition | None] | None = None
        self._subscription: Subscription | None = None
        self._close = AsyncExitStack()
        self._blocks = ExitStack()  # for callers without an event loop
        self._portal: Portal | None = None  # while one of them is in it

    @property
    def position(self) -> EventsPosition | None:
        """Behind the batch that was returned last; None before anything is known."""
        return self._position

    async def __aenter__(self) -> Self:
        resume = self._position
        following = subscribed(self._settings, self._name, resume)
        self._subscription = await self._close.enter_async_context(following)
        try:
            await self._read_next(self._subscription)  # "from now on" is from here
        except BaseException as exc:
            if not isinstance(exc, MissingEventsError) or isinstance(exc, ChannelOutageError):
                await self.__aexit__(None, None, None)
                raise
            self._gap, self._position = (exc, self._position), resume  # to be passed like any other
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._subscription = self._gap = None
        self._read.clear()  # the position is before these
        await self._close.aclose()

    async def __anext__(self) -> EventBatch | FilterModified:
        """Return the events of the next transaction that matches. May be cancelled and called again."""
        if self._subscription is None:
            raise RuntimeError(_OUTSIDE)
        await self._read_some(self._subscription)
        return self._taken()

    def _taken(self) -> EventBatch | FilterModified:
        batch, self._position = self._read.popleft()
        return batch

    async def _read_some(self, subscription: Subscription) -> None:
        """Return when there is a batch to be taken; until it is, `position` is before it."""
        while not self._read:
            if self._gap is not None:
                (gap, self._position), self._gap = self._gap, None
                raise gap
            await self._read_next(subscription)

    async def _read_next(self, subscription: Subscription) -> None:
        batches: tuple[EventBatch | FilterModified, ...] = ()
        try:
            match await anext(subscription):
                case ReceivedEvents(found):
                    batches = found
                case FilterModified() as modified:
                    batches = (modified,)
        finally:  # a gap is passed, too
            if subscription.position is not None and not batches:
                self._position = EventsPosition(subscription.position, subscription.chain)
        self._read.extend((batch, EventsPosition(batch.txid, subscription.chain)) for batch in batches)

    # ---- for those who block ---------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._portal, _ = self._blocks.enter_context(Entered("nncache-events", self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal = None
        self._blocks.close()

    def __next__(self) -> EventBatch | FilterModified:
        """Return the events of the next transaction that matches; block until there are any."""
        if self._portal is None or self._subscription is None:
            raise RuntimeError(_OUTSIDE)
        self._portal.wait_for(self._read_some(self._subscription))
        return self._taken()  # in this thread: what interrupts the wait, such as Ctrl-C, costs no batch
