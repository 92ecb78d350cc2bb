"""Build what serves filters' events to clients of HTTP."""

from collections.abc import Callable
from typing import Final

from nncache.coordination.login import Login
from nncache.daemons.event_source import ZooKeeperEvents
from nncache.invalidation.settings import ZOOKEEPER
from nncache.proxy.events.callers import Callers, NamedCallers, UnverifiedCallers, VerifiedCallers
from nncache.proxy.events.endpoint import EventsEndpoint
from nncache.proxy.termination.terminator import Terminator
from nncache.proxy.traffic import Traffic
from nncache.settings.commands import SettingsOfProxy

_NO_CHANNEL: Final = (
    "this proxy reads no events of filters: start a publisher, and give the proxy zookeeper and nameservice"
)
_TURNED_OFF: Final = "this proxy serves no events: max_event_streams is 0"


def event_streams_of(
    settings: SettingsOfProxy,
    traffic: Traffic,
    clock: Callable[[], float],
    *,
    login: Login | None,
    terminator: Terminator | None,
    is_secured: bool,
) -> EventsEndpoint:
    """Return it; where there is no ZooKeeper it answers 501.

    Args:
        settings: all of the proxy's.
        traffic: counts requests.
        clock: seconds of CLOCK_BOOTTIME.
        login: at ZooKeeper, if that wants one.
        terminator: authenticates clients; None: the NameNodes do.
        is_secured: whether the cluster has Kerberos.
    """
    limit = settings.proxy.max_event_streams
    source, why_none = None, _TURNED_OFF
    if settings.channel_name != ZOOKEEPER:
        why_none = _NO_CHANNEL
    elif limit:
        source = ZooKeeperEvents(settings.zookeeper, settings.namenodes.nameservice, clock, login)
    callers: Callers = NamedCallers()
    if terminator is not None:
        callers = VerifiedCallers(terminator)
    elif is_secured:
        callers = UnverifiedCallers()
    return EventsEndpoint(source, callers, traffic, settings.limits, max_streams=limit, why_none=why_none)
