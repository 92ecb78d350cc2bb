"""The namespace of a NameNode, and the check that both its addresses lead to it.

Pure. Source: org.apache.hadoop.hdfs.server.protocol.NamespaceInfo of Hadoop 3.4.1 and 3.5.0; docs/decisions/0012.
"""

from dataclasses import dataclass

from nncache.hadoop.errors import RpcUnavailableError, WrongAddressError


@dataclass(frozen=True, slots=True)
class Namespace:
    """One namespace: the same on all NameNodes of an HA group, another one after a format."""

    cluster_id: str
    block_pool: str

    def __str__(self) -> str:
        return f"{self.block_pool} of cluster {self.cluster_id}"


class NamespaceCheck:
    """Compares the namespaces behind the two addresses of one NameNode.

    Invariants:
        N1  `admit` returns only if the RPC connection's namespace is the last one of the HTTP address.
        N2  `trouble` is set from a refused connection until one is admitted, or until the namespace of the HTTP address
            changes: then it leads to another process, and the earlier answer over RPC is outdated.
    """

    def __init__(self, http: str, rpc: str) -> None:
        self._http = http
        self._rpc = rpc
        self.over_http: Namespace | None = None  # the last answer; None if it was without a namespace
        # The last answer of any connection since `over_http` changed.
        self.over_rpc: Namespace | None = None

    @property
    def trouble(self) -> str:
        """The mismatch and what to do about it; "" if none is known."""
        if self.over_http is None or self.over_rpc is None or self.over_rpc == self.over_http:
            return ""
        return (
            f"the RPC address {self._rpc} serves namespace {self.over_rpc}, but the HTTP address {self._http} serves "
            f"{self.over_http}: name both addresses of the same NameNode in --namenode-rpc and --namenode-http"
        )

    def note_over_http(self, namespace: Namespace | None) -> None:
        """Record the namespace of the HTTP address; None: it did not name it."""
        if namespace != self.over_http:
            self.over_rpc = None  # it may be another process, which has not answered over RPC yet
        self.over_http = namespace

    def admit(self, namespace: Namespace) -> None:
        """Record the namespace of an RPC connection, and return if it is that of the HTTP address.

        Raises:
            WrongAddressError: The HTTP address serves another namespace.
            RpcUnavailableError: The namespace of the HTTP address is unknown.
        """
        self.over_rpc = namespace
        if self.over_http is None:
            raise RpcUnavailableError(
                f"{self._rpc} is not asked: {self._http} has not said which namespace it serves",
                is_sent=False,
            )
        if trouble := self.trouble:
            raise WrongAddressError(trouble)

    def is_same(self, namespace: Namespace) -> bool:
        """Whether a connection to this namespace may still be used."""
        return namespace == self.over_http
