"""Check that a replayed ticket is refused.

There are several ways to configure MIT Kerberos without a replay cache. So the service presents a ticket of its own
twice. Until the second presentation is seen to be refused, no client's ticket is verified.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NoReturn

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos import gss
from nncache.hadoop.kerberos.threads import KdcThreads
from nncache.spnego.handshakes import Accept

_log = logging.getLogger(__name__)

LOOK_S: Final = 10.0
"""Interval between attempts while the KDC gives no ticket."""

TIMEOUT_S: Final = 5.0
"""Timeout of each step of an attempt with one principal: the KDC's ticket, and its verification with the keytab."""

TicketFor = Callable[[str], Awaitable[bytes]]
"""Returns a new token for this principal; raises KerberosError if the KDC gives no ticket."""


class ReplayCheck:
    """Checks whether replays are refused, and repeats the check until the answer is known."""

    def __init__(self, services: Iterable[str], ticket_for: TicketFor, accept: Accept) -> None:
        """Take the principals, the source of tickets, and the function that verifies one (it runs in a thread)."""
        self._services = tuple(services)
        self._ticket_for = ticket_for
        self._accept = accept
        self._threads = KdcThreads()
        self.fault = "it is not known yet whether a ticket that has come before would be refused"
        """Why no ticket may be accepted; "" if tickets may be accepted."""
        self.is_refuted = False
        """Whether a ticket was accepted twice."""

    async def look(self) -> None:
        """Present a ticket twice. The first principal whose ticket is accepted decides."""
        faults: list[str] = []
        for service in self._services:
            try:
                token = await self._ticket_for(service)
                first, second = await self._judged(token), await self._judged(token)
            except KerberosError as error:
                faults.append(str(error))
                continue
            match first, second:
                case gss.Accepted(), gss.Accepted():
                    self.is_refuted = True
                    self._note(
                        f"a ticket for {service} is accepted twice, so one that was overheard could be used again: "
                        "remove default_rcache_name = none: from krb5.conf, and KRB5RCACHENAME from the environment"
                    )
                    return
                case gss.Accepted(), _:
                    self.fault = ""
                    return
                case gss.RefusedToken(why), _:
                    faults.append(f"our own ticket for {service} is refused: {why}")
        self._note(
            f"it is not known whether a ticket that has come before would be refused: {'; '.join(faults)}"
        )

    async def run(self) -> NoReturn:
        """Check until the answer is known, then do nothing until cancelled."""
        while self.fault and not self.is_refuted:
            await asyncio.sleep(LOOK_S)
            await self.look()
        await asyncio.Event().wait()
        raise AssertionError

    async def _judged(self, token: bytes) -> gss.Accepted | gss.RefusedToken:
        return await self._threads.call(
            lambda: self._accept(token), timeout_s=TIMEOUT_S, what="our own ticket is not judged"
        )

    def _note(self, fault: str) -> None:
        if fault != self.fault:
            self.fault = fault
            _log.warning("clients' tickets are refused: %s", fault)
