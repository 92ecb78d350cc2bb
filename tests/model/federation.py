"""Two namespaces behind one proxy, each a whole `ModelSystem`.

They share the event loop and the entrance (`federated_door.py`), as the namespaces of a proxy do, and nothing else.
A request may start in either system; the namespace that the oracle names judges its answer.
"""

import random
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, Final, Self

from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.limits import LimitSettings
from nncache.proxy.traffic import Exchange
from tests.invalidation.virtual_time import clock
from tests.model.channels import GLOBS, ChannelName
from tests.model.federated_door import FederatedDoor
from tests.model.judge import Violation
from tests.model.mount_oracle import LAKE, MAIN, MountOracle, Refusal
from tests.model.system import LAYOUT, ModelSystem
from tests.model.upstream import ClientRequest

_LAYOUTS: Final = {
    MAIN: {**LAYOUT, "/cf": (True, "alice", 0o755), "/a/bx": (False, "alice", 0o644)},
    LAKE: {
        "/d": (True, "bob", 0o755),  # first, so that no file has the same inode number in both namespaces
        "/d/e": (True, "alice", 0o755),
        "/d/e/f": (False, "bob", 0o644),
        **LAYOUT,
        "/a/bx": (False, "bob", 0o600),
        "/cf": (False, "bob", 0o644),
    },
}
"""The initial paths of each namespace, some below the other's mount points, where no client may see them."""

_GLOBS: Final = (*GLOBS, "/*", "/d/*", "/d/e/*", "/cf/*")


class NamespaceSystem(ModelSystem):
    """One of the namespaces; the namespace that holds a path judges the answers for it.

    Attributes:
        heads: the table of known heads.
        observed: the hits of this table that observers saw.
    """

    def __init__(
        self,
        name: str,
        peers: Mapping[str, "NamespaceSystem"],
        oracle: MountOracle,
        chance: random.Random,
        channel: ChannelName,
        **settings: Any,
    ) -> None:
        super().__init__(chance, channel, layout=_LAYOUTS[name], globs=_GLOBS, **settings)
        self.name = name
        self._peers = peers
        self._oracle = oracle
        self.observed: list[Exchange] = []
        self.heads = FastPath(
            self.cache.is_good, self.cache.store, clock, LimitSettings(), self.observed.append
        )
        self.front_end.answers.remember = self.heads.remember

    def of(self, path: str) -> "NamespaceSystem":
        """Return the namespace that holds a path; this one if no namespace holds it."""
        return self._peers[self._oracle.holder(path) or self.name]

    async def call(self, request: ClientRequest, path: str) -> RawResponse | None:
        """Send a request; return None for a failure, or for a refusal by the proxy, which the door judges."""
        if isinstance(self._oracle.verdict(request.method, request.target), Refusal):
            try:
                await self.door.front_end.handle(request)  # type: ignore[arg-type]  # all that it uses
            except Exception as error:  # noqa: BLE001 - any failure is a violation
                self.judge.failed(path, f"raised {error!r} instead of being refused")
            return None
        return await super().call(request, path)


class Federation:
    """All namespaces, as an async context manager."""

    def __init__(
        self,
        table: Mapping[str, str],
        chance: random.Random,
        channels: Mapping[str, ChannelName],
        **settings: Any,
    ) -> None:
        """Create the systems and the door.

        Args:
            table: the namespace of each mount point.
            chance: see `ModelSystem`.
            channels: the channel of each namespace.
            settings: see `ModelSystem`.
        """
        self.oracle = MountOracle(table)
        self.systems: dict[str, NamespaceSystem] = {}
        for name, channel in channels.items():
            self.systems[name] = NamespaceSystem(name, self.systems, self.oracle, chance, channel, **settings)
        self.door = FederatedDoor(table, self.oracle, self.systems)
        for system in self.systems.values():
            system.door = self.door
        self._under_way = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for system in self.systems.values():
            await self._under_way.enter_async_context(system)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.clients_left()
        await self._under_way.aclose()
        self.door.check()

    async def clients_left(self) -> None:
        """Wait until all clients have left; a client of one system may also call the other."""
        for system in self.systems.values():
            await system.clients_left()

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The violations that all judges found."""
        return tuple(each for system in self.systems.values() for each in system.judge.violations)
