"""Compose the rooms: command line, settings, metrics table, wiring.

The only room that reads files and the environment and builds the objects of the others. What it offers to other
programs is `subscribe`, the events of a filter (docs/inotify.md), `open_registry`, services by name, `connect`, the
proxies among them (docs/registry.md), and `LightCluster`, a WebHDFS without Java (docs/light-cluster.md).
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nncache.connecting import NoProxyError as NoProxyError
    from nncache.connecting import Proxies as Proxies
    from nncache.connecting import connect as connect
    from nncache.hadoop.events import EventBatch as EventBatch
    from nncache.invalidation.errors import ChannelUnavailableError as ChannelUnavailableError
    from nncache.invalidation.errors import MissingEventsError as MissingEventsError
    from nncache.invalidation.errors import NotPermittedError as NotPermittedError
    from nncache.invalidation.errors import PublisherAwayError as PublisherAwayError
    from nncache.invalidation.errors import UnknownFilterError as UnknownFilterError
    from nncache.invalidation.errors import ZooKeeperSilentError as ZooKeeperSilentError
    from nncache.invalidation.subscriber.events import FilterModified as FilterModified
    from nncache.namenode.cluster import LightCluster as LightCluster
    from nncache.registering import BlockingRegistry as BlockingRegistry
    from nncache.registering import open_registry as open_registry
    from nncache.subscribing import EventsPosition as EventsPosition
    from nncache.subscribing import FilterEvents as FilterEvents
    from nncache.subscribing import subscribe as subscribe

_NAMES = {
    "nncache.connecting": ("NoProxyError", "Proxies", "connect"),
    "nncache.hadoop.events": ("EventBatch",),
    "nncache.invalidation.errors": (
        *("ChannelUnavailableError", "MissingEventsError", "NotPermittedError"),
        *("PublisherAwayError", "UnknownFilterError", "ZooKeeperSilentError"),
    ),
    "nncache.invalidation.subscriber.events": ("FilterModified",),
    "nncache.namenode.cluster": ("LightCluster",),
    "nncache.registering": ("BlockingRegistry", "open_registry"),
    "nncache.subscribing": ("EventsPosition", "FilterEvents", "subscribe"),
}
"""Loaded when asked for: a command line does not wait for a client of ZooKeeper."""


def __getattr__(name: str) -> object:
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
