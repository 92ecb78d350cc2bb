"""The stream of one filter's events, for any application.

The counterpart of org.apache.hadoop.hdfs.DFSInotifyEventInputStream, without superuser rights, without Java and
without asking the NameNode anything.
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
from nncache.invalidation.channel.records import Dropped, Events, FilterRecord, parse_filter_record
from nncache.invalidation.channel.untrusted_znodes import BadZnodes
from nncache.invalidation.channel.znodes import Znodes, is_filter_name, parse_txid
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
"""The stream's value is read this often, notified or not; and so often it is seen whether the publisher is there."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where the stream begins: the events of all later transactions follow, and of no earlier one."""

    txid: int


@dataclass(frozen=True, slots=True)
class ReceivedEvents:
    """The next events: all up to `through_txid`."""

    batches: tuple[EventBatch, ...]  # in order
    through_txid: int  # to go on behind these, begin after this transaction


@dataclass(frozen=True, slots=True)
class FilterModified:
    """The filter was modified: its events behind this transaction are those of the new glob, none before is.

    It may come again, when a subscriber goes on right behind it.
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
        """None: so a program that looks for events only passes over it."""
        return ()


SubscriptionItem: TypeAlias = Position | ReceivedEvents | FilterModified


class FilterInotifyEventInputStream(AsyncIterator[SubscriptionItem]):
    """The events of one filter, in order, each once: from now on, or from behind a transaction.

    The first item is its Position. Lost connections are survived. An error ends the stream; another one may go on
    from `position` and `chain`. `__anext__` may be cancelled and called again: nothing is skipped or yielded twice; it
    needs a few round trips to get anywhere.
    """

    def __init__(
        self,
        zookeeper: ZooKeeper,
        znodes: Znodes,
        filter_name: str,
        clock: Callable[[], float],
        from_txid: int | None = None,
        *,
        chain: str | None = None,
        outage_s: float = 6.0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Prepare a stream; nothing is asked before the first item.

        Args:
            zookeeper: a session; it stays the caller's.
            znodes: the nameservice.
            filter_name: the filter.
            clock: monotonic seconds.
            from_txid: begin after this transaction; None: after the last one published.
            chain: the `chain` of the stream that had the position `from_txid`, where known: a filter that was made
                again since is noticed then, whatever its transactions.
            outage_s: how long ZooKeeper may be silent.
            chance: spreads retries apart.
        """
        self._zookeeper = zookeeper
        self._znodes = znodes
        self._name = filter_name
        self._clock = clock
        self._from_txid = from_txid
        self._records = RecordReader(zookeeper, znodes.stream(filter_name), parse_filter_record, BadZnodes())
        self._outages = OutageDetector(zookeeper, znodes, clock, silence_s=outage_s, chance=chance)
        self._is_begun = False
        self._is_due = True  # a read is to be made, or to be made again: it failed, or was cancelled
        self.chain = chain
        """What `position` is a position in: another id, another run of the filter. None before anything is known."""
        self.position = from_txid
        """The transaction behind which another stream may go on; behind what is missing, once that was raised.

        None before anything is known.
        """
        self._items: deque[SubscriptionItem] = deque()  # read, but not yielded yet
        self._failure: MissingEventsError | None = None  # comes after the items
        self._resumes_after: int | None = None  # the position behind the failure, if it is another

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SubscriptionItem:
        """Return the next item; wait for it as long as it takes.

        Raises:
            MissingEventsError: events are missing; `first_txid` and `last_txid` say which, where that is known.
            ZooKeeperSilentError, PublisherAwayError: it has not been known for too long whether events are missing.
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
        self.position = item.txid if isinstance(item, Position) else item.through_txid
        return item

    def _end(self, failure: MissingEventsError, resumes_after: int | None) -> None:
        """End the stream behind the items that were read; what comes later changes nothing."""
        if self._failure is None:
            self._failure, self._resumes_after = failure, resumes_after

    async def _advance(self) -> None:
        """Take one step: begin, or wait for news and read it."""
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
            return  # behind it there may be more, but not for this stream
        if modified is not None and modified.after_txid >= read.after_txid:
            before, after = modified.before, modified.after
            self._items.append(
                FilterModified(
                    modified.after_txid, before.path_glob, before.owner, after.path_glob, after.owner
                )
            )
        match read.record.content:
            case Events(batches):
                news = tuple(batch for batch in batches if batch.txid > read.after_txid)
                self._items.append(ReceivedEvents(news, link.txid))
            case Dropped(first_txid, last_txid, reason):
                failure = MissingEventsError(
                    f"transactions {first_txid} to {last_txid} were dropped: {reason}",
                    first_txid=first_txid,
                    last_txid=last_txid,
                )
                self._end(failure, link.txid)

    # ---- its beginning -------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        if self._from_txid is not None:  # this session's server may be behind the one by which it came so far
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
        self._items.append(Position(start))
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
        """Return up to where everything is published; -1 if that cannot be read."""
        try:
            return parse_txid((await self._zookeeper.get(self._znodes.cache)).data) or -1
        except (NoNodeError, NotAllowedError):
            return -1
