"""Build what `nncache watch` needs, and run it until a signal."""

import asyncio
import signal
from datetime import UTC, datetime

import click
import uvloop

from nncache.clock import boottime
from nncache.commands.event_lines import Lines, Told
from nncache.commands.subscription import Telling
from nncache.coordination.sasl import login_of
from nncache.coordination.session import Session
from nncache.errors import ConfigurationError
from nncache.hadoop.kerberos.identity import identity_of
from nncache.invalidation.channel.znodes import Znodes
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
    set_up_logs(LogSettings(log_level="error"))  # what is away is told in the lines
    try:
        login = login_of(settings.zookeeper, identity_of(settings.kerberos, boottime))
    except SettingError as error:
        raise ConfigurationError(str(error)) from error

    def tell(told: Told) -> None:
        click.echo(lines.line(told, datetime.now(UTC)))  # which flushes

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
