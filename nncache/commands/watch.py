"""`nncache watch FILTER`: follow the events of a filter until a signal."""

import asyncio
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn, assert_never

import click
import uvloop

from nncache.client.subscribing import EventsPosition, subscribed
from nncache.commands.event_lines import EventItem, GapItem, OutageItem, WatchItem, json_line, text_line
from nncache.commands.options import given, with_settings
from nncache.errors import WatchError
from nncache.invalidation.errors import (
    ChannelOutageError,
    ChannelUnavailableError,
    MissingEventsError,
    NotPermittedError,
    PublisherAwayError,
    UnknownFilterError,
)
from nncache.invalidation.subscriber.events import (
    FilterModified,
    ReceivedEvents,
    SubscriptionItem,
    SubscriptionStart,
)
from nncache.invalidation.subscriber.subscription import Subscription
from nncache.logs import show_errors
from nncache.settings.commands import WATCH, load_settings


@with_settings(WATCH.keys.values())
@click.command()
@click.argument("filter_name", metavar="FILTER")
@click.option(
    "--from",
    "from_txid",
    metavar="TXID",
    type=click.IntRange(min=0),
    help="Start after this transaction.  [default: after the last one published]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on each line.")
def watch(
    filter_name: str, from_txid: int | None, *, as_json: bool, config: Path | None, **flags: object
) -> None:
    """Print the events of the paths that FILTER matches, from now on, until Ctrl-C (which is not an error).

    Each event is one line, in order, as it is published in ZooKeeper; no NameNode is asked. Lines with `--` after the
    time report the start of the stream, missing events, outages, and changes of the filter. After a gap or an outage
    the command continues by itself. After an interruption, continue with --from and the last transaction seen.
    """
    settings = load_settings(WATCH, config, given(flags))
    show_errors()  # the printed lines report outages

    def tell(item: WatchItem) -> None:
        line = json_line(filter_name, item) if as_json else text_line(filter_name, item, datetime.now(UTC))
        click.echo(line)  # flushes, since a program may read the line

    async def follow() -> None:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, task.cancel)
        resume = None if from_txid is None else EventsPosition(from_txid)
        try:
            async with subscribed(settings, filter_name, resume) as subscription:
                await Telling(subscription, tell).run()
        except asyncio.CancelledError:
            return

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(follow())


class Telling:
    """Prints the items of a subscription. An outage is printed once, until another item was printed."""

    def __init__(self, subscription: Subscription, tell: Callable[[WatchItem], None]) -> None:
        self._subscription = subscription
        self._tell = tell
        self._has_begun = False
        self._begun_after = -1  # the Position, if it was printed last; else -1
        self._outage = ""  # the outage, if it was printed last

    async def run(self) -> NoReturn:
        """Print items until cancelled.

        Raises:
            WatchError: the filter cannot be followed. The message says what to do.
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
                self._tell(GapItem(str(exc), exc.first_txid, exc.last_txid))
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
            case SubscriptionStart(txid):
                self._has_begun = True
                if txid != self._begun_after or self._outage:
                    self._tell(item)
                self._begun_after, self._outage = txid, ""
            case FilterModified():
                self._outage = ""
                self._tell(item)
            case ReceivedEvents(batches):
                self._outage = ""
                for batch in batches:
                    for event in batch.events:
                        self._tell(EventItem(batch.txid, event))
                        self._begun_after = -1
            case _:
                assert_never(item)

    def _say_away(self, reason: str) -> None:
        if reason != self._outage:
            self._outage = reason
            self._tell(OutageItem(reason))
