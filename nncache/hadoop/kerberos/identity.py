"""The service's own Kerberos identity: its principal, and a context for each connection."""

import asyncio
import base64
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Final, NoReturn

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos import gss, krb5_library
from nncache.hadoop.kerberos.gss import GssContext, KerberosTicket, Mechanism
from nncache.hadoop.kerberos.principal import HOST, Principal, on_host, parse_principal
from nncache.hadoop.kerberos.settings import KerberosSettings
from nncache.hadoop.kerberos.threads import KdcThreads
from nncache.hadoop.kerberos.tickets import CachedTickets, KeytabTickets, Source, Tickets, TicketStats
from nncache.net import secret_file
from nncache.net.setting_error import SettingError

_KEY: Final = "the key of principal, a keytab"

KEEP_S: Final = 10.0
"""Interval between checks whether the ticket is due for renewal."""

_KEEP_TIMEOUT_S: Final = 3.0

_NEGOTIATE: Final = "Negotiate "

_CHECK_S: Final = 3.0
"""Timeout of the check of a server's token, which calls no KDC unless that token is not Kerberos."""


class Initiator:
    """One context with one server; its steps run in a thread. `nncache.hadoop.rpc.wire` and SPNEGO use it."""

    def __init__(self, context: GssContext, threads: KdcThreads, due: float) -> None:
        self.context = context  # wraps and unwraps data once it is complete
        self._threads = threads
        self._due = due  # loop time by which the KDC must have answered

    def step(self, server: Principal, challenge: bytes | None) -> "asyncio.Future[bytes]":
        """Return a future of the next token; it fails with KerberosError."""
        left_s = max(0.0, self._due - asyncio.get_running_loop().time())
        return self._step(server, challenge, left_s)

    def check(self, server: Principal, token: bytes) -> "asyncio.Future[bytes]":
        """Return a future that fails with KerberosError if the server's last token does not prove its identity.

        The server may have been slow to reply, so this has a deadline of its own, apart from that of the KDC.
        """
        return self._step(server, token, _CHECK_S)

    def _step(self, server: Principal, challenge: bytes | None, timeout_s: float) -> "asyncio.Future[bytes]":
        return self._threads.call(
            partial(self.context.step, server, challenge),
            timeout_s=timeout_s,
            what=f"no Kerberos context with {server}",
        )


class Negotiation:
    """One login at one web server (RFC 4559): the token to send, and the check of the server's own token."""

    def __init__(self, initiator: Initiator, server: Principal, token: bytes) -> None:
        self._initiator = initiator
        self._server = server
        self.field = f"{_NEGOTIATE}{base64.b64encode(token).decode('ascii')}"
        """The value of the Authorization field; usable once."""

    async def check_proven(self, fields: Iterable[str]) -> None:
        """Return if the first token of these WWW-Authenticate fields proves the server's identity.

        Raises KerberosError: there is no token, or it was not made with the key of that server.
        """
        tokens = [field.strip() for field in fields]
        tokens = [field for field in tokens if field.lower().startswith(_NEGOTIATE.lower())]
        if not tokens:
            raise KerberosError(
                f"it does not prove that it is {self._server}: its reply has no WWW-Authenticate: Negotiate TOKEN"
            )
        try:
            token = base64.b64decode(tokens[0][len(_NEGOTIATE) :], validate=True)
            await self._initiator.check(self._server, token)
        except (ValueError, KerberosError) as exc:
            raise KerberosError(f"it does not prove that it is {self._server}: {exc}") from exc
        if not self._initiator.context.is_complete:
            raise KerberosError(f"it does not prove that it is {self._server}: its token is not the last one")


class KerberosIdentity:
    """A principal of this service. Use it on one event loop."""

    def __init__(
        self,
        name: str,
        tickets: Tickets,
        *,
        threads: KdcThreads | None = None,
        namenode_principal: Principal | None = None,
        may_fall_back: bool = False,
    ) -> None:
        self.name = name
        """Its name in messages."""
        self.namenode_principal = namenode_principal
        """The principal that the NameNodes must have; None: the one that they claim."""
        self.may_fall_back = may_fall_back
        """Whether a NameNode with SIMPLE authentication only is used nevertheless."""
        self._tickets = tickets
        self._threads = threads or KdcThreads()

    async def initiator(self, mechanism: Mechanism, timeout_s: float) -> Initiator:
        """Return an initiator of one context. `timeout_s` is the total time of all calls to the KDC.

        Raises KerberosError: there is no valid ticket.
        """
        due = asyncio.get_running_loop().time() + timeout_s
        ticket = await self._tickets.get(timeout_s)
        return Initiator(GssContext(ticket, mechanism), self._threads, due)

    async def negotiation(self, host: str, timeout_s: float) -> Negotiation:
        """Begin a login at the web server on this host, which must prove its identity.

        Raises KerberosError: there is no ticket for that server.
        """
        initiator = await self.initiator(Mechanism.SPNEGO, timeout_s)
        server = Principal("HTTP", host.strip("[]").lower())
        token = await initiator.step(server, None)
        return Negotiation(initiator, server, token)

    async def keep_ticket(self) -> NoReturn:
        """Keep the ticket valid until cancelled, also between connections: the KDC may be down at the next one."""
        while True:
            with suppress(KerberosError):  # already logged, and the next connection reports it again
                await self._tickets.get(_KEEP_TIMEOUT_S)
            await asyncio.sleep(KEEP_S)

    def stats(self) -> TicketStats:
        """Return the state of its ticket."""
        return self._tickets.stats()

    def recheck(self) -> None:
        """Handle a server's refusal of this identity: get new tickets before the next use."""
        self._tickets.recheck()


def identity_of(settings: KerberosSettings, clock: Callable[[], float]) -> KerberosIdentity | None:
    """Return the identity that the settings name; None if they name none.

    Raises SettingError: the keytab cannot be used, or gssapi is not installed.
    """
    if not settings.has_identity:
        return None
    try:
        gss.check_installed()
    except KerberosError as exc:
        key = "principal" if settings.principal else "ticket_cache"
        raise SettingError(key, getattr(settings, key), str(exc)) from exc
    principal = _own_principal(settings.principal)
    named = partial(_named, settings.principal, principal)
    threads = KdcThreads()
    tickets: Tickets
    if settings.keytab:
        if fault := secret_file.fault_of(settings.keytab, _KEY):
            raise SettingError("keytab", settings.keytab, fault)
        source = Source(
            get=lambda cache: _from_keytab(named(), settings.keytab, cache),
            state=partial(secret_file.state_of, settings.keytab),
            new_cache=krb5_library.new_cache,
            destroy=krb5_library.destroy,
        )
        tickets = KeytabTickets(str(principal), source, threads, clock)
    else:
        if fault := _fault_of_cache(settings.ticket_cache):
            raise SettingError("ticket_cache", settings.ticket_cache, fault)
        tickets = CachedTickets(lambda: _from_cache(named(), settings.ticket_cache), threads, clock)
    server = settings.namenode_principal
    return KerberosIdentity(
        str(principal) if principal is not None else f"the ticket in {settings.ticket_cache}",
        tickets,
        threads=threads,
        namenode_principal=parse_principal(server) if server else None,
        may_fall_back=settings.fallback_to_simple_auth_allowed,
    )


def _own_principal(text: str) -> Principal | None:
    """Return the principal with `_HOST` replaced by this host's canonical name (SecurityUtil.getLocalHostName)."""
    return on_host(parse_principal(text), socket.getfqdn()) if text else None


def _named(text: str, at_start: Principal | None) -> Principal | None:
    """Return the principal as of now: at the start there may have been no name server for this host's whole name."""
    is_short = at_start is not None and HOST in text and "." not in at_start.host
    return _own_principal(text) if is_short else at_start


def _from_keytab(principal: Principal | None, path: str, cache: str) -> KerberosTicket:
    """Check the keytab, which may have been replaced, and get a ticket with it."""
    assert principal is not None  # KerberosSettings
    if fault := secret_file.fault_of(path, _KEY):
        raise KerberosError(f"no Kerberos ticket for {principal}: keytab {path}: {fault}")
    return gss.ticket_from_keytab(principal, path, cache)


def _from_cache(principal: Principal | None, cache: str) -> KerberosTicket:
    """Check the cache, which may have been replaced, and return its ticket."""
    if fault := _fault_of_cache(cache):
        raise KerberosError(f"no Kerberos ticket: ticket_cache {cache}: {fault}")
    return gss.ticket_from_cache(principal, cache)


def _fault_of_cache(cache: str) -> str:
    """Return the fault of a cache in a file; a missing file is no fault, since it may still be created."""
    kind, colon, name = cache.partition(":")
    path = name if colon else cache
    if (colon and kind != "FILE") or secret_file.state_of(path) == secret_file.FileState():
        return ""
    return secret_file.fault_of(path, "a ticket")
