"""Two namespaces behind one proxy, each a whole `System` of its own.

They share what the namespaces of a proxy share, and nothing else: the event loop and the way in (`federated_door.py`).
Whichever of the two a client is given to, its request goes through that, and the namespace that the oracle names
judges the answer.
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
from tests.model.system import LAYOUT, System
from tests.model.upstream import ClientRequest

_LAYOUTS: Final = {
    MAIN: {**LAYOUT, "/cf": (True, "alice", 0o755), "/a/bx": (False, "alice", 0o644)},
    LAKE: {
        "/d": (True, "bob", 0o755),  # first, so that no file has the number here that it has in the other one
        "/d/e": (True, "alice", 0o755),
        "/d/e/f": (False, "bob", 0o644),
        **LAYOUT,
        "/a/bx": (False, "bob", 0o600),
        "/cf": (False, "bob", 0o644),
    },
}
"""What each has in the beginning: also below the mount points of the other one, where it must never show."""

_GLOBS: Final = (*GLOBS, "/*", "/d/*", "/d/e/*", "/cf/*")


class NamespaceSystem(System):
    """One of the namespaces; what a client asks it about another one's path is that one's to judge.

    Attributes:
        heads: the table of known heads.
        observed: hits of it that were shown to observers.
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
        """Return the namespace that holds a path; itself where there is none."""
        return self._peers[self._oracle.holder(path) or self.name]

    async def call(self, request: ClientRequest, path: str) -> RawResponse | None:
        """Send a request; None for a failure, and for what the proxy must refuse: the door judges that."""
        if isinstance(self._oracle.verdict(request.method, request.target), Refusal):
            try:
                await self.door.front_end.handle(request)  # type: ignore[arg-type]  # as much as it looks at
            except Exception as error:  # noqa: BLE001 - that is what is judged
                self.judge.failed(path, f"raised {error!r} instead of being refused")
            return None
        return await super().call(request, path)


class Federation:
    """All namespaces. Use it as an async context."""

    def __init__(
        self,
        table: Mapping[str, str],
        chance: random.Random,
        channels: Mapping[str, ChannelName],
        **settings: Any,
    ) -> None:
        """Put it together.

        Args:
            table: which namespace is mounted where.
            chance: see `System`.
            channels: how each namespace's changes are learnt.
            settings: see `System`.
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
        """Wait until all clients have left: those that were given to one ask the other as well."""
        for system in self.systems.values():
            await system.clients_left()

    @property
    def violations(self) -> tuple[Violation, ...]:
        """All findings of all judges."""
        return tuple(each for system in self.systems.values() for each in system.judge.violations)
