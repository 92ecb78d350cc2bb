"""See that the active NameNode's two addresses lead to one namespace. (invalidation/same_namespace.py)"""

from hadoop.election_view import Active
from hadoop.errors import HadoopError
from hadoop.errors import WrongNamespaceError as WrongAddressError
from hadoop.namespace import Namespace
from invalidation.errors import ChannelUnavailableError, WrongNamespaceError
from invalidation.namenodes import NameNodes


async def see_same_namespace(namenodes: NameNodes, active: Active) -> Namespace:
    """Return the namespace that the active NameNode names over HTTP and over RPC alike.

    Raises:
        WrongNamespaceError: It names another one over RPC, or other NameNodes do over HTTP.
        ChannelUnavailableError: It cannot be asked, or does not say.
    """
    if active.namespace is None:
        raise ChannelUnavailableError(f"{active.namenode.http} does not say which namespace it serves")
    try:
        await namenodes.rpc(active.namenode).confirm_namespace()
    except WrongAddressError as exc:
        raise WrongNamespaceError(str(exc)) from exc
    except HadoopError as exc:
        raise ChannelUnavailableError(str(exc)) from exc
    if trouble := namenodes.wrong_namespace(active.namenode):
        raise WrongNamespaceError(trouble)
    return active.namespace
