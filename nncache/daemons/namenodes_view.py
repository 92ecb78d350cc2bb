"""The operators' view of the NameNodes."""

from nncache.hadoop.election_view import NameNode
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.hadoop.namespace import NamespaceCheck


def namenodes_view(pool: NameNodePool) -> tuple[dict[str, object], ...]:
    """Return the addresses, namespaces and state of each NameNode, as JSON."""
    return tuple(
        about_namenode(each, pool.namespace_check(each))
        | {"state": "unreachable" if (state := pool.state_of(each)) is None else state.name.lower()}
        for each in pool.namenodes
    )


def about_namenode(namenode: NameNode, check: NamespaceCheck) -> dict[str, object]:
    """Return the addresses of a NameNode, and the namespace at each address; None if it is not known yet."""
    over_http, over_rpc = check.over_http, check.over_rpc
    return {
        "http": namenode.http,
        "rpc": namenode.rpc,
        "namespace_over_http": None if over_http is None else str(over_http),
        "namespace_over_rpc": None if over_rpc is None else str(over_rpc),
    }
