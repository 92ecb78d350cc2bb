"""The addresses of a cluster's servers."""

from dataclasses import dataclass
from typing import Self

from nncache.testbed.ports import PortLease
from nncache.testbed.spec import ClusterSpec


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The listening addresses of one NameNode or JournalNode, as "host:port".

    `http` is empty if the server serves HTTPS alone, `https` if it serves no HTTPS.
    """

    http: str
    rpc: str
    https: str = ""
    id: str = ""  # a NameNode's id within the nameservice


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """The addresses of a cluster's HDFS servers, as "host:port"; empty for servers that the cluster does not have."""

    namenodes: tuple[ServerAddress, ...]
    datanode_data: str = ""
    datanode_ipc: str = ""
    datanode_http: str = ""
    datanode_https: str = ""
    journalnodes: tuple[ServerAddress, ...] = ()

    @classmethod
    def leased(cls, spec: ClusterSpec, ports: PortLease) -> Self:
        """Lease a port for each address that a cluster of this spec has."""

        def take(wanted: int = 0, *, needed: bool = True) -> str:
            return f"{spec.host}:{ports.take(wanted)}" if needed else ""

        plain, encrypted = spec.tls is None or not spec.tls.https_only, spec.tls is not None
        ports_of_first = spec.ports.namenode_http, spec.ports.namenode_rpc
        namenodes = tuple(
            ServerAddress(take(http, needed=plain), take(rpc), take(needed=encrypted), name)
            for name, (http, rpc) in {"nn1": ports_of_first, **({"nn2": (0, 0)} if spec.ha else {})}.items()
        )
        data = spec.with_datanode
        return cls(
            namenodes=namenodes,
            datanode_data=take(needed=data),
            datanode_ipc=take(needed=data),
            datanode_http=take(needed=data and plain),
            datanode_https=take(needed=data and encrypted),
            journalnodes=tuple(
                ServerAddress(take(needed=plain), take(), take(needed=encrypted))
                for _ in range(spec.journalnodes if spec.ha else 0)
            ),
        )
