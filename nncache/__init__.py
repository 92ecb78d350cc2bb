"""A caching WebHDFS proxy, and a Python API: `subscribe`, `open_registry`, `connect` and `LightCluster`.

`subscribe` returns the events of a filter (docs/inotify.md), `open_registry` the service registry, and `connect` the
registered proxies (docs/registry.md). `LightCluster` is a WebHDFS without Java (docs/light-cluster.md).
The package composes the rooms: command line, settings, metrics table, wiring.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nncache.client.connecting import NoProxyError as NoProxyError
    from nncache.client.connecting import Proxies as Proxies
    from nncache.client.connecting import connect as connect
    from nncache.client.registering import BlockingRegistry as BlockingRegistry
    from nncache.client.registering import open_registry as open_registry
    from nncache.client.subscribing import EventsPosition as EventsPosition
    from nncache.client.subscribing import FilterEvents as FilterEvents
    from nncache.client.subscribing import subscribe as subscribe
    from nncache.hadoop.events import EventBatch as EventBatch
    from nncache.invalidation.errors import ChannelUnavailableError as ChannelUnavailableError
    from nncache.invalidation.errors import MissingEventsError as MissingEventsError
    from nncache.invalidation.errors import NotPermittedError as NotPermittedError
    from nncache.invalidation.errors import PublisherAwayError as PublisherAwayError
    from nncache.invalidation.errors import UnknownFilterError as UnknownFilterError
    from nncache.invalidation.errors import ZooKeeperSilentError as ZooKeeperSilentError
    from nncache.invalidation.subscriber.events import FilterModified as FilterModified
    from nncache.namenode.cluster import LightCluster as LightCluster

_NAMES = {
    "nncache.client.connecting": ("NoProxyError", "Proxies", "connect"),
    "nncache.hadoop.events": ("EventBatch",),
    "nncache.invalidation.errors": (
        *("ChannelUnavailableError", "MissingEventsError", "NotPermittedError"),
        *("PublisherAwayError", "UnknownFilterError", "ZooKeeperSilentError"),
    ),
    "nncache.invalidation.subscriber.events": ("FilterModified",),
    "nncache.namenode.cluster": ("LightCluster",),
    "nncache.client.registering": ("BlockingRegistry", "open_registry"),
    "nncache.client.subscribing": ("EventsPosition", "FilterEvents", "subscribe"),
}
"""Public names by module, imported on first use: the command line need not load the ZooKeeper client."""


def __getattr__(name: str) -> object:
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
