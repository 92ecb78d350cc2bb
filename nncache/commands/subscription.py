"""Tell one after the other what a subscription brings."""

from collections.abc import Callable
from typing import NoReturn, assert_never

from nncache.commands.event_lines import Away, Changed, Happened, Missing, Started, Told
from nncache.errors import WatchError
from nncache.invalidation.errors import (
    ChannelOutageError,
    ChannelUnavailableError,
    MissingEventsError,
    NotPermittedError,
    PublisherAwayError,
    UnknownFilterError,
)
from nncache.invalidation.subscriber.events import FilterModified, Position, Received, SubscriptionItem
from nncache.invalidation.subscriber.subscription import Subscription


class Telling:
    """What a user who watches is told: events, gaps, and an outage once, until something else was told."""

    def __init__(self, subscription: Subscription, tell: Callable[[Told], None]) -> None:
        self._subscription = subscription
        self._tell = tell
        self._has_begun = False
        self._begun_after = -1  # what was told last
        self._outage = ""  # what was told last

    async def run(self) -> NoReturn:
        """Follow until cancelled.

        Raises:
            WatchError: there is nothing to follow; says what to do.
        """
        while True:
            try:
                self._take(await anext(self._subscription))
            except PublisherAwayError as exc:
                self._say_away(str(exc))
            except ChannelOutageError as exc:
                if not self._has_begun:
                    raise WatchError(f"{exc}: is --zookeeper right?") from exc
                self._say_away(str(exc))
            except MissingEventsError as exc:
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

    def _take(self, item: SubscriptionItem) -> None:
        match item:
            case Position(txid):
                self._has_begun = True
                if txid != self._begun_after or self._outage:
                    self._tell(Started(txid))
                self._begun_after, self._outage = txid, ""
            case FilterModified(txid, glob_before, owner_before, glob, owner):
                self._outage = ""
                self._tell(Changed(txid, glob_before, owner_before, glob, owner))
            case Received(batches):
                self._outage = ""
                for batch in batches:
                    for event in batch.events:
                        self._tell(Happened(batch.txid, event))
                        self._begun_after = -1
            case _:
                assert_never(item)

    def _say_away(self, reason: str) -> None:
        if reason != self._outage:
            self._outage = reason
            self._tell(Away(reason))
