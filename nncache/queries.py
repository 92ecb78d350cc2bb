"""What the proxy asks a NameNode on its own account, fitted to the pool's RPC connections. (nncache/queries.py)"""

from typing import Protocol

from hadoop.election_view import Active, NameNode


class QueryRpc(Protocol):
    """One NameNode, asked as the user of the service; `hadoop.rpc.namenode.NameNodeRpc` has this shape."""

    async def is_file_closed(self, path: str) -> bool:
        """Say whether nobody writes the file."""
        ...

    async def exists(self, path: str) -> bool:
        """Say whether the path is there."""
        ...

    async def is_directory(self, path: str) -> bool:
        """Say whether the path is there and a directory."""
        ...

    async def get_current_edit_log_txid(self) -> int:
        """Return the last transaction written."""
        ...


class QueryPool(Protocol):
    """The pool; `hadoop.pool.NameNodePool` has this shape."""

    async def wait_active(self, timeout_s: float) -> Active:
        """Return the active NameNode, waiting for it."""
        ...

    def rpc(self, namenode: NameNode) -> QueryRpc:
        """Return the client of this NameNode."""
        ...


class PoolQueries:
    """`proxy.ports.NameNodeQueries` over a pool."""

    def __init__(self, pool: QueryPool, *, timeout_s: float) -> None:
        self._pool = pool
        self._timeout_s = timeout_s  # for an active NameNode to be known

    async def is_file_closed(self, namenode: NameNode, path: str) -> bool:
        """Say whether the file is closed, as that very NameNode sees it."""
        return await self._pool.rpc(namenode).is_file_closed(path)

    async def exists(self, path: str) -> bool:
        """Say whether the active NameNode knows the path."""
        active = await self._pool.wait_active(self._timeout_s)
        return await self._pool.rpc(active.namenode).exists(path)

    async def is_directory(self, path: str) -> bool:
        """Say whether the active NameNode knows the path as a directory."""
        active = await self._pool.wait_active(self._timeout_s)
        return await self._pool.rpc(active.namenode).is_directory(path)

    async def last_txid(self, namenode: NameNode) -> int:
        """Return the last transaction id that this NameNode has written."""
        return await self._pool.rpc(namenode).get_current_edit_log_txid()
