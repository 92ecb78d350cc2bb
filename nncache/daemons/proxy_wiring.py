"""Build the parts of a proxy from all rooms and run them.

One event loop, one task group for background work, one order of shutdown: first the clients, then the in-flight
calls to the NameNode, then the pool of NameNodes and the stream of their changes.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack
from importlib.metadata import version

from nncache.admin.access import Access
from nncache.admin.proxy_pages import proxy_pages, purge_action
from nncache.admin.server import AdminServer, Page, Readiness, ready_page
from nncache.admin.settings import access_of
from nncache.admin.status_page import StatusPage
from nncache.daemons.housekeeping import calm_collector, tend_collector
from nncache.daemons.namespace_stack import NO_SECURITY, Security
from nncache.daemons.namespaces import Namespaces
from nncache.daemons.proxy_status import HOTTEST_SHOWN
from nncache.daemons.registered import ServedRegistry, proxy_daemon
from nncache.daemons.service_manager import ServiceManager
from nncache.daemons.start_lines import say_where
from nncache.daemons.supervision import background
from nncache.daemons.watchdog import Watchdog
from nncache.errors import ConfigurationError, StartError
from nncache.logs import set_log_level
from nncache.metrics.page import MetricsPage
from nncache.net.setting_error import SettingError
from nncache.registry.daemon_record import RegisteredDaemon
from nncache.registry.registration import NO_REGISTRATION, Registration
from nncache.registry.rest.endpoint import NO_REGISTRY
from nncache.request_logs.request_logs import RequestLogs
from nncache.settings.commands import SettingsOfProxy
from nncache.settings.federation import Federation
from nncache.spnego.stats import NO_TERMINATION
from nncache.tenants.hottest import Hottest
from nncache.tenants.tenants import NO_TENANTS, tenants_of
from nncache.tracing.settings import call_spans_of

_log = logging.getLogger(__name__)

Clock = Callable[[], float]

QUESTIONS_END_S = 5.0
"""Seconds for in-flight calls to a NameNode to finish after their clients have disconnected."""


class ProxySystem:
    """A proxy: its parts, and the order in which they start and stop."""

    def __init__(
        self,
        federation: Federation,
        clock: Clock,
        access: Access | None = None,
        manager: ServiceManager | None = None,
        logs: RequestLogs | None = None,
        security: Mapping[str, Security] | None = None,
    ) -> None:
        """Build the parts.

        Args:
            federation: the settings of all namespaces.
            clock: seconds of CLOCK_BOOTTIME.
            access: the access rules of the operators' pages, if they were read already.
            manager: is notified when the proxy serves and when it stops.
            logs: the request logs, open already; closed at the end.
            security: the security of each namespace, by name; None: no security.

        Raises:
            SettingError: a request log cannot be opened.
            StartError: tracing is on, but spans cannot be created.
        """
        self._federation, settings = federation, federation.of_proxy
        security = security or dict.fromkeys(federation.settings, NO_SECURITY)
        of_proxy = next(iter(security.values()))  # the same for all namespaces
        self._logs = logs or RequestLogs(settings.request_logs, clock)
        self._manager = manager or ServiceManager({})
        self._settings = settings
        self._clock = clock
        self._watchdog = Watchdog()
        self._hottest = Hottest(clock)
        self._tenants = tenants_of(settings.tenants, clock)
        observers = (*self._logs.observers, self._hottest.answered)
        if self._tenants is not None:
            observers = (*observers, self._tenants.answered)
        self._registration: Registration | None = None
        self._registry: ServedRegistry | None = None
        first = None
        if settings.registration.registry:
            self._registration = Registration(
                settings.zookeeper, settings.registry, clock, of_proxy.login, self._as_daemon
            )
            self._registry = ServedRegistry(self._registration, settings)
            first = self._registry.before
        self._authentication = of_proxy.clients  # None with several namespaces
        self._spans = call_spans_of(settings.tracing)
        self._served = Namespaces(federation, clock, security, observers, first)
        self.stacks = self._served.stacks
        if self._spans is not None:
            for stack in self.stacks.values():
                stack.upstream.follow(self._spans.sent)
        self._server = self._served.server
        pages = proxy_pages(
            readiness=self._readiness,
            metrics=MetricsPage("proxy", self._figures, self._served.figures_of_each).render,
            explain=self._served.explain,
            status=self._status,
            sample=self._served.sample,
        )
        self._admin = AdminServer(
            settings.proxy.admin_at,
            (*pages, *self._pages_of_each(), purge_action(self._served)),
            lambda: self._readiness().state,
            access=access or access_of(settings.admin, settings.proxy.admin_at.host),
            status_page=StatusPage("proxy.html"),
        )
        self._admin.page_called = self._logs.page_called
        self._is_listening = False
        self._is_stopping = False

    async def serve(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set; then stop listening, finish in-flight requests, and return.

        Raises:
            StartError: the proxy cannot listen on one of its two addresses, or cannot authenticate clients.
        """
        failure: StartError | None = None
        self._logs.start()
        try:
            async with asyncio.timeout(None) as end, AsyncExitStack() as under_way:
                for stack in self.stacks.values():
                    await under_way.enter_async_context(stack)
                # Returned, not raised: the stacks' task groups would wrap an error in an exception group.
                failure = await self._listen()
                if failure is None:
                    await self._work_until(stop)
                end.reschedule(asyncio.get_running_loop().time() + QUESTIONS_END_S)
        except TimeoutError:
            _log.warning("abandoned calls to the NameNode after %g s", QUESTIONS_END_S)
        finally:
            for stack in self.stacks.values():
                await stack.close()
            if self._spans is not None:
                self._spans.close()
            self._logs.note("end")
            self._logs.close()
        if failure is not None:
            raise failure

    async def _listen(self) -> StartError | None:
        """Listen on both addresses. Return the error of an address or of the clients' authentication, if any."""
        try:
            if self._authentication is not None:
                await self._authentication.check_replays_are_refused()
        except SettingError as error:
            return ConfigurationError(str(error))
        try:
            await self._server.listen(self._settings.proxy, self._clock)
        except StartError as error:
            return error
        try:
            await self._admin.__aenter__()
        except StartError as error:
            await self._server.stop()
            return error
        return None

    async def _work_until(self, stop: asyncio.Event) -> None:
        """Serve and run the background work until `stop` is set; then drain."""
        try:
            async with background(self._background()):
                self._is_listening = True
                say_where(self._federation, self._server.port, self._admin.url)
                calm_collector()
                self._manager.ready()
                self._logs.note("start", version=version("nncache"), pid=os.getpid())
                try:
                    await stop.wait()
                    self._is_stopping = True
                    self._manager.stopping()
                    if self._registration is not None:
                        await self._registration.withdraw()
                    lame_duck_s = self._settings.proxy.lame_duck_s
                    self._logs.note("stop", lame_duck_s=lame_duck_s)
                    if lame_duck_s:
                        await asyncio.sleep(lame_duck_s)
                finally:
                    self._is_listening = False
                    for stack in self.stacks.values():
                        stack.front_end.waits.stop()
                        stack.events.stop()
                    if self._registry is not None:
                        self._registry.endpoint.stop()
                    await self._server.stop()
        finally:
            await self._admin.__aexit__(None, None, None)

    def _background(self) -> tuple[tuple[str, Callable[[], Awaitable[object]]], ...]:
        """Return the background work. None of it is needed to forward a call."""
        return (
            *self._served.background,
            *self._server.background,
            *(() if self._authentication is None else self._authentication.background),
            *(() if self._registration is None else (("the service registry", self._registration.run),)),
            *(() if self._registry is None else (("changes of the registry", self._registry.endpoint.run),)),
            ("the garbage collector", tend_collector),
            ("the watch over the event loop", self._watchdog.run),
            ("signs of life for the service manager", self._manager.beat),
        )

    def _as_daemon(self) -> RegisteredDaemon:
        """Return the addresses of this proxy for the registry. The proxy must be listening."""
        nameservices = tuple(each.namenodes.nameservice for each in self._federation.settings.values())
        return proxy_daemon(self._settings, nameservices, self._server, self._admin.url)

    def take(self, settings: SettingsOfProxy, changed: AbstractSet[str], name: str = "") -> None:
        """Apply new settings. `changed` are the keys with new values (`nncache.daemons.reloader`).

        `name` is the name of the namespace, if there are several.
        """
        if "glob" in changed:
            self.stacks[name].take_globs(settings)
        if "log_level" in changed:
            set_log_level(settings.log)
        self._settings = self.stacks[name].settings = settings

    def _pages_of_each(self) -> Iterator[Page]:
        """Yield a readiness page for each of several namespaces, for load balancers that route by namespace."""
        for name, stack in self.stacks.items():
            if name:
                yield ready_page(
                    lambda stack=stack: stack.readiness(  # type: ignore[misc] # a default that binds
                        is_listening=self._is_listening, is_stopping=self._is_stopping
                    ),
                    f"the same for {name} alone",
                    f"/ready/{name}",
                )

    def _figures(self) -> Mapping[str, object]:
        """Return the current figures of each room that exists once in the proxy."""
        return {
            **self._served.figures(),
            "admin": self._admin.stats(),
            "balancers": self._served.balancers.stats(),
            "loop": self._watchdog.stats(),
            "registration": NO_REGISTRATION if self._registration is None else self._registration.stats(),
            "registry": NO_REGISTRY if self._registry is None else self._registry.endpoint.stats(),
            "request_logs": self._logs.stats(),
            "server": self._server.stats(),
            "tenants": NO_TENANTS if self._tenants is None else self._tenants.stats(),
            "termination": NO_TERMINATION if self._authentication is None else self._authentication.stats(),
            "tls": self._server.tls_stats(),
        }

    def _readiness(self) -> Readiness:
        return self._served.readiness(is_listening=self._is_listening, is_stopping=self._is_stopping)

    def _status(self) -> Mapping[str, object]:
        return self._served.status(
            is_listening=self._is_listening,
            is_stopping=self._is_stopping,
            loop=self._watchdog.stats(),
            hottest=self._hottest.stats(HOTTEST_SHOWN),
        )
