"""What this room asks of the pool of NameNodes and of one NameNode."""

from collections.abc import Sequence
from typing import Final, Protocol

from nncache.hadoop.election_view import Active, NameNode, Probe
from nncache.hadoop.errors import NoActiveNameNodeError
from nncache.hadoop.events import EditsPage
from nncache.invalidation.errors import ChannelUnavailableError, MissingEventsError

ACTIVE_TIMEOUT_S: Final = 5.0
"""How long an active NameNode is waited for when a run begins."""


class EditsRpc(Protocol):
    """One NameNode, as the service user; `nncache.hadoop.rpc.namenode.NameNodeRpc` has this shape."""

    @property
    def connection_id(self) -> int:
        """Counts up with every (re)connection; 0 before the first."""

    async def confirm_namespace(self) -> None:
        """See to it that there is a connection, to the namespace of the HTTP address. Else raises WrongAddressError."""

    async def get_edits(self, from_txid: int) -> EditsPage:
        """Return the page of edits that begins with this transaction."""

    async def get_current_edit_log_txid(self) -> int:
        """Return the last transaction written; it may not be durable yet. -1 while becoming active."""

    async def namespace_id(self) -> int:
        """Return the number of the namespace, which its journals carry as well."""

    async def roll_edits(self) -> int:
        """Begin a new segment of the log; return its first transaction."""


class NameNodes(Protocol):
    """The pool; `nncache.hadoop.namenodes.pool.NameNodePool` has this shape."""

    @property
    def namenodes(self) -> Sequence[NameNode]:
        """All that are configured."""

    @property
    def active(self) -> Active | None:
        """The active one, None while none or several say that they are."""

    @property
    def confirmed_as_of(self) -> float | None:
        """When the last probe was sent that found `active` to be the only active one."""

    @property
    def last_probe(self) -> Probe | None:
        """By when it is known how far the log of `active` had come; None while `active` is, or does not say."""

    def wrong_namespace(self, namenode: NameNode) -> str:
        """Return which namespaces are mixed up, and what to do; "" while none are known to be."""

    def suspect(self, namenode: NameNode, why: str) -> None:
        """Have it probed at once."""

    async def wait_probed(self) -> None:
        """Return when the next probe has ended, with or without an answer."""

    async def wait_active(self, timeout_s: float) -> Active:
        """Return the active one, waiting for it. Raises NoActiveNameNodeError."""

    def rpc(self, namenode: NameNode) -> EditsRpc:
        """Return the client of this NameNode."""


async def wait_active(namenodes: NameNodes) -> Active:
    """Wait for the active NameNode when a run begins.

    Raises:
        ChannelUnavailableError: none became active in time; the text says why.
    """
    try:
        return await namenodes.wait_active(ACTIVE_TIMEOUT_S)
    except NoActiveNameNodeError as exc:
        raise ChannelUnavailableError(exc.whole) from exc


def other_incarnation(active: Active, term: int) -> MissingEventsError:
    """Return the error of a stream that followed the NameNode of this term and finds another one active."""
    return MissingEventsError(
        f"the active NameNode is another one or was restarted: {active.namenode.http}, "
        f"term {active.term} after {term}"
    )
