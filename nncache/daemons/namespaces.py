"""The namespaces that a proxy serves, by its mount table. A single namespace is a table with one row.

For a single namespace operators see its own documents. For several they see the sums, and each namespace as well.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NoReturn, TypeAlias, TypeVar

from nncache.admin.proxy_pages import NoNamespaceError, ProxyReadiness, RefusedQueryError
from nncache.cors.cross_origin import CrossOrigin
from nncache.cors.settings import CorsSettings
from nncache.daemons.history import History, Totals
from nncache.daemons.namespace_log import named, run_named
from nncache.daemons.namespace_stack import NamespaceStack, Security
from nncache.daemons.proxy_status import Json, status_of
from nncache.daemons.purging import PurgeResult
from nncache.daemons.state_log import LOOK_EVERY_S
from nncache.daemons.status_of_all import (
    ReadinessOfAll,
    readiness_of,
    status_of_all,
    total_of,
    with_refused,
)
from nncache.daemons.watchdog import LoopStats
from nncache.federation.mounted import MountedCalls, MountedFrontEnd, MountedHeads, MountedNamespace
from nncache.metrics.page import Figures
from nncache.net.balancers.balancers import Balancers
from nncache.proxy.clients.request import Handler
from nncache.proxy.clients.server import Server
from nncache.proxy.traffic import Observer, Traffic
from nncache.settings.federation import Federation
from nncache.tenants.hottest import HottestStats

T = TypeVar("T")
Clock: TypeAlias = Callable[[], float]
Work: TypeAlias = tuple[str, Callable[[], Awaitable[object]]]
First: TypeAlias = Callable[[Traffic, Handler], Handler]
"""Returns a handler that answers and counts some requests, and passes all others to the given handler."""


class Namespaces:
    """All namespaces of a proxy.

    Attributes:
        stacks: by name; a single namespace has the name "".
        server: accepts the clients' connections.
        balancers: the trusted load balancers in front of the server.
    """

    def __init__(
        self,
        federation: Federation,
        clock: Clock,
        security: Mapping[str, Security],
        observers: tuple[Observer, ...],
        first: First | None = None,
    ) -> None:
        """Build the stacks. `security` is by name; `first` makes a handler that answers some requests before them."""
        self.stacks: Mapping[str, NamespaceStack] = MappingProxyType(
            {
                name: NamespaceStack(settings, clock, security=security[name], observers=observers)
                for name, settings in federation.settings.items()
            }
        )
        self._mounts = federation.mounts
        self._clock = clock
        self._alone = next(iter(self.stacks.values())) if federation.is_alone else None
        self._history = History(clock(), Totals())  # of the sums
        limits, self.balancers = federation.of_proxy.limits, Balancers(federation.of_proxy.balancers)
        balancers = self.balancers if federation.of_proxy.balancers.real_ip_from else None
        if self._alone is not None:  # connections reach its parts directly
            stack, traffic = self._alone, self._alone.traffic
            handle, known, direct = stack.handle, stack.fast_path, stack.direct_calls
            behind = _behind(federation.of_proxy.cors, first, traffic, handle)
            self.server = Server(behind, known, limits, direct, traffic, balancers)
        else:
            traffic = Traffic(clock)
            traffic.observers = observers
            members = {
                name: MountedNamespace(
                    handle=named(name, stack.handle), known=stack.fast_path, direct=stack.direct_calls
                )
                for name, stack in self.stacks.items()
            }
            handle = MountedFrontEnd(self._mounts, members, traffic).handle
            behind = _behind(federation.of_proxy.cors, first, traffic, handle)
            heads, calls = MountedHeads(self._mounts, members), MountedCalls(self._mounts, members)
            self.server = Server(behind, heads, limits, calls, traffic, balancers)
        self._traffic = traffic  # with several namespaces, the requests that concern none

    @property
    def background(self) -> Sequence[Work]:
        """The background work. None of it is needed to forward a call."""
        if self._alone is not None:
            return self._alone.background
        works = [
            (f"{what} of {name}", partial(run_named, name, work))
            for name, stack in self.stacks.items()
            for what, work in stack.background
        ]
        return (*works, ("the course of all namespaces", partial(self._look_on, LOOK_EVERY_S)))

    def figures(self) -> Figures:
        """Return all figures of a single namespace; of several, the figures that concern none of them."""
        return {"traffic": self._traffic.stats()} if self._alone is None else self._alone.figures()

    def figures_of_each(self) -> Mapping[str, Figures]:
        """Return the figures of each of several namespaces, by name; none for a single namespace."""
        return {name: stack.figures() for name, stack in self.stacks.items() if name}

    def readiness(self, *, is_listening: bool, is_stopping: bool) -> ProxyReadiness | ReadinessOfAll:
        """Return whether each namespace can serve, and whether from memory."""
        found = {
            name: stack.readiness(is_listening=is_listening, is_stopping=is_stopping)
            for name, stack in self.stacks.items()
        }
        return readiness_of(found) if self._alone is None else found[""]

    def explain(self, path: str) -> Mapping[str, object]:
        """Return the explanation of a canonical path by the namespace that holds it.

        Raises:
            NoNamespaceError: no namespace holds the path.
        """
        if self._alone is not None:
            return self._alone.explain(path)
        name = self._mounts.find(path)
        if name is None:
            why = "lies above the mount points" if self._mounts.is_above(path) else "is mounted nowhere"
            raise NoNamespaceError(f"{path} {why}: requests for it are answered with an error")
        return {"namespace": name, **self.stacks[name].explain(path)}

    def status(
        self, *, is_listening: bool, is_stopping: bool, loop: LoopStats, hottest: HottestStats
    ) -> Json:
        """Return the document of the status page."""
        seen = {
            name: stack.seen(
                stack.readiness(is_listening=is_listening, is_stopping=is_stopping),
                loop=loop,
                hottest=hottest,
            )
            for name, stack in self.stacks.items()
        }
        if self._alone is not None:
            return status_of(seen[""])
        return status_of_all(seen, self._mounts.points, self._traffic.stats().total, self._history)

    async def _look_on(self, every_s: float) -> NoReturn:
        """Record the sums for the status page every `every_s` seconds, until cancelled."""
        while True:
            await asyncio.sleep(every_s)
            totals = total_of(stack.totals() for stack in self.stacks.values())
            now = self.readiness(is_listening=True, is_stopping=False)
            self._history.look(
                self._clock(),
                with_refused(totals, self._traffic.stats().total),
                is_well=now.is_gate_open,
                state=now.gate,
            )

    def sample(self, limit: int, filter_: str | None) -> tuple[str, ...]:
        """Return a random sample of cached paths, taken from the namespaces in turn.

        Raises:
            RefusedQueryError: no filter of this name or glob is in force in any namespace.
        """
        return _interleaved(self._where_possible(lambda stack: stack.sample(limit, filter_)), limit)

    def path(self, path: str, *, is_subtree: bool, peer: str) -> tuple[PurgeResult, ...]:
        """Purge a canonical path, or its subtree, in each namespace that has a part of it."""
        names = self._mounts.within(path) if is_subtree else (self._mounts.find(path),)
        purged = [
            self.stacks[name].purger.path(path, is_subtree=is_subtree, peer=peer)
            for name in names
            if name is not None
        ]
        if not purged:
            raise RefusedQueryError(f"{path}: no namespace is mounted there")
        return tuple(each for part in purged for each in part)

    def filter(self, name: str, *, peer: str) -> tuple[PurgeResult, ...]:
        """Purge everything that a filter may match, in each namespace that has a filter of this name or glob.

        Raises:
            RefusedQueryError: no namespace has such a filter in force.
        """
        purged = self._where_possible(lambda stack: stack.purger.filter(name, peer=peer))
        return tuple(each for part in purged for each in part)

    def _where_possible(self, ask: Callable[[NamespaceStack], T]) -> list[T]:
        """Return the results of the namespaces that do not refuse. If all refuse, raise the first error."""
        found, errors = list[T](), list[RefusedQueryError]()
        for stack in self.stacks.values():
            try:
                found.append(ask(stack))
            except RefusedQueryError as error:
                errors.append(error)
        if not found:
            raise errors[0]
        return found


def _behind(cors: CorsSettings, first: First | None, traffic: Traffic, handle: Handler) -> Handler:
    """Return the handler of all requests: CORS, then the handler that `first` makes, then `handle`."""
    handler = handle if first is None else first(traffic, handle)
    return CrossOrigin(cors, traffic, handler).handle if cors.cors_origins else handler


def _interleaved(found: Sequence[Sequence[str]], limit: int) -> tuple[str, ...]:
    """Return at most `limit` paths, one of each sequence in turn."""
    longest = max(map(len, found))
    return tuple([each[place] for place in range(longest) for each in found if place < len(each)])[:limit]
