"""The source of filters' events for clients: a publisher's records in ZooKeeper."""

import logging
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Final, Self, TypeAlias

from cachetools import TTLCache

from nncache.coordination.errors import CoordinationError, NoNodeError, NotAllowedError
from nncache.coordination.login import ZooKeeperLogin
from nncache.coordination.session import KazooSession
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import ZnodeWatch, ZooKeeperSession
from nncache.events.source import (
    AfterTxid,
    EventsGap,
    EventsOutage,
    FilterGone,
    FilterRedefined,
    Item,
    NextEvents,
    SourceUnavailableError,
    StreamBegun,
)
from nncache.invalidation.channel.published_filters import parse_readers
from nncache.invalidation.channel.znodes import ZnodePaths, is_filter_name
from nncache.invalidation.errors import (
    ChannelOutageError,
    ChannelUnavailableError,
    CorruptZnodeError,
    MissingEventsError,
    UnknownFilterError,
)
from nncache.invalidation.subscriber.events import FilterModified, ReceivedEvents, SubscriptionStart
from nncache.invalidation.subscriber.subscription import Subscription
from nncache.net.log_throttle import ThrottledLog

_log = logging.getLogger(__name__)

REMEMBERED_S: Final = 1.0
"""Seconds for which the readers of a filter, or its absence, are remembered."""

NAMES: Final = 1_024
"""Number of filters whose readers are remembered."""

Connect: TypeAlias = Callable[[], ZooKeeperSession]


class ZooKeeperEvents:
    """The filters of one nameservice; the first query opens a session with ZooKeeper, `close` ends it."""

    def __init__(
        self,
        settings: ZooKeeperSettings,
        nameservice: str,
        clock: Callable[[], float],
        login: ZooKeeperLogin | None = None,
        connect: Connect | None = None,
    ) -> None:
        self.znodes = ZnodePaths(settings.zookeeper_root, nameservice)
        self.clock = clock
        self.outage_s = settings.zookeeper_session_timeout_s
        self.throttled = ThrottledLog(_log, clock)
        self._connect: Connect = connect or (
            lambda: KazooSession(settings, clock, log_name="events for clients", login=login)
        )
        self._session: ZooKeeperSession | None = None
        self.readers_of: TTLCache[str, AbstractSet[str] | None] = TTLCache(NAMES, REMEMBERED_S, timer=clock)

    async def close(self) -> None:
        """End the session."""
        self.readers_of.clear()
        session, self._session = self._session, None
        if session is not None:
            await session.__aexit__(None, None, None)

    async def zookeeper(self) -> ZooKeeperSession:
        """Return the session; it may not be connected yet."""
        if self._session is None:
            self._session = self._connect()
            await self._session.__aenter__()
        return self._session

    def follow(self, filter_name: str, after: AfterTxid | None) -> "_Following":
        """Return the events of a filter after a position; None: from now on."""
        return _Following(self, filter_name, after)

    def readers(self, filter_name: str) -> "_Readers":
        """Return the readers of a filter's events."""
        return _Readers(self, filter_name)


class _Following:
    """The events of `follow`, from a subscription."""

    def __init__(self, source: ZooKeeperEvents, name: str, after: AfterTxid | None) -> None:
        self._source = source
        self._name = name
        self._after = after
        self._subscription: Subscription | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        source, after = self._source, self._after
        if self._subscription is None:
            self._subscription = Subscription(
                await source.zookeeper(),
                source.znodes,
                self._name,
                source.clock,
                None if after is None else after.txid,
                chain=None if after is None else after.chain,
                outage_s=source.outage_s,
            )
        following = self._subscription
        try:
            item = await anext(following)
        except UnknownFilterError:
            return FilterGone()
        except (ChannelOutageError, ChannelUnavailableError) as exc:
            return EventsOutage(str(exc))
        except MissingEventsError as exc:
            behind = None if following.position is None else AfterTxid(following.position, following.chain)
            return EventsGap(str(exc), exc.first_txid, exc.last_txid, behind)
        match item:
            case SubscriptionStart(txid):
                return StreamBegun(AfterTxid(txid, following.chain))
            case FilterModified(txid, glob_before, owner_before, glob, owner):
                after = AfterTxid(txid, following.chain)
                return FilterRedefined(after, glob_before, owner_before, glob, owner)
            case ReceivedEvents(batches, through_txid):
                return NextEvents(batches, AfterTxid(through_txid, following.chain))


class _Readers:
    """A `nncache.events.source.Readers` over a filter's definition.

    Only `changed` sets a watch, so that a stranger's request leaves none behind.
    """

    def __init__(self, source: ZooKeeperEvents, name: str) -> None:
        self._source = source
        self._name = name
        self._watch: ZnodeWatch | None = None

    async def read(self) -> AbstractSet[str] | None:
        """Return the filter's owner and its subscribers; None: there is no such filter, or it cannot be read.

        Raises:
            SourceUnavailableError: ZooKeeper does not answer.
        """
        source = self._source
        if not is_filter_name(self._name):
            return None
        if self._watch is None and self._name in source.readers_of:
            return source.readers_of[self._name]
        readers = source.readers_of[self._name] = await self._asked()
        return readers

    async def _asked(self) -> AbstractSet[str] | None:
        source = self._source
        path = source.znodes.definition(self._name)
        try:
            zookeeper = await source.zookeeper()
            await zookeeper.wait_connected(source.outage_s)
            znode = await (zookeeper.get(path) if self._watch is None else self._watch.read())
            if znode is None:
                return None
            return parse_readers(path, znode.data)
        except NoNodeError:
            return None
        except (NotAllowedError, CorruptZnodeError) as exc:  # a stranger must not learn this
            source.throttled.warn(f"filter {self._name}: its events cannot be served: {exc}")
            return None
        except CoordinationError as exc:
            raise SourceUnavailableError(str(exc)) from exc

    async def changed(self, timeout_s: float) -> bool:
        """Return True as soon as the users may have changed, False after `timeout_s` seconds."""
        if self._watch is None:
            zookeeper = await self._source.zookeeper()
            self._watch = zookeeper.watch(self._source.znodes.definition(self._name))
        return await self._watch.changed(timeout_s)
