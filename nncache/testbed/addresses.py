"""Where the servers of a cluster listen."""

from dataclasses import dataclass
from typing import Self

from nncache.testbed.ports import PortLease
from nncache.testbed.spec import ClusterSpec


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where one NameNode or JournalNode listens ("host:port").

    `http` is empty where it serves HTTPS alone, `https` where it serves no HTTPS.
    """

    http: str
    rpc: str
    https: str = ""
    id: str = ""  # of a NameNode, within the nameservice


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where HDFS's servers of a cluster listen, as "host:port"; what the cluster does not have is empty."""

    namenodes: tuple[ServerAddress, ...]
    datanode_data: str = ""
    datanode_ipc: str = ""
    datanode_http: str = ""
    datanode_https: str = ""
    journalnodes: tuple[ServerAddress, ...] = ()

    @classmethod
    def leased(cls, spec: ClusterSpec, ports: PortLease) -> Self:
        """Take a port for each address that a cluster of this kind has."""

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
