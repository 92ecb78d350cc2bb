"""Check that the active NameNode's two addresses lead to one namespace."""

from typing import Final

from nncache.hadoop.election_view import Active, NameNode
from nncache.hadoop.errors import (
    HadoopError,
    RemoteCallError,
    RpcAuthenticationError,
    RpcUnavailableError,
    WrongAddressError,
)
from nncache.hadoop.namespace import Namespace
from nncache.hadoop.remote_exception import Verdict
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    NotPermittedError,
    UnreadableEditsError,
    WrongNamespaceError,
)
from nncache.invalidation.namenodes import NameNodes

PASSING: Final = (Verdict.STANDBY, Verdict.RETRIABLE, Verdict.SAFE_MODE)
"""Verdicts that pass by themselves, or once the pool finds another active NameNode."""


async def check_same_namespace(namenodes: NameNodes, active: Active) -> Namespace:
    """Return the namespace that the active NameNode reports over both HTTP and RPC.

    Raises:
        WrongNamespaceError: It reports another one over RPC, or other NameNodes do over HTTP.
        NotPermittedError: It refuses the connection.
        ChannelUnavailableError: It does not answer, or does not report its namespace.
    """
    if active.namespace is None:
        raise ChannelUnavailableError(f"{active.namenode.http} does not say which namespace it serves")
    try:
        await namenodes.rpc(active.namenode).confirm_namespace()
    except HadoopError as exc:
        raise unavailable(exc) from exc
    check_namespace(namenodes, active.namenode)
    return active.namespace


def check_namespace(namenodes: NameNodes, namenode: NameNode) -> None:
    """Raise WrongNamespaceError if it is known that an address leads to another namespace."""
    if trouble := namenodes.wrong_namespace(namenode):
        raise WrongNamespaceError(trouble)


def unavailable(exc: HadoopError) -> ChannelUnavailableError:
    """Translate an error of Hadoop into one of this room: who can help, and whether the edits are at fault."""
    match exc:
        case RemoteCallError(verdict=Verdict.ACCESS_CONTROL) | RpcAuthenticationError():
            return NotPermittedError(str(exc))
        case WrongAddressError():
            return WrongNamespaceError(str(exc))
        case RpcUnavailableError():
            return ChannelUnavailableError(str(exc))
        case RemoteCallError(verdict=Verdict.STANDBY, address=address):
            return ChannelUnavailableError(
                f"{address} says over RPC that it is standby, and over HTTP that it is active: if this is not just a "
                "failover, --namenode-http and --namenode-rpc do not name the NameNodes in the same order"
            )
        case RemoteCallError(verdict=verdict) if verdict in PASSING:
            return ChannelUnavailableError(str(exc))
    return UnreadableEditsError(str(exc))
