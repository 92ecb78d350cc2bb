"""Authorize a client's own `doas`. The proxy has to do this, since a NameNode sees the proxy's address."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from nncache.hadoop.proxy_users import (
    NO_PROXY_USER,
    Address,
    ProxyUser,
    address_of,
    not_allowed,
    not_from_here,
)

_log = logging.getLogger(__name__)

Resolve = Callable[[str], Awaitable[Collection[Address] | None]]
"""Returns the addresses of a name, which may be none; None: the resolver failed."""

NAMES_REMEMBERED_S: Final = 60.0
UNANSWERED_S: Final = 5.0
"""Delay before the resolver is asked again after a failure; until then the name's last addresses are used."""

NAMES_KEPT_S: Final = 600.0
"""How long the last addresses are used while the resolver fails: later they may belong to another host."""

RESOLVE_TIMEOUT_S: Final = 2.0
_WITHOUT_ADDRESS: Final = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})
"""The errors of getaddrinfo for a name without addresses; EAI_NODATA is not in POSIX."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The resolver's answer for a name."""

    addresses: frozenset[Address] = frozenset()
    resolved_at: float = -inf
    ask_at: float = -inf  # when the resolver is asked again


_NOT_ASKED: Final = _Known()


class Impersonation:
    """The proxy-user rules, with the addresses of the host names in them."""

    def __init__(
        self, proxy_users: Mapping[str, ProxyUser], clock: Callable[[], float], resolve: Resolve | None = None
    ) -> None:
        """Take the rules; the default of `resolve` is the host's resolver."""
        self._proxy_users = proxy_users
        self._resolve = resolve or addresses_of
        self._clock = clock
        self._known: dict[str, _Known] = {}  # by a rule's name
        self.refused = 0  # since the start

    async def fault_of(self, real_user: str, user: str, peer: str) -> str | None:
        """Return the message of the refusal; None if one user may act for another from this address."""
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
        """Return the addresses of the names. An address known now counts, even if it expires during the call."""
        began = self._clock()
        unknown = [name for name in names if self._known.get(name, _NOT_ASKED).ask_at <= began]
        found = await asyncio.gather(*(self._resolve(name) for name in unknown))
        now = self._clock()
        for name, addresses in zip(unknown, found, strict=True):
            if addresses is not None:
                self._known[name] = _Known(frozenset(addresses), now, now + NAMES_REMEMBERED_S)
                continue
            last = self._known.get(name, _NOT_ASKED)
            counts = now - last.resolved_at <= NAMES_KEPT_S
            self._known[name] = replace(last if counts else _NOT_ASKED, ask_at=now + UNANSWERED_S)
        return frozenset[Address]().union(*(self._known[name].addresses for name in names))


async def addresses_of(name: str) -> Collection[Address] | None:
    """Return the addresses of a name by the host's resolver, in the loop's executor; None if it fails or times out."""
    try:
        async with asyncio.timeout(RESOLVE_TIMEOUT_S):
            found = await asyncio.get_running_loop().getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError) as error:
        has_none = isinstance(error, socket.gaierror) and error.errno in _WITHOUT_ADDRESS
        what = "has no address" if has_none else "is not resolved now"
        _log.warning("hadoop.proxyuser hosts: %s %s: %s", name, what, str(error) or "no answer in time")
        return () if has_none else None
    return {address_of(str(address[0])) for *_, address in found}
