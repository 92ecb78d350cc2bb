"""The setup of channels with defaults."""

from collections.abc import Callable

from nncache.coordination.settings import ZooKeeperSettings
from nncache.invalidation.namenodes import NameNodes
from nncache.invalidation.settings import ChannelSettings, PollingSettings
from nncache.invalidation.stream import ChannelSetup


def channel_setup(
    namenodes: NameNodes,
    clock: Callable[[], float],
    *,
    polling: PollingSettings | None = None,
    zookeeper: ZooKeeperSettings | None = None,
    nameservice: str = "ns1",
) -> ChannelSetup:
    """Return a channel's setup; omitted arguments have default settings."""
    return ChannelSetup(
        namenodes=namenodes,
        nameservice=nameservice,
        channel=ChannelSettings(),
        polling=polling or PollingSettings(),
        zookeeper=zookeeper or ZooKeeperSettings(),
        clock=clock,
    )
