"""Call NameNodes as the users who called nncache: a bounded pool of connections, each for one user."""

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
"""To all NameNodes together; each one costs a NameNode a file descriptor and some kilobytes."""

IDLE_S = 60.0
"""A connection that has been idle for this long is closed."""


@dataclass(slots=True)
class _Connection:
    """The client for one user, and its use."""

    rpc: NameNodeRpc
    users: int = 0  # callers that have borrowed it now
    used_at: float = 0.0  # when it was last borrowed or returned


class CallerConnections:
    """A pool of connections for any number of users; the least recently used one is evicted.

    Invariants:
        L1  There are at most `max_connections`.
        L2  Only `close` closes a connection that is in use.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        timeout_s: float,
        max_connections: int = MAX_CALLER_CONNECTIONS,
        identity: KerberosIdentity | None = None,
    ) -> None:
        """Call with the users' names alone; with an `identity`, as a proxy user, which the NameNode must allow."""
        self._clock = clock
        self._identity = identity
        self._timeout_s = timeout_s  # of each call
        self._max_connections = max_connections
        self._connections: OrderedDict[tuple[str, RpcUser], _Connection] = OrderedDict()  # oldest use first
        self._is_closed = False

    def __len__(self) -> int:
        """Return the number of pooled connections."""
        return len(self._connections)

    @asynccontextmanager
    async def borrow(
        self, address: str, user: RpcUser, check: NamespaceCheck | None
    ) -> AsyncIterator[NameNodeRpc]:
        """Yield a client for this user to the NameNode at this address; it connects at its first call.

        `check` verifies the namespace of each connection. All users of an address must pass the same `check`.

        Raises:
            TooManyCallersError: All connections are in use, or the pool is closed.
            RpcAuthenticationError: There is an identity and the user has a real user: nncache cannot judge whether
                that one may impersonate, and a NameNode that nncache calls as a proxy user does not check it.
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
        """Close the connections that have been idle for `IDLE_S`."""
        until = self._clock() - IDLE_S
        for key, connection in tuple(self._connections.items()):
            if connection.users == 0 and connection.used_at <= until:
                del self._connections[key]
                await connection.rpc.close()

    async def close(self) -> None:
        """Close all connections: calls in flight fail, and so does each later `borrow`."""
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
        """Evict and return the least recently used idle connection if the pool is full; None if it is not."""
        if self._is_closed:
            raise TooManyCallersError("the connections as callers are closed")
        if len(self._connections) < self._max_connections:
            return None
        for key, connection in self._connections.items():
            if connection.users == 0:
                return self._connections.pop(key)
        raise TooManyCallersError(f"all {self._max_connections} connections as callers are in use")
