"""Ask NameNodes as those who asked us: a bounded number of connections, each as one user."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from nncache.hadoop.errors import RpcAuthenticationError, TooManyCallersError
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.namespace import NamespaceCheck
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.hadoop.rpc.user import RpcUser

MAX_CALLER_CONNECTIONS = 64
"""To all NameNodes together; a NameNode spends a file and some kilobytes on each."""

IDLE_S = 60.0
"""A connection that has not been used for so long is closed."""


@dataclass(slots=True)
class _Connection:
    """The client for one user, and how many use it now."""

    rpc: NameNodeRpc
    users: int = 0
    used_at: float = 0.0  # when it was last lent or given back


class CallerConnections:
    """Connections as any number of users; those used last are kept.

    Invariants:
        L1  There are at most `max_connections`.
        L2  One that is in use is closed by `close` alone.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        timeout_s: float,
        max_connections: int = MAX_CALLER_CONNECTIONS,
        identity: KerberosIdentity | None = None,
    ) -> None:
        """Ask as the callers' names alone; with an `identity` as a proxy user, if the NameNode allows it that."""
        self._clock = clock
        self._identity = identity
        self._timeout_s = timeout_s  # of each call
        self._max_connections = max_connections
        self._connections: OrderedDict[tuple[str, RpcUser], _Connection] = OrderedDict()  # oldest use first
        self._is_closed = False

    def __len__(self) -> int:
        """Return how many are kept."""
        return len(self._connections)

    @asynccontextmanager
    async def borrow(
        self, address: str, user: RpcUser, check: NamespaceCheck | None
    ) -> AsyncIterator[NameNodeRpc]:
        """Lend the client of the NameNode at this address as this user; it connects when it is asked.

        `check` compares the namespace of each connection, and is the same one for all users of an address.

        Raises:
            TooManyCallersError: All connections are in use, or all are closed for good.
            RpcAuthenticationError: With an identity, they are a user for whom another one asks: whether that one may
                is not for us to say, and a NameNode that we ask as a proxy user does not ask it.
        """
        key = address, user
        if self._identity is not None and user.real_name is not None:
            raise RpcAuthenticationError(address, f"{user.real_name} may not be asked for with Kerberos")
        given_up: _Connection | None = None
        connection = self._connections.get(key)
        if connection is None:
            given_up = self._make_room()
            rpc = NameNodeRpc(
                address,
                user.name,
                real_user=user.real_name,
                timeout_s=self._timeout_s,
                check=check,
                identity=self._identity,
                is_impersonating=self._identity is not None,
            )
            connection = self._connections[key] = _Connection(rpc)
        self._use(key, connection, 1)
        try:
            if given_up is not None:
                await given_up.rpc.close()
            yield connection.rpc
        finally:
            self._use(key, connection, -1)

    async def close_idle(self) -> None:
        """Close what has not been used for `IDLE_S`."""
        until = self._clock() - IDLE_S
        for key, connection in tuple(self._connections.items()):
            if connection.users == 0 and connection.used_at <= until:
                del self._connections[key]
                await connection.rpc.close()

    async def close(self) -> None:
        """Close all; calls under way fail, and nothing is lent any more."""
        self._is_closed = True
        while self._connections:
            _, connection = self._connections.popitem()
            await connection.rpc.close()

    def _use(self, key: tuple[str, RpcUser], connection: _Connection, change: int) -> None:
        connection.users += change
        connection.used_at = self._clock()
        if key in self._connections:  # not after `close`
            self._connections.move_to_end(key)

    def _make_room(self) -> _Connection | None:
        """Give up the one that is not in use and that was used longest ago, if there is no room."""
        if self._is_closed:
            raise TooManyCallersError("the connections as callers are closed")
        if len(self._connections) < self._max_connections:
            return None
        for key, connection in self._connections.items():
            if connection.users == 0:
                return self._connections.pop(key)
        raise TooManyCallersError(f"all {self._max_connections} connections as callers are in use")
