"""The interfaces of the pool of NameNodes and of one NameNode."""

from collections.abc import Sequence
from typing import Final, Protocol

from nncache.hadoop.election_view import Active, NameNode, Probe
from nncache.hadoop.errors import NoActiveNameNodeError
from nncache.hadoop.events import EditsPage
from nncache.invalidation.errors import ChannelUnavailableError, MissingEventsError

ACTIVE_TIMEOUT_S: Final = 5.0
"""Seconds to wait for an active NameNode when a run begins."""


class EditsRpc(Protocol):
    """One NameNode, as the service user; `nncache.hadoop.rpc.namenode.NameNodeRpc` has this shape."""

    @property
    def connection_id(self) -> int:
        """Incremented with every (re)connection; 0 before the first."""

    async def confirm_namespace(self) -> None:
        """Ensure a connection to the HTTP address's namespace. Raises WrongAddressError: it leads to another one."""

    async def get_edits(self, from_txid: int) -> EditsPage:
        """Return the page of edits that begins with this transaction."""

    async def get_current_edit_log_txid(self) -> int:
        """Return the last transaction written, which may not be durable yet; -1 while becoming active."""

    async def namespace_id(self) -> int:
        """Return the namespace id, which the namespace's journals have as well."""

    async def roll_edits(self) -> int:
        """Begin a new segment of the log; return its first transaction."""


class NameNodes(Protocol):
    """The pool; `nncache.hadoop.namenodes.pool.NameNodePool` has this shape."""

    @property
    def namenodes(self) -> Sequence[NameNode]:
        """All configured NameNodes."""

    @property
    def active(self) -> Active | None:
        """The active NameNode; None while none, or several, report that they are active."""

    @property
    def confirmed_as_of(self) -> float | None:
        """When the last probe was sent that found `active` to be the only active NameNode."""

    @property
    def last_probe(self) -> Probe | None:
        """The last known end of the log of `active`, and its time; None while `active` is, or does not report it."""

    def wrong_namespace(self, namenode: NameNode) -> str:
        """Return which namespaces are mixed up, and the remedy; "" while none are known to be."""

    def suspect(self, namenode: NameNode, why: str) -> None:
        """Have the NameNode probed immediately."""

    async def wait_probed(self) -> None:
        """Wait until the next probe has ended, with or without an answer."""

    async def wait_active(self, timeout_s: float) -> Active:
        """Wait for the active NameNode and return it. Raises NoActiveNameNodeError."""

    def rpc(self, namenode: NameNode) -> EditsRpc:
        """Return the client of this NameNode."""


async def wait_active(namenodes: NameNodes) -> Active:
    """Wait for the active NameNode when a run begins, and return it.

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
