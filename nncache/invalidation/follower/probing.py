"""Learn from the pool how fresh a position is, sooner when coverage is waited for.

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
from nncache.invalidation.stream import Covered

CONFIRM_TIMEOUT_S: Final = 5.0
"""How long the pool's word that the log had come as far as the first position is waited for."""

WANTED_FOR_S: Final = 1.0
"""How long a request for coverage counts; later the pool's own interval must do."""

UNSHOWN_S: Final = 10.0
"""How long the active NameNode may say its state and not how far its log has come, where another source can be read."""


class Probing:
    """The probes of one term of the active NameNode, beside one position."""

    def __init__(self, namenodes: NameNodes, active: Active, clock: Callable[[], float]) -> None:
        self._namenodes = namenodes
        self._active = active
        self._clock = clock
        self._freshness = Freshness(active.term, -1, clock())
        self._wanted_at = -inf  # coverage as of then is waited for
        self._suspected_at = -inf  # when the pool was last asked for a probe
        self._next_probe: asyncio.TimerHandle | None = None  # asks for a probe that is wanted and not due yet
        self._unshown_since: float | None = None  # when it had said its state alone; None: it has said both

    @property
    def is_pending(self) -> bool:
        """Whether coverage waits for the position only."""
        return self._freshness.is_pending

    @property
    def txid(self) -> int:
        """The position."""
        return self._freshness.txid

    async def begin(self, txid: int) -> None:
        """Begin at a position, and see that the log of this term has come that far.

        Had the log gone back and grown again by the time of the first probe, nothing would show any more that the
        position is one in another log.

        Raises:
            ChannelUnavailableError: the pool does not say.
            MissingEventsError: it has not come so far (WENT_BACK), or another NameNode is active.
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
            ChannelUnavailableError: it does not say.
        """
        probe = self._namenodes.last_probe
        if probe is None:
            raise ChannelUnavailableError(
                f"{self._active.namenode.http} does not say how far its log has come"
            )
        return probe.txid

    async def wait(self) -> None:
        """Return when the pool may know more."""
        await self._namenodes.wait_probed()

    async def tell(self, news: asyncio.Event) -> NoReturn:
        """Set an event whenever the pool may know more, until cancelled."""
        while True:
            await self.wait()
            news.set()

    def look(self) -> None:
        """Take what the pool knows.

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
        """Raise ChannelUnavailableError if it was not shown for `UNSHOWN_S` how far the log has come."""
        if self._unshown_since is not None and self._clock() - self._unshown_since >= UNSHOWN_S:
            raise ChannelUnavailableError(
                f"{self._active.namenode.http} has not said for {UNSHOWN_S:g} s how far its log has come: "
                "JournalTransactionInfo over JMX"
            )

    def check_term(self) -> None:
        """Raise MissingEventsError once the pool knows another term; not to know of any is no such sign."""
        active = self._namenodes.active
        if active is not None and active.term != self._active.term:
            raise other_incarnation(active, self._active.term)

    def advance(self, txid: int) -> None:
        """Everything up to this transaction has been yielded."""
        self._freshness.advance(txid, self._clock())

    def take(self) -> Covered | None:
        """Return the newest coverage that was not returned yet."""
        return self._freshness.take()

    def want(self) -> None:
        """Coverage as of now is waited for: have the pool probe soon."""
        self._wanted_at = self._clock()
        self._ask()

    def stop(self) -> None:
        """Ask no more."""
        self._wanted_at = -inf
        if self._next_probe is not None:
            self._next_probe.cancel()
            self._next_probe = None

    def _ask(self) -> None:
        """Ask for a probe if one is wanted; if the last was asked for a moment ago, a moment later."""
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
