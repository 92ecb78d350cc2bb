"""Which namespace a NameNode serves, and whether both its addresses lead to it.

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
    """Compares what the two addresses of one NameNode say about its namespace.

    Invariants:
        N1  `admit` returns only if the RPC connection said what the HTTP address said last.
        N2  `trouble` is not empty from a refused connection until one is admitted, or until the HTTP address says
            something else than before: that is another process, and what RPC said is of no more use.
    """

    def __init__(self, http: str, rpc: str) -> None:
        self._http = http
        self._rpc = rpc
        self.over_http: Namespace | None = None  # as last said; None: the present process has not said
        # As last said, by any connection, while HTTP says what it says.
        self.over_rpc: Namespace | None = None

    @property
    def trouble(self) -> str:
        """What is wrong and what to do about it; "" while nothing is known to be wrong."""
        if self.over_http is None or self.over_rpc is None or self.over_rpc == self.over_http:
            return ""
        return (
            f"the RPC address {self._rpc} serves namespace {self.over_rpc}, but the HTTP address {self._http} serves "
            f"{self.over_http}: name both addresses of the same NameNode in --namenode-rpc and --namenode-http"
        )

    def note_over_http(self, namespace: Namespace | None) -> None:
        """Take what the HTTP address says; None: it does not say."""
        if namespace != self.over_http:
            self.over_rpc = None  # a process that was formatted has not said anything yet
        self.over_http = namespace

    def admit(self, namespace: Namespace) -> None:
        """Take what an RPC connection says.

        Raises:
            WrongAddressError: The HTTP address serves another namespace.
            RpcUnavailableError: The HTTP address has not said which namespace it serves.
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
        """Whether a connection that said this may still be used."""
        return namespace == self.over_http
