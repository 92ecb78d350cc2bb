"""Judge clients' tickets: in threads, a few at a time, while others wait."""

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
"""For one ticket: nothing but the keytab is read, so that only a hanging disk takes so long. As long it may wait."""

AT_ONCE: Final = 32
"""Tickets that have a thread: one takes less than a millisecond, so that more threads judge no more tickets."""

_WHAT: Final = "the keys of spnego_principal, a keytab"

Accept = Callable[[bytes], gss.Accepted | gss.RefusedToken]
"""Judges a token; raises KerberosError where that cannot be done."""


@dataclass(slots=True)
class Handshakes:
    """Judges tickets.

    Attributes:
        services: the principals for which a ticket may be.
        accept: judges a token, in a thread.
        limit: tickets that are judged or wait at a time.
        fault: says why none may be judged; "" while they may.
        counts: what has come of them.
    """

    services: frozenset[str]
    accept: Accept
    limit: int
    fault: Callable[[], str] = lambda: ""
    counts: Counter[TicketOutcome] = field(default_factory=lambda: Counter(dict.fromkeys(TicketOutcome, 0)))
    _shares: Shares = field(init=False)
    _threads: KdcThreads = field(init=False)
    _slots: asyncio.Semaphore = field(init=False)  # the first that waits has the next one

    def __post_init__(self) -> None:
        self._shares = Shares(self.limit)
        self._threads = KdcThreads(AT_ONCE)
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def judge(self, value: bytes, peer: str) -> gss.Accepted | gss.RefusedToken:
        """Judge the value of an `Authorization: Negotiate` field.

        Raises:
            TooManyHandshakesError: it has not been looked at: too many wait, or it has waited for too long.
            NotJudgedError: it could not be judged.
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
    """Judge a token with a keytab, which may have been replaced.

    Raises:
        KerberosError: the keytab cannot be used.
    """
    if fault := secret_file.fault_of(keytab, _WHAT):
        raise KerberosError(f"spnego_keytab: {keytab}: {fault}")
    return gss.accept(token, keytab)
