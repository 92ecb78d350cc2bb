"""Verify clients' tickets in a bounded number of threads; further tickets wait."""

import asyncio
import base64
import binascii
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos import gss
from nncache.hadoop.kerberos.threads import KdcThreads
from nncache.net import secret_file
from nncache.net.shares import Shares, holder_of
from nncache.proxy.errors import NotJudgedError, TooManyHandshakesError
from nncache.spnego.stats import TicketOutcome

NEGOTIATE: Final = b"negotiate"
TIMEOUT_S: Final = 5.0
"""Timeout of one ticket, and of the wait for a thread. Only the keytab is read: only a hung disk takes that long."""

AT_ONCE: Final = 32
"""Tickets verified at a time, each in a thread; a thread that hangs runs on.

A ticket takes less than a millisecond, so more threads would not verify more tickets.
"""

_WHAT: Final = "the keys of spnego_principal, a keytab"

Accept = Callable[[bytes], gss.Accepted | gss.RefusedToken]
"""Verifies a token; raises KerberosError if it cannot."""


@dataclass(slots=True)
class Handshakes:
    """Verifies tickets.

    Attributes:
        services: the principals for which a ticket may be issued.
        accept: verifies a token; runs in a thread.
        limit: tickets that are being verified or waiting, at most.
        fault: returns why no ticket may be accepted; "" if tickets may be accepted.
        counts: the number of tickets by outcome.
    """

    services: frozenset[str]
    accept: Accept
    limit: int
    fault: Callable[[], str] = lambda: ""
    counts: Counter[TicketOutcome] = field(default_factory=lambda: Counter(dict.fromkeys(TicketOutcome, 0)))
    _shares: Shares = field(init=False)
    _threads: KdcThreads = field(init=False)
    _slots: asyncio.Semaphore = field(init=False)  # first come, first served

    def __post_init__(self) -> None:
        self._shares = Shares(self.limit)
        self._threads = KdcThreads(AT_ONCE)
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def judge(self, value: bytes, peer: str) -> gss.Accepted | gss.RefusedToken:
        """Verify the value of an `Authorization: Negotiate` field.

        Raises:
            TooManyHandshakesError: it was not verified: too many tickets wait, or this one waited too long.
            NotJudgedError: it could not be verified.
        """
        if fault := self.fault():
            self.counts[TicketOutcome.FAILED] += 1
            raise NotJudgedError(f"no ticket is judged: {fault}")
        holder = holder_of(peer)
        if not self._shares.take(holder):
            self.counts[TicketOutcome.OVERLOADED] += 1
            raise TooManyHandshakesError(
                f"too many tickets wait to be judged: at most {self.limit}, of each address its share (max_handshakes)"
            )
        try:
            verdict = await self._one_by_one(value)
        except KerberosError as error:
            self.counts[TicketOutcome.FAILED] += 1
            raise NotJudgedError(f"the ticket could not be judged: {error}") from error
        finally:
            self._shares.give_back(holder)
        match verdict:
            case gss.Accepted():
                self.counts[TicketOutcome.ACCEPTED] += 1
            case gss.RefusedToken():
                self.counts[TicketOutcome.REFUSED] += 1
        return verdict

    async def _one_by_one(self, value: bytes) -> gss.Accepted | gss.RefusedToken:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await self._slots.acquire()
        except TimeoutError:
            self.counts[TicketOutcome.OVERLOADED] += 1
            raise TooManyHandshakesError(
                f"the ticket has waited for {TIMEOUT_S:g} s to be judged: {AT_ONCE} are judged at a time"
            ) from None
        try:
            return await self._judged(value)
        finally:
            self._slots.release()

    async def _judged(self, value: bytes) -> gss.Accepted | gss.RefusedToken:
        try:
            token = base64.b64decode(value[len(NEGOTIATE) :].strip(), validate=True)
        except binascii.Error:
            return gss.RefusedToken("it is not Base64")
        if not token:
            return gss.RefusedToken("it is empty")
        verdict = await self._threads.call(
            partial(self.accept, token), timeout_s=TIMEOUT_S, what="a client's ticket is not judged"
        )
        if isinstance(verdict, gss.Accepted) and verdict.service not in self.services:
            return gss.RefusedToken(f"it is a ticket for {verdict.service}, which is not in spnego_principal")
        return verdict


def accept_with(keytab: str, token: bytes) -> gss.Accepted | gss.RefusedToken:
    """Verify a token with a keytab, which is read again each time.

    Raises:
        KerberosError: the keytab cannot be used.
    """
    if fault := secret_file.fault_of(keytab, _WHAT):
        raise KerberosError(f"spnego_keytab: {keytab}: {fault}")
    return gss.accept(token, keytab)
