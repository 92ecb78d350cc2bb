"""What a proxy serves: one namespace, or several.

With one, nothing lies between the clients' connections and the parts of the namespace; with several, the choice among
them (`nncache.proxy.federated`).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from nncache.admin.proxy_pages import Purges
from nncache.daemons.federated_pages import FederatedPages
from nncache.daemons.namespace_log import named, run_named
from nncache.daemons.namespace_stack import NamespaceStack, Security
from nncache.daemons.proxy_status import status_of
from nncache.daemons.state_log import LOOK_EVERY_S
from nncache.daemons.watchdog import LoopStats
from nncache.metrics.federated_page import FederatedCollector
from nncache.metrics.page import Figures, StatsCollector
from nncache.proxy.clients.request import Handler
from nncache.proxy.clients.server import Server
from nncache.proxy.federated import FederatedCalls, FederatedFrontEnd, FederatedHeads, Member
from nncache.proxy.hottest import HottestStats
from nncache.proxy.traffic import Observer, Traffic
from nncache.settings.commands import SettingsOfProxy
from nncache.settings.federation import Federation

Clock: TypeAlias = Callable[[], float]
Work: TypeAlias = tuple[str, Callable[[], Awaitable[object]]]
First: TypeAlias = Callable[[Traffic, Handler], Handler]
"""Puts what answers some requests, and counts them, before what answers all others."""


class OneNamespace:
    """A namespace alone.

    Attributes:
        stacks: by name; that of one alone is "".
        server: of the clients.
        purges: what has caches forget.
        background: the work beside the requests. None of it is needed to forward a call.
        explain: says what is known of a canonical path.
        sample: returns paths that the cache holds; may raise RefusedQueryError.
        readiness: says whether it can serve, and whether from memory.
    """

    def __init__(
        self,
        settings: SettingsOfProxy,
        clock: Clock,
        security: Security,
        observers: tuple[Observer, ...],
        first: First | None = None,
    ) -> None:
        """Build it; `first` answers some requests before the namespace does."""
        stack = self._stack = NamespaceStack(settings, clock, security=security, observers=observers)
        self.stacks: Mapping[str, NamespaceStack] = MappingProxyType({"": stack})
        handle = stack.handle if first is None else first(stack.traffic, stack.handle)
        self.server = Server(handle, stack.fast_path, settings.limits, stack.direct_calls, stack.traffic)
        self.purges: Purges = stack.purger
        self.background: Sequence[Work] = stack.background
        self.explain = stack.explain
        self.sample = stack.sample
        self.readiness = stack.readiness

    def status(
        self, *, is_listening: bool, is_stopping: bool, loop: LoopStats, hottest: HottestStats
    ) -> Mapping[str, object]:
        """Return the document of the status page."""
        readiness = self._stack.readiness(is_listening=is_listening, is_stopping=is_stopping)
        return status_of(self._stack.seen(readiness, loop=loop, hottest=hottest))

    def collector(self, of_process: Callable[[], Figures]) -> StatsCollector:
        """Return what makes metrics of its figures, and of those of the whole proxy."""
        return StatsCollector("proxy", lambda: {**self._stack.figures(), **of_process()})


class SeveralNamespaces:
    """Several behind one server of clients; with the attributes of `OneNamespace`."""

    def __init__(
        self,
        federation: Federation,
        clock: Clock,
        security: Mapping[str, Security],
        observers: tuple[Observer, ...],
        first: First | None = None,
    ) -> None:
        """Build them; `first` answers some requests before they do."""
        self.stacks: Mapping[str, NamespaceStack] = MappingProxyType(
            {
                name: NamespaceStack(settings, clock, security=security[name], observers=observers)
                for name, settings in federation.settings.items()
            }
        )
        traffic = self._traffic = Traffic(clock)
        traffic.observers = observers
        members = {
            name: Member(handle=named(name, stack.handle), known=stack.fast_path, direct=stack.direct_calls)
            for name, stack in self.stacks.items()
        }
        mounts = federation.mounts
        handle = FederatedFrontEnd(mounts, members, traffic).handle
        self.server = Server(
            handle if first is None else first(traffic, handle),
            FederatedHeads(mounts, members),
            federation.of_proxy.limits,
            FederatedCalls(mounts, members),
            traffic,
        )
        pages = self._pages = FederatedPages(self.stacks, mounts, traffic, clock)
        self.purges: Purges = pages
        self.explain = pages.explain
        self.sample = pages.sample
        self.readiness = pages.readiness

    @property
    def background(self) -> Sequence[Work]:
        """The work beside the requests. None of it is needed to forward a call."""
        works = [
            (f"{what} of {name}", partial(run_named, name, work))
            for name, stack in self.stacks.items()
            for what, work in stack.background
        ]
        return (*works, ("the course of all namespaces", partial(self._pages.look_on, LOOK_EVERY_S)))

    def status(
        self, *, is_listening: bool, is_stopping: bool, loop: LoopStats, hottest: HottestStats
    ) -> Mapping[str, object]:
        """Return the document of the status page."""
        return self._pages.status(
            {
                name: stack.seen(
                    stack.readiness(is_listening=is_listening, is_stopping=is_stopping),
                    loop=loop,
                    hottest=hottest,
                )
                for name, stack in self.stacks.items()
            }
        )

    def collector(self, of_process: Callable[[], Figures]) -> FederatedCollector:
        """Return what makes metrics of the figures of each, and of those of the whole proxy."""
        return FederatedCollector(
            lambda: {
                "": {**of_process(), "traffic": self._traffic.stats()},
                **{name: stack.figures() for name, stack in self.stacks.items()},
            }
        )
