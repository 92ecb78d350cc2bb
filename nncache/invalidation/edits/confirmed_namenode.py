"""Call one incarnation of the active NameNode, and trust no other.

The shell over `incarnation`: it observes connections, and has the pool's probes confirm which NameNode they reach.
"""

import asyncio
from collections.abc import Callable

from nncache.hadoop.election_view import Active
from nncache.hadoop.events import EditsPage
from nncache.invalidation.edits.incarnation import Incarnation
from nncache.invalidation.errors import ChannelUnavailableError, UnconfirmedReplyError
from nncache.invalidation.namenodes import NameNodes, other_incarnation
from nncache.invalidation.same_namespace import check_namespace

CONFIRM_TIMEOUT_S = 5.0
"""Seconds to wait for a probe that confirms the active NameNode."""


class ConfirmedNameNode:
    """The NameNode that was active when a run of a stream began, in that incarnation.

    All methods raise the errors of `nncache.hadoop.rpc`, UnconfirmedReplyError if the connection changed during the
    call, MissingEventsError once the pool knows another active NameNode, and WrongNamespaceError once it knows that an
    address leads to another namespace.
    """

    def __init__(self, namenodes: NameNodes, active: Active, clock: Callable[[], float]) -> None:
        self._namenodes = namenodes
        self._clock = clock
        self._namenode = active.namenode
        self._rpc = namenodes.rpc(active.namenode)
        self._incarnation = Incarnation(active.term, has_peers=len(namenodes.namenodes) > 1)

    @property
    def term(self) -> int:
        """The term of this incarnation."""
        return self._incarnation.term

    @property
    def is_confirmed(self) -> bool:
        """Whether the present connection is confirmed."""
        return self._incarnation.is_confirmed(self._rpc.connection_id)

    async def confirm(self) -> None:
        """Establish a connection, and only then have the pool confirm which NameNode is active.

        Raises:
            ChannelUnavailableError: no probe confirmed it in time.
        """
        await self._rpc.confirm_namespace()  # sends nothing over an existing connection
        await self._rpc.get_current_edit_log_txid()  # refused by a standby, and to users without the right
        connection_id = self._rpc.connection_id
        since = self._clock()
        self._namenodes.suspect(self._namenode, "new RPC connection: is it still the same?")
        try:
            async with asyncio.timeout(CONFIRM_TIMEOUT_S):
                while not self._is_confirmed_since(since):
                    await self._namenodes.wait_probed()
        except TimeoutError as exc:
            raise ChannelUnavailableError(
                f"{self._namenode.http} was not confirmed as the active NameNode in {CONFIRM_TIMEOUT_S:g} s"
            ) from exc
        self._incarnation.confirmed(connection_id)

    async def present_end(self) -> int:
        """Return the last transaction written.

        Raises:
            ChannelUnavailableError: the log is not open yet (NameNodeRpcServer.getCurrentEditLogTxid).
        """
        sent_on = self._rpc.connection_id
        txid = await self._rpc.get_current_edit_log_txid()
        self._check_believed(sent_on)
        if txid < 0:
            raise ChannelUnavailableError(f"{self._namenode.rpc} is only becoming active")
        return txid

    async def poll(self, from_txid: int) -> EditsPage:
        """Return the page that begins with this transaction.

        There is no await before the poll is sent or after the page arrives: the times that the caller reads are right.
        """
        self.check_term()
        check_namespace(self._namenodes, self._namenode)
        sent_on = self._rpc.connection_id
        page = await self._rpc.get_edits(from_txid)
        self._check_believed(sent_on)
        return page

    async def roll_edits(self) -> int:
        """Begin a new segment of the log; return its first transaction. Calls by other clients do no harm."""
        return await self._rpc.roll_edits()

    def fresh_as_of(self, covered_at: float | None) -> float | None:
        """Return the time as of which everything is covered, given the cursor's result; None if it is unknown."""
        active = self._namenodes.active
        return self._incarnation.fresh_as_of(
            covered_at, None if active is None else active.term, self._namenodes.confirmed_as_of
        )

    def lost(self) -> None:
        """Record that a call got no answer: the next connection must be confirmed first."""
        self._incarnation.lost()

    def suspect(self, why: str) -> None:
        """Have the pool probe immediately which NameNode is active."""
        self._namenodes.suspect(self._namenode, why)

    def check_term(self) -> None:
        """Raise MissingEventsError once another incarnation is active."""
        active = self._namenodes.active
        if active is not None and self._incarnation.is_replaced(active.term):
            raise other_incarnation(active, self.term)

    def _is_confirmed_since(self, since: float) -> bool:
        self.check_term()
        check_namespace(self._namenodes, self._namenode)
        confirmed_as_of = self._namenodes.confirmed_as_of
        return self._namenodes.active is not None and confirmed_as_of is not None and confirmed_as_of >= since

    def _check_believed(self, sent_on: int) -> None:
        self.check_term()
        if not self._incarnation.may_believe(sent_on, self._rpc.connection_id):
            raise UnconfirmedReplyError(f"{self._namenode.rpc}: the connection changed under a call")
