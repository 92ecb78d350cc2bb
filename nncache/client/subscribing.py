"""The events of a filter, for applications: `nncache.subscribe`."""

from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from nncache.client.portal import BlockingPortal, Entered, session_of, settings_of
from nncache.clock import boottime
from nncache.hadoop.events import EventBatch
from nncache.invalidation.channel.znodes import ZnodePaths
from nncache.invalidation.errors import ChannelOutageError, MissingEventsError
from nncache.invalidation.subscriber.events import FilterModified, ReceivedEvents
from nncache.invalidation.subscriber.subscription import Subscription
from nncache.settings.commands import WATCH, SettingsOfWatch

_OUTSIDE: Final = "events are read inside of a block: with nncache.subscribe(...) as events"


@dataclass(frozen=True, slots=True)
class EventsPosition:
    """A subscriber's position in a filter's events. Store its `str()`, and pass it as `resume` after a restart."""

    txid: int  # the subscriber has all events up to this transaction
    chain: str | None = None  # id of the filter's chain: another one if the filter was created again

    def __str__(self) -> str:
        return f"{self.txid}@{self.chain}" if self.chain else str(self.txid)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the output of `str()`, with or without a line end. Raises ValueError if the text is not a position."""
        txid, _, chain = text.strip().partition("@")
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
    """Return the events of a filter, for `with` and `for`, or for `async with` and `async for`.

    Args:
        filter_name: a published filter. If ZooKeeper needs a login, the caller must be its owner or a subscriber.
        resume: the position after which the events begin; None: the present.
        config: the path of a TOML file with settings.
        settings: settings of `nncache watch` (docs/settings.md), which take precedence over the file. Only `zookeeper`
            and `nameservice` are required if ZooKeeper needs no login.

    Raises:
        ConfigurationError: a setting is missing or invalid. The message names it and the allowed values.

    Entering the block waits for ZooKeeper. It raises UnknownFilterError, NotPermittedError, ZooKeeperSilentError or
    ChannelUnavailableError if the filter cannot be followed.
    """
    return FilterEvents(filter_name, settings_of(WATCH, config, settings), resume)


@asynccontextmanager
async def subscribed(
    settings: SettingsOfWatch, filter_name: str, resume: EventsPosition | None
) -> AsyncIterator[Subscription]:
    """Yield a subscription on a session of its own. It begins after `resume`, or at the present.

    Raises:
        ConfigurationError: the login at ZooKeeper cannot be set up.
    """
    zookeeper = settings.zookeeper
    async with session_of(zookeeper, settings.kerberos, log_name=f"events of {filter_name}") as session:
        yield Subscription(
            session,
            ZnodePaths(zookeeper.zookeeper_root, settings.nameservice.nameservice),
            filter_name,
            boottime,
            None if resume is None else resume.txid,
            chain=None if resume is None else resume.chain,
            outage_s=zookeeper.zookeeper_session_timeout_s,
        )


class FilterEvents(Iterator[EventBatch | FilterModified], AsyncIterator[EventBatch | FilterModified]):
    """The events that match one filter, as one batch for each transaction: in order, each batch once.

    Each call waits for the next batch. A FilterModified among the batches reports that the filter has another glob or
    owner after transaction `txid`; its `events` is empty. Missing events always raise an error. An error does not end
    the stream: to continue, call again or start another `for`.

    - MissingEventsError: events are missing, of transactions `first_txid` to `last_txid` if these are known. Read the
      current state from HDFS. The next call continues after the gap.
    - ZooKeeperSilentError, PublisherAwayError (both are MissingEventsError): ZooKeeper has not answered for the session
      timeout, or no publisher has led for 10 seconds. The next call waits for the end of the outage and continues at
      the same position; if events are missing, it raises MissingEventsError.
    - UnknownFilterError, NotPermittedError, ChannelUnavailableError: the filter cannot be followed now.
    """

    def __init__(self, filter_name: str, settings: SettingsOfWatch, resume: EventsPosition | None) -> None:
        """Prepare the events without connecting. Programs call `subscribe` instead."""
        self._name = filter_name
        self._settings = settings
        self._position = resume
        self._read: deque[tuple[EventBatch | FilterModified, EventsPosition]] = deque()
        # The gap that entering the block found, and the position after it.
        self._gap: tuple[MissingEventsError, EventsPosition | None] | None = None
        self._subscription: Subscription | None = None
        self._close = AsyncExitStack()
        self._blocks = ExitStack()  # for callers without an event loop
        self._portal: BlockingPortal | None = None  # set while a blocking caller is in the block

    @property
    def position(self) -> EventsPosition | None:
        """The position after the last returned batch or raised gap; None until the first position is known."""
        return self._position

    async def __aenter__(self) -> Self:
        resume = self._position
        following = subscribed(self._settings, self._name, resume)
        self._subscription = await self._close.enter_async_context(following)
        try:
            await self._read_next(self._subscription)  # without `resume`, the events begin here
        except BaseException as exc:
            if not isinstance(exc, MissingEventsError) or isinstance(exc, ChannelOutageError):
                await self.__aexit__(None, None, None)
                raise
            self._gap, self._position = (exc, self._position), resume  # the next call raises it
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._subscription = self._gap = None
        self._read.clear()  # not returned yet: the position is before them
        await self._close.aclose()

    async def __anext__(self) -> EventBatch | FilterModified:
        """Return the events of the next matching transaction. A cancelled call loses no batch: call again."""
        if self._subscription is None:
            raise RuntimeError(_OUTSIDE)
        await self._read_some(self._subscription)
        return self._taken()

    def _taken(self) -> EventBatch | FilterModified:
        batch, self._position = self._read.popleft()
        return batch

    async def _read_some(self, subscription: Subscription) -> None:
        """Wait until a batch is read. `position` stays before the batch until it is taken."""
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
        finally:  # the position also moves past a gap
            if subscription.position is not None and not batches:
                self._position = EventsPosition(subscription.position, subscription.chain)
        self._read.extend((batch, EventsPosition(batch.txid, subscription.chain)) for batch in batches)

    # ---- for blocking callers --------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._portal, _ = self._blocks.enter_context(Entered("nncache-events", self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal = None
        self._blocks.close()

    def __next__(self) -> EventBatch | FilterModified:
        """Return the events of the next matching transaction. Block until there is one."""
        if self._portal is None or self._subscription is None:
            raise RuntimeError(_OUTSIDE)
        self._portal.wait_for(self._read_some(self._subscription))
        return self._taken()  # in this thread: a wait that Ctrl-C interrupts loses no batch
