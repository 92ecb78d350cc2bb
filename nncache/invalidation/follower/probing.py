"""Learn from the pool how fresh a position is, sooner when coverage is requested.

The shell over `nncache.invalidation.follower.freshness`.
"""

import asyncio
from collections.abc import Callable
from math import inf
from typing import Final, NoReturn

from nncache.hadoop.election_view import Active
from nncache.invalidation.edits.pacing import PROBE_SPACING_S
from nncache.invalidation.errors import ChannelUnavailableError, MissingEventsError
from nncache.invalidation.follower.freshness import Freshness
from nncache.invalidation.namenodes import NameNodes, other_incarnation
from nncache.invalidation.same_namespace import check_namespace
from nncache.invalidation.stream import CoveredThrough

CONFIRM_TIMEOUT_S: Final = 5.0
"""Seconds to wait for a probe that shows that the log has reached the first position."""

WANTED_FOR_S: Final = 1.0
"""Seconds for which a request for coverage counts; after that the pool's own interval applies."""

UNSHOWN_S: Final = 10.0
"""Seconds for which the active NameNode may report its state but no log position, if another source can be read."""


class Probing:
    """The probes of one term of the active NameNode, compared with one position."""

    def __init__(self, namenodes: NameNodes, active: Active, clock: Callable[[], float]) -> None:
        self._namenodes = namenodes
        self._active = active
        self._clock = clock
        self._freshness = Freshness(active.term, -1, clock())
        self._wanted_at = -inf  # coverage as of this time is requested
        self._suspected_at = -inf  # when the pool was last asked for a probe
        self._next_probe: asyncio.TimerHandle | None = None  # asks for a probe that is wanted and not due yet
        self._unshown_since: float | None = None  # since when it reports only its state; None: both

    @property
    def is_pending(self) -> bool:
        """Whether coverage waits only for the position to advance."""
        return self._freshness.is_pending

    @property
    def txid(self) -> int:
        """The position."""
        return self._freshness.txid

    async def begin(self, txid: int) -> None:
        """Start at a position, and check that the log of this term has reached it.

        If the log went back and grew again before the first probe, nothing would show any more that the position is one
        in another log.

        Raises:
            ChannelUnavailableError: the pool does not report the position of the log.
            MissingEventsError: the log has not reached it (WENT_BACK), or another NameNode is active.
            WrongNamespaceError: an RPC connection leads to another namespace.
        """
        read_at = self._clock()
        self._freshness = Freshness(self._active.term, txid, read_at)
        self.want()
        try:
            async with asyncio.timeout(CONFIRM_TIMEOUT_S):
                while True:
                    self.look()
                    if self._freshness.probed_as_of >= read_at:
                        return
                    await self._namenodes.wait_probed()
        except TimeoutError as exc:
            raise ChannelUnavailableError(
                f"{self._active.namenode.http} did not say in {CONFIRM_TIMEOUT_S:g} s how far its log has come"
            ) from exc

    @property
    def end_txid(self) -> int:
        """The last transaction that the active NameNode had written at the last probe.

        Raises:
            ChannelUnavailableError: the NameNode does not report it.
        """
        probe = self._namenodes.last_probe
        if probe is None:
            raise ChannelUnavailableError(
                f"{self._active.namenode.http} does not say how far its log has come"
            )
        return probe.txid

    async def wait(self) -> None:
        """Wait until the pool may have a new probe."""
        await self._namenodes.wait_probed()

    async def tell(self, news: asyncio.Event) -> NoReturn:
        """Set `news` whenever the pool may have a new probe, until cancelled."""
        while True:
            await self.wait()
            news.set()

    def look(self) -> None:
        """Process the pool's latest probe.

        Raises:
            MissingEventsError: another NameNode is active, or the log went back (WENT_BACK).
            WrongNamespaceError: a new RPC connection leads to another namespace.
        """
        self.check_term()
        check_namespace(self._namenodes, self._active.namenode)
        probe = self._namenodes.last_probe
        if probe is not None:
            discontinued = self._freshness.probed(probe)
            if discontinued is not None:
                raise MissingEventsError(discontinued.reason, discontinued.kind)
        confirmed_as_of = self._namenodes.confirmed_as_of
        if confirmed_as_of is None or confirmed_as_of <= self._freshness.probed_as_of:
            self._unshown_since = None
        elif self._unshown_since is None:
            self._unshown_since = self._clock()
        self._ask()

    def check_shown(self) -> None:
        """Raise ChannelUnavailableError if the log's position has not been reported for `UNSHOWN_S`."""
        if self._unshown_since is not None and self._clock() - self._unshown_since >= UNSHOWN_S:
            raise ChannelUnavailableError(
                f"{self._active.namenode.http} has not said for {UNSHOWN_S:g} s how far its log has come: "
                "JournalTransactionInfo over JMX"
            )

    def check_term(self) -> None:
        """Raise MissingEventsError once the pool knows another term."""
        active = self._namenodes.active
        if active is not None and active.term != self._active.term:
            raise other_incarnation(active, self._active.term)

    def advance(self, txid: int) -> None:
        """Advance the position to `txid`, up to which everything has been yielded."""
        self._freshness.advance(txid, self._clock())

    def take(self) -> CoveredThrough | None:
        """Return the newest coverage that was not returned yet, if there is one."""
        return self._freshness.take()

    def want(self) -> None:
        """Request coverage as of now: have the pool probe soon."""
        self._wanted_at = self._clock()
        self._ask()

    def stop(self) -> None:
        """Request no more probes."""
        self._wanted_at = -inf
        if self._next_probe is not None:
            self._next_probe.cancel()
            self._next_probe = None

    def _ask(self) -> None:
        """Request a probe if one is wanted, at least PROBE_SPACING_S after the last request."""
        if not self._is_wanted or self._next_probe is not None:
            return
        wait_s = self._suspected_at + PROBE_SPACING_S - self._clock()
        if wait_s <= 0:
            self._suspect()
        else:
            self._next_probe = asyncio.get_running_loop().call_later(wait_s, self._ask_late)

    def _ask_late(self) -> None:
        self._next_probe = None
        if self._is_wanted:
            self._suspect()

    @property
    def _is_wanted(self) -> bool:
        return (
            self._freshness.probed_as_of < self._wanted_at and self._clock() - self._wanted_at <= WANTED_FOR_S
        )

    def _suspect(self) -> None:
        self._suspected_at = self._clock()
        self._namenodes.suspect(self._active.namenode, "coverage is waited for")
