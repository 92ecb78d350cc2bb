"""Keep a valid ticket, and renew it in time.

With a keytab, a new ticket is requested at half the lifetime of the current one, or when the keytab is replaced. While
the KDC is down, the current ticket stays in use until it expires, with the service tickets in the same cache.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos.gss import KerberosTicket
from nncache.hadoop.kerberos.threads import KdcThreads
from nncache.net.secret_file import FileState

RETRY_S: Final = 5.0
"""Interval between attempts to renew a ticket that is still valid."""

RETRY_WITHOUT_S: Final = 1.0
"""Interval between attempts while there is no valid ticket; until the next one, callers get the last failure."""

HANGING_S: Final = 10.0
"""An attempt that takes longer than this no longer blocks the next one."""

SAME_S: Final = 2.0
"""Lifetimes are in whole seconds: a cached ticket whose expiry differs by less is the same ticket as before."""

MARGIN_S: Final = 2.0
"""A ticket that expires within this time is not used: the server's clock may be ahead."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketStats:
    """The newest ticket. Times are in seconds of the clock; 0 until there is a ticket."""

    is_failing: int = 0  # 1: the last attempt to get a ticket, or to read the ticket cache, failed
    starts_at: float = 0.0  # when it was obtained, or first seen in the ticket cache
    ends_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Source:
    """The operations on a keytab that `KeytabTickets` needs."""

    get: Callable[[str], KerberosTicket]  # gets a ticket into the credential cache of this name; blocks
    state: Callable[[], FileState]  # returns a value that differs after the keytab was replaced
    new_cache: Callable[[], str]  # returns the name of a new credential cache
    destroy: Callable[[str], object]  # destroys the credential cache of this name


@dataclass(frozen=True, slots=True)
class _Held:
    """A ticket with its origin and its times, in seconds of the clock."""

    ticket: KerberosTicket
    cache: str
    keytab: FileState
    starts_at: float
    ends_at: float

    @property
    def renewed_from(self) -> float:
        """When its renewal becomes due: half its lifetime."""
        return (self.starts_at + self.ends_at) / 2


class KeytabTickets:
    """Tickets from a keytab.

    Invariants:
        K1  While a valid ticket is held, and no server has refused it, `get` returns without waiting.
        K2  At most one attempt younger than HANGING_S is in flight.
        K3  At most one previous ticket is kept.
    """

    def __init__(self, name: str, source: Source, threads: KdcThreads, clock: Callable[[], float]) -> None:
        self._name = name  # of the principal, for messages
        self._source = source
        self._threads = threads
        self._clock = clock
        self._held: _Held | None = None  # the newest
        self._old_cache = ""  # of the previous ticket: contexts may still begin with it
        self._is_recheck_due = False  # a server has refused `_held`
        self._attempt: asyncio.Future[None] | None = None  # the newest; settled when it has ended
        self._attempt_at = float("-inf")  # when it began
        self._ended_at = float("-inf")  # when an attempt last failed
        self._failure = ""  # its message; "" after a success
        self._logged: set[str] = set()  # failures logged since the last success
        self._silence = (
            f"no Kerberos ticket for {name}: the KDC does not answer: see that the KDCs that krb5.conf names are up "
            "and can be reached from this host"
        )

    def stats(self) -> TicketStats:
        """Return the current figures."""
        held = self._held
        return TicketStats(
            is_failing=int(bool(self._failure)),
            starts_at=0.0 if held is None else held.starts_at,
            ends_at=0.0 if held is None else held.ends_at,
        )

    def recheck(self) -> None:
        """Get another ticket before this one is used again, unless it is younger than RETRY_S."""
        held = self._held
        self._is_recheck_due |= held is None or self._clock() - held.starts_at >= RETRY_S

    async def get(self, timeout_s: float) -> KerberosTicket:
        """Return a valid ticket. Raises KerberosError: there is none within the timeout; says why and what to do."""
        held = self._valid()
        if held is not None and not self._is_recheck_due:
            if self._is_due(held):
                self._begin()
            return held.ticket
        if self._may_begin(RETRY_WITHOUT_S):
            self._begin()
        await self._ended(timeout_s)
        held = self._valid()
        if held is None:
            raise KerberosError(self._failure or f"the ticket for {self._name} is not valid any more")
        return held.ticket

    def _valid(self) -> _Held | None:
        held = self._held
        return held if held is not None and self._clock() < held.ends_at - MARGIN_S else None

    def _is_due(self, held: _Held) -> bool:
        is_old = self._clock() >= held.renewed_from or self._source.state() != held.keytab
        return is_old and self._may_begin(RETRY_S)

    def _may_begin(self, pause_s: float) -> bool:
        now = self._clock()
        if self._attempt is not None and not self._attempt.done():
            return now - self._attempt_at >= HANGING_S
        return now - self._ended_at >= pause_s

    async def _ended(self, timeout_s: float) -> None:
        """Wait until the newest attempt ends or times out."""
        attempt = self._attempt
        if attempt is None or attempt.done():
            return
        done, _ = await asyncio.wait([attempt], timeout=timeout_s)
        if not done and self._valid() is None:
            self._failed(self._silence)

    def _begin(self) -> None:
        cache, keytab = self._source.new_cache(), self._source.state()
        self._attempt_at = self._clock()
        what = f"no Kerberos ticket for {self._name}"
        loop = asyncio.get_running_loop()
        getting = self._threads.call(lambda: self._source.get(cache), timeout_s=None, what=what)
        attempt: asyncio.Future[None] = loop.create_future()
        self._attempt = attempt
        hanging = loop.call_later(HANGING_S, self._failed, self._silence)

        def take(got: "asyncio.Future[KerberosTicket]") -> None:
            hanging.cancel()
            if got.exception() is None or attempt is self._attempt:
                self._take(got, cache, keytab)
            else:  # a later attempt began while this one hung
                self._source.destroy(cache)
            if not attempt.done():
                attempt.set_result(None)

        getting.add_done_callback(take)

    def _take(self, got: "asyncio.Future[KerberosTicket]", cache: str, keytab: FileState) -> None:
        error = got.exception()
        now = self._clock()
        if error is None and got.result().lifetime_s <= MARGIN_S:
            error = KerberosError(
                f"no Kerberos ticket for {self._name}: the KDC gave one that ends in {got.result().lifetime_s:g} s: "
                "see that the clocks of this host and of the KDC agree, and max_life of the principal"
            )
        if error is not None:
            self._source.destroy(cache)
            self._ended_at = now
            self._failed(str(error))
            return
        if self._logged:
            _log.info("the KDC gives tickets for %s again", self._name)
            self._logged.clear()
        self._failure, self._is_recheck_due = "", False
        if self._old_cache:
            self._source.destroy(self._old_cache)
        self._old_cache = "" if self._held is None else self._held.cache
        ends_at = now + got.result().lifetime_s
        self._held = _Held(got.result(), cache, keytab, starts_at=now, ends_at=ends_at)

    def _failed(self, why: str) -> None:
        """Record the reason of a failed attempt, and log each reason once."""
        self._failure = why
        if why not in self._logged:
            self._logged.add(why)
            held = self._valid()
            left = ""
            if held is not None:
                left = f"; the present ticket is valid for {held.ends_at - self._clock():.0f} s"
            _log.warning("%s%s; it is tried again", why, left)


class CachedTickets:
    """Tickets from a credential cache that another program renews, such as k5start."""

    def __init__(
        self, read: Callable[[], KerberosTicket], threads: KdcThreads, clock: Callable[[], float]
    ) -> None:
        self._read = read
        self._threads = threads
        self._clock = clock
        self._stats = TicketStats()

    async def get(self, timeout_s: float) -> KerberosTicket:
        """Return the ticket in the cache. Raises KerberosError: it holds no valid one; says what to do."""
        try:
            ticket = await self._valid(timeout_s)
        except KerberosError:
            self._stats = replace(self._stats, is_failing=1)
            raise
        now = self._clock()
        ends_at, before = now + ticket.lifetime_s, self._stats
        if abs(ends_at - before.ends_at) < SAME_S:
            self._stats = replace(before, is_failing=0)
        else:
            self._stats = TicketStats(starts_at=now, ends_at=ends_at)
        return ticket

    def stats(self) -> TicketStats:
        """Return the figures of the last read of the cache."""
        return self._stats

    def recheck(self) -> None:
        """Do nothing: another program renews the cache."""

    async def _valid(self, timeout_s: float) -> KerberosTicket:
        ticket = await self._threads.call(
            self._read, timeout_s=timeout_s, what="the ticket cache is not read"
        )
        if ticket.lifetime_s <= MARGIN_S:
            raise KerberosError(
                "the ticket in ticket_cache is expired: renew it (kinit, or k5start as a daemon), or set keytab, from "
                "which tickets are renewed here"
            )
        return ticket


Tickets: TypeAlias = KeytabTickets | CachedTickets
"""A source of the service's tickets."""
