"""The stream of one filter's events, for any application.

The counterpart of org.apache.hadoop.hdfs.DFSInotifyEventInputStream, without superuser rights, without Java and
without a call to the NameNode.
"""

import random
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final, Self, TypeAlias

from nncache.coordination.errors import ConnectionLostError, CoordinationError, NoNodeError, NotAllowedError
from nncache.coordination.zookeeper import ZooKeeper
from nncache.hadoop.events import Event, EventBatch
from nncache.invalidation.channel.published_filters import PublishedFilter, parse_published_filter
from nncache.invalidation.channel.reader import NextRecord, RecordReader
from nncache.invalidation.channel.records import (
    DroppedTransactions,
    FilterRecord,
    MatchedEvents,
    parse_filter_record,
)
from nncache.invalidation.channel.untrusted_znodes import BadZnodes
from nncache.invalidation.channel.znodes import ZnodePaths, is_filter_name, parse_txid
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    CorruptZnodeError,
    MissingEventsError,
    NotPermittedError,
    UnknownFilterError,
)
from nncache.invalidation.subscriber.outages import OutageDetector
from nncache.invalidation.subscriber.starting_point import NoStart, find_start

REREAD_S: Final = 1.0
"""Seconds between reads of the stream's value, notified or not, and between checks of the publisher."""


@dataclass(frozen=True, slots=True)
class SubscriptionStart:
    """The start of the stream: the events of all later transactions follow, and no earlier ones."""

    txid: int


@dataclass(frozen=True, slots=True)
class ReceivedEvents:
    """The next events, up to `through_txid`."""

    batches: tuple[EventBatch, ...]  # in order
    through_txid: int  # to continue after these events, begin after this transaction


@dataclass(frozen=True, slots=True)
class FilterModified:
    """The filter was modified: events after this transaction match its new glob, earlier ones its old glob.

    It may be repeated if a subscriber continues directly after it.
    """

    through_txid: int  # the last transaction of the old glob
    glob_before: str
    owner_before: str
    glob: str
    owner: str

    @property
    def txid(self) -> int:
        """The last transaction of the old glob."""
        return self.through_txid

    @property
    def events(self) -> tuple[Event, ...]:
        """Always empty, so that a program that looks only for events ignores this item."""
        return ()


SubscriptionItem: TypeAlias = SubscriptionStart | ReceivedEvents | FilterModified


class FilterInotifyEventInputStream(AsyncIterator[SubscriptionItem]):
    """The events of one filter, in order, each once: from now on, or after a given transaction.

    The first item is its Position. The stream survives lost connections. An error ends it; another stream may continue
    from `position` and `chain`. `__anext__` may be cancelled and called again: nothing is skipped or yielded twice; it
    needs a few round trips to make progress.
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
        outage_s: float = 6.0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Create a stream; nothing is sent before the first item is requested.

        Args:
            zookeeper: a session, which the caller owns.
            znodes: the nameservice.
            filter_name: the filter.
            clock: monotonic seconds.
            from_txid: begin after this transaction; None: after the last one published.
            chain: the `chain` of the stream that had the position `from_txid`, if known: it shows that the filter was
                recreated since, whatever its transactions.
            outage_s: seconds for which ZooKeeper may be silent.
            chance: numbers from 0 to 1 for the jitter of the backoff.
        """
        self._zookeeper = zookeeper
        self._znodes = znodes
        self._name = filter_name
        self._clock = clock
        self._from_txid = from_txid
        self._records = RecordReader(zookeeper, znodes.stream(filter_name), parse_filter_record, BadZnodes())
        self._outages = OutageDetector(zookeeper, znodes, clock, silence_s=outage_s, chance=chance)
        self._is_begun = False
        self._is_due = True  # a read is due, also after one that failed or was cancelled
        self.chain = chain
        """The chain of `position`; another id means another run of the filter. None before anything is known."""
        self.position = from_txid
        """The transaction after which another stream may continue; after a gap was raised, the end of the gap.

        None before anything is known.
        """
        self._items: deque[SubscriptionItem] = deque()  # read, but not yielded yet
        self._failure: MissingEventsError | None = None  # raised after the items
        self._resumes_after: int | None = None  # the position after the failure, if it differs

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SubscriptionItem:
        """Return the next item; wait without a time limit.

        Raises:
            MissingEventsError: events are missing, from `first_txid` to `last_txid` where these are known.
            ZooKeeperSilentError, PublisherAwayError: it has been unknown for too long whether events are missing.
            UnknownFilterError: there is no such filter.
            NotPermittedError: ZooKeeper's ACL forbids it.
            ChannelUnavailableError: nothing was published yet, or the filter's definition cannot be read.
        """
        while not self._items:
            if self._failure is not None:
                if self._resumes_after is not None:
                    self.position = self._resumes_after
                raise self._failure
            try:
                await self._advance()
            except MissingEventsError as exc:
                self._end(exc, exc.last_txid)
        item = self._items.popleft()
        self.position = item.txid if isinstance(item, SubscriptionStart) else item.through_txid
        return item

    def _end(self, failure: MissingEventsError, resumes_after: int | None) -> None:
        """End the stream after the items that were read; a later call changes nothing."""
        if self._failure is None:
            self._failure, self._resumes_after = failure, resumes_after

    async def _advance(self) -> None:
        """Take one step: begin the stream, or wait for a change and read it."""
        if not self._is_due:
            await self._records.changed(REREAD_S)
            self._is_due = True
        asked_at = self._clock()
        try:
            if not self._is_begun:
                await self._begin()
            for read in await self._records.read():
                self._queue(read)
            self._is_due = self._records.is_behind
            await self._outages.check_publisher()
        except ConnectionLostError as exc:
            await self._outages.note_failure(exc, asked_at)
        except NotAllowedError as exc:
            raise NotPermittedError(str(exc)) from exc
        except CoordinationError as exc:
            raise ChannelUnavailableError(str(exc)) from exc
        else:
            self._outages.answered()

    def _queue(self, read: NextRecord[FilterRecord]) -> None:
        link, modified = read.record.link, read.record.modified
        if self._failure is not None:
            return  # later records are not for this stream
        if modified is not None and modified.after_txid >= read.after_txid:
            before, after = modified.before, modified.after
            self._items.append(
                FilterModified(
                    modified.after_txid, before.path_glob, before.owner, after.path_glob, after.owner
                )
            )
        match read.record.content:
            case MatchedEvents(batches):
                news = tuple(batch for batch in batches if batch.txid > read.after_txid)
                self._items.append(ReceivedEvents(news, link.txid))
            case DroppedTransactions(first_txid, last_txid, reason):
                failure = MissingEventsError(
                    f"transactions {first_txid} to {last_txid} were dropped: {reason}",
                    first_txid=first_txid,
                    last_txid=last_txid,
                )
                self._end(failure, link.txid)

    # ---- its beginning -------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        if self._from_txid is not None:  # this server may be behind the one that was used before
            await self._zookeeper.sync(self._znodes.filters)
        published = await self._definition()
        try:
            value = await self._records.value()
        except CorruptZnodeError as exc:
            raise ChannelUnavailableError(str(exc)) from exc
        if value is None:
            raise ChannelUnavailableError(f"{self._znodes.stream(self._name)}: there is no such znode")
        start = find_start(
            published,
            value,
            position=self._from_txid,
            chain=self.chain,
            through_txid=-1 if self._from_txid is None else await self._published_txid(),
        )
        self.chain = published.chain
        if isinstance(start, NoStart):
            self._end(start.failure, start.go_on_after)
            raise start.failure
        self._records.begin_after(published.chain, start, value)
        self._items.append(SubscriptionStart(start))
        self._is_begun = True

    async def _definition(self) -> PublishedFilter:
        if not is_filter_name(self._name):
            raise UnknownFilterError(self._name, await self._filter_names())
        path = self._znodes.definition(self._name)
        try:
            return parse_published_filter(path, (await self._zookeeper.get(path)).data)
        except NoNodeError as exc:
            raise UnknownFilterError(self._name, await self._filter_names()) from exc
        except CorruptZnodeError as exc:
            raise ChannelUnavailableError(str(exc)) from exc

    async def _filter_names(self) -> tuple[str, ...] | None:
        try:
            children = await self._zookeeper.children(self._znodes.filters)
        except NoNodeError as exc:
            raise ChannelUnavailableError(f"{exc}: nothing was published yet for this nameservice") from exc
        except NotAllowedError:  # only the service itself may list them
            return None
        return tuple(sorted(filter(is_filter_name, children)))

    async def _published_txid(self) -> int:
        """Return the transaction up to which everything is published; -1 if it cannot be read."""
        try:
            return parse_txid((await self._zookeeper.get(self._znodes.cache)).data) or -1
        except (NoNodeError, NotAllowedError):
            return -1
