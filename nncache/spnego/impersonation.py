"""Judge a client's own `doas`: here, since a NameNode sees our address."""

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
"""Returns the addresses of a name, none where it has none; None: that is not known now."""

NAMES_REMEMBERED_S: Final = 60.0
UNANSWERED_S: Final = 5.0
"""Until the resolver is asked again for a name for which it has failed; meanwhile its last addresses count."""

NAMES_KEPT_S: Final = 600.0
"""For so long they count while the resolver fails: then they may be another host's."""

RESOLVE_TIMEOUT_S: Final = 2.0
_WITHOUT_ADDRESS: Final = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})
"""What getaddrinfo says of a name that has none; EAI_NODATA is not in POSIX."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What the resolver has answered for a name."""

    addresses: frozenset[Address] = frozenset()
    resolved_at: float = -inf
    ask_at: float = -inf  # when it is asked again


_NOT_ASKED: Final = _Known()


class Impersonation:
    """The proxy-user rules, with what the names in them stand for."""

    def __init__(
        self, proxy_users: Mapping[str, ProxyUser], clock: Callable[[], float], resolve: Resolve | None = None
    ) -> None:
        """Take the rules; `resolve` asks the host's resolver unless it is given."""
        self._proxy_users = proxy_users
        self._resolve = resolve or addresses_of
        self._clock = clock
        self._known: dict[str, _Known] = {}  # by a rule's name
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
    """Ask the host's resolver, in a thread of the event loop's; None where it fails, or does not answer in time."""
    try:
        async with asyncio.timeout(RESOLVE_TIMEOUT_S):
            found = await asyncio.get_running_loop().getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError) as error:
        has_none = isinstance(error, socket.gaierror) and error.errno in _WITHOUT_ADDRESS
        what = "has no address" if has_none else "is not resolved now"
        _log.warning("hadoop.proxyuser hosts: %s %s: %s", name, what, str(error) or "no answer in time")
        return () if has_none else None
    return {address_of(str(address[0])) for *_, address in found}
