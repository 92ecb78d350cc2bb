"""Judge a client's own `doas`: here, since a NameNode sees our address."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Final

from cachetools import TTLCache

from nncache.hadoop.proxy_users import (
    NO_PROXY_USER,
    Address,
    ProxyUser,
    address_of,
    not_allowed,
    not_from_here,
)

_log = logging.getLogger(__name__)

Resolve = Callable[[str], Awaitable[Collection[Address]]]
"""Returns the addresses of a name; none where it has none."""

NAMES_REMEMBERED_S: Final = 60.0
RESOLVE_TIMEOUT_S: Final = 2.0
_MAX_NAMES: Final = 10_000


class Impersonation:
    """The proxy-user rules, with what the names in them stand for."""

    def __init__(
        self, proxy_users: Mapping[str, ProxyUser], clock: Callable[[], float], resolve: Resolve | None = None
    ) -> None:
        """Take the rules; `resolve` asks the host's resolver unless it is given."""
        self._proxy_users = proxy_users
        self._resolve = resolve or addresses_of
        self._known: TTLCache[str, frozenset[Address]] = TTLCache(_MAX_NAMES, NAMES_REMEMBERED_S, timer=clock)
        self.refused = 0  # since the start

    async def fault_of(self, real_user: str, user: str, peer: str) -> str | None:
        """Return in which words one user may not act for another from this address; None: they may."""
        rules = self._proxy_users.get(real_user, NO_PROXY_USER)
        if not rules.acts_for(user):
            self.refused += 1
            return not_allowed(real_user, user)
        try:
            address = address_of(peer)
        except ValueError:  # the client is gone
            is_included = rules.hosts.is_any
        else:
            is_included = rules.hosts.include(address, ()) or (
                address in await self._resolved(rules.hosts.names)
            )
        if is_included:
            return None
        self.refused += 1
        return not_from_here(real_user, peer)

    async def _resolved(self, names: tuple[str, ...]) -> frozenset[Address]:
        """Return the addresses of the names; one that is known now counts, though it expires meanwhile."""
        held = {name: known for name in names if (known := self._known.get(name)) is not None}
        unknown = [name for name in names if name not in held]
        found = await asyncio.gather(*(self._resolve(name) for name in unknown))
        for name, addresses in zip(unknown, found, strict=True):
            self._known[name] = held[name] = frozenset(addresses)
        return frozenset[Address]().union(*held.values())


async def addresses_of(name: str) -> Collection[Address]:
    """Ask the host's resolver, in a thread of the event loop's; none where it does not answer in time."""
    try:
        async with asyncio.timeout(RESOLVE_TIMEOUT_S):
            found = await asyncio.get_running_loop().getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError) as error:
        _log.warning("hadoop.proxyuser hosts: %s has no address: %s", name, str(error) or "no answer in time")
        return ()
    return {address_of(str(address[0])) for *_, address in found}
