"""Have a valid ticket at hand, and renew it in time.

With a keytab a ticket is got again at half its life, or when the keytab is replaced, beside the one in use: while the
KDC is away the old one serves as long as it is valid, and with it the tickets for servers that lie in the same cache.
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
"""Between two attempts to renew a ticket that is still valid."""

RETRY_WITHOUT_S: Final = 1.0
"""Between two attempts while there is no valid ticket; until then the last failure is the answer."""

HANGING_S: Final = 10.0
"""An attempt that takes longer no longer keeps others from beginning one."""

SAME_S: Final = 2.0
"""Lifetimes are in whole seconds: a ticket in a cache whose end differs by less is the one that was seen before."""

MARGIN_S: Final = 2.0
"""A ticket that ends so soon is no use: the server's clock may be ahead."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketStats:
    """The newest ticket; moments in seconds of the clock, 0 before there is one."""

    is_failing: int = 0  # 1: the last attempt to get a ticket, or to read the ticket cache, has failed
    starts_at: float = 0.0  # when it was got, or first seen in the ticket cache
    ends_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Source:
    """A keytab, as `KeytabTickets` sees it."""

    get: Callable[[str], KerberosTicket]  # gets a ticket into the credential cache of this name; blocks
    state: Callable[[], FileState]  # says whether the keytab was replaced
    new_cache: Callable[[], str]  # returns the name of a new credential cache
    destroy: Callable[[str], object]  # forgets one


@dataclass(frozen=True, slots=True)
class _Held:
    """A ticket, and until when it is of use; in seconds of the clock."""

    ticket: KerberosTicket
    cache: str
    keytab: FileState
    starts_at: float
    ends_at: float

    @property
    def renewed_from(self) -> float:
        """From when on another one is got."""
        return (self.starts_at + self.ends_at) / 2


class KeytabTickets:
    """Tickets from a keytab.

    Invariants:
        K1  While a valid ticket is held, and no server has refused it, `get` returns without waiting.
        K2  At most one attempt younger than HANGING_S is under way.
        K3  Of the tickets that are not used any more at most one is kept.
    """

    def __init__(self, name: str, source: Source, threads: KdcThreads, clock: Callable[[], float]) -> None:
        self._name = name  # of the principal, for messages
        self._source = source
        self._threads = threads
        self._clock = clock
        self._held: _Held | None = None  # the newest
        self._old_cache = ""  # of the ticket before: contexts may still begin with it
        self._is_recheck_due = False  # a server has refused what `_held` brought
        self._attempt: asyncio.Future[None] | None = None  # the newest; settled when it has ended
        self._attempt_at = float("-inf")  # when it began
        self._ended_at = float("-inf")  # when an attempt last failed
        self._failure = ""  # how; "" after one that did not
        self._logged: set[str] = set()  # failures that the log has named since
        self._silence = (
            f"no Kerberos ticket for {name}: the KDC does not answer: see that the KDCs that krb5.conf names are up "
            "and can be reached from this host"
        )

    def stats(self) -> TicketStats:
        """Return the figures of now."""
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
        """Return a valid ticket. Raises KerberosError: no ticket came in that time; says why and what to do."""
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
        """Return when the newest attempt has ended."""
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
            else:  # of an attempt that hung while a later one began
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
        """Keep why there is no other ticket, and say it once."""
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
        """Return the ticket that is in the cache now."""
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
        """Return what was seen when the cache was last read."""
        return self._stats

    def recheck(self) -> None:
        """Do nothing: the cache is another program's."""

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
"""Where a service has its tickets from."""
