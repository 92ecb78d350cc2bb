"""Build what `nncache watch` needs, and run it until a signal."""

import asyncio
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NoReturn, assert_never

import click
import uvloop

from nncache.clock import boottime
from nncache.commands.event_lines import Away, Changed, Happened, Lines, Missing, Started, WatchItem
from nncache.coordination.sasl import login_of
from nncache.coordination.session import Session
from nncache.errors import ConfigurationError, WatchError
from nncache.hadoop.kerberos.identity import identity_of
from nncache.invalidation.channel.znodes import Znodes
from nncache.invalidation.errors import (
    ChannelOutageError,
    ChannelUnavailableError,
    MissingEventsError,
    NotPermittedError,
    PublisherAwayError,
    UnknownFilterError,
)
from nncache.invalidation.subscriber.events import FilterModified, Position, ReceivedEvents, SubscriptionItem
from nncache.invalidation.subscriber.subscription import Subscription
from nncache.logs import LogSettings, set_up_logs
from nncache.net.setting_error import SettingError
from nncache.settings.commands import SettingsOfWatch


def run_watch(settings: SettingsOfWatch, filter_name: str, from_txid: int | None, lines: Lines) -> None:
    """Print what happens until SIGTERM or SIGINT, each line at once: it may be read by a program.

    Raises:
        WatchError: there is nothing to follow.
        ConfigurationError: ZooKeeper cannot be logged in at as the settings say.
    """
    set_up_logs(LogSettings(log_level="error"))  # the lines say what is away
    try:
        login = login_of(settings.zookeeper, identity_of(settings.kerberos, boottime))
    except SettingError as error:
        raise ConfigurationError(str(error)) from error

    def tell(item: WatchItem) -> None:
        click.echo(lines.line(item, datetime.now(UTC)))  # which flushes

    async def follow() -> None:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, task.cancel)
        try:
            async with Session(settings.zookeeper, boottime, log_name="watch", login=login) as zookeeper:
                znodes = Znodes(settings.zookeeper.zookeeper_root, settings.nameservice.nameservice)
                outage_s = settings.zookeeper.zookeeper_session_timeout_s
                subscription = Subscription(
                    zookeeper, znodes, filter_name, boottime, from_txid, outage_s=outage_s
                )
                await Telling(subscription, tell).run()
        except asyncio.CancelledError:
            return

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(follow())


class Telling:
    """What `nncache watch` prints: events, gaps, and an outage once, until something else was printed."""

    def __init__(self, subscription: Subscription, tell: Callable[[WatchItem], None]) -> None:
        self._subscription = subscription
        self._tell = tell
        self._has_begun = False
        self._begun_after = -1  # what was printed last
        self._outage = ""  # what was printed last

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
            case ReceivedEvents(batches):
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
