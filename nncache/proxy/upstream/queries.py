"""The proxy's own queries to a NameNode, over the pool's RPC."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from cachetools import TTLCache

from nncache.hadoop.election_view import NameNode
from nncache.hadoop.errors import (
    CallerRefusedError,
    RemoteCallError,
    RpcAuthenticationError,
    RpcError,
    TooManyCallersError,
)
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.hadoop.remote_exception import Verdict
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.messages import WriteRight

REFUSAL_REMEMBERED_S: Final = 300.0
"""For so many seconds after a refusal the service counts as no superuser and is not asked first, and a caller who could
not log in is not tried again. A NameNode caches a user's groups as long (hadoop.security.groups.cache.secs)."""

MAX_REFUSED_CALLERS: Final = 1000

CALLERS_PAUSE_S: Final = 0.02
"""Seconds between two attempts to get a connection as a caller; a query takes a few milliseconds."""

_log = logging.getLogger(__name__)


class PoolQueries:
    """`nncache.proxy.decide.ports.NameNodeQueries` over a pool.

    With `asks_txid_over_jmx` the service need not be a superuser.
    """

    def __init__(
        self,
        pool: NameNodePool,
        *,
        timeout_s: float,
        asks_txid_over_jmx: bool = False,
        clock: Callable[[], float],
    ) -> None:
        self._pool = pool
        self._timeout_s = timeout_s  # to wait for an active NameNode
        self._asks_txid_over_jmx = asks_txid_over_jmx
        self._clock = clock
        self._no_superuser_until = float("-inf")  # until then the service is known not to be one
        self._refused_callers: TTLCache[RpcUser, None] = TTLCache(
            MAX_REFUSED_CALLERS, REFUSAL_REMEMBERED_S, timer=clock
        )  # who cannot log in, such as proxy users that are allowed only from other hosts

    async def is_file_closed(self, namenode: NameNode, path: str, caller: RpcUser | None) -> bool:
        """Return whether this NameNode considers the file closed.

        It is asked as the service and, if it refuses that, as the caller, who has just got the file's status from it.
        While the service is known to be no superuser, the caller comes first.
        """
        caller = self._helpful(caller)
        if caller is None:
            return await self._pool.rpc(namenode).is_file_closed(path)
        if self._clock() < self._no_superuser_until:
            try:
                return await self._is_file_closed_as(namenode, path, caller)
            except RpcError as error:
                if not _is_refusal(error):
                    raise
                return await self._pool.rpc(namenode).is_file_closed(path)
        try:
            return await self._pool.rpc(namenode).is_file_closed(path)
        except RemoteCallError as error:
            if not _is_refusal(error):
                raise
            _log.debug("asking as the caller: %s", error)
        self._no_superuser_until = self._clock() + REFUSAL_REMEMBERED_S
        return await self._is_file_closed_as(namenode, path, caller)

    def _helpful(self, caller: RpcUser | None) -> RpcUser | None:
        """Return the caller if a query as the caller may succeed where the service's does not; else None."""
        is_service = caller == RpcUser(self._pool.user)
        return None if caller is None or is_service or caller in self._refused_callers else caller

    async def _is_file_closed_as(self, namenode: NameNode, path: str, caller: RpcUser) -> bool:
        try:
            async with self._pool.rpc_as(namenode, caller) as rpc:
                return await rpc.is_file_closed(path)
        except RpcAuthenticationError:
            self._refused_callers[caller] = None
            raise

    async def exists(self, path: str, caller: RpcUser | None = None) -> bool:
        """Return whether the path exists, as the active NameNode answers the caller."""
        return bool(await self._ask_as(caller, lambda rpc: rpc.exists(path)))

    async def is_directory(self, path: str, caller: RpcUser | None = None) -> bool:
        """Return whether the path is a directory, as the active NameNode answers the caller."""
        return bool(await self._ask_as(caller, lambda rpc: rpc.is_directory(path)))

    async def may_write(self, path: str, caller: RpcUser | None) -> WriteRight:
        """Return whether the caller may write the path."""
        if caller is None or (caller != RpcUser(self._pool.user) and self._helpful(caller) is None):
            return WriteRight.UNKNOWN
        may = await self._ask_as(caller, lambda rpc: rpc.may_write(path))
        if caller in self._refused_callers:
            return WriteRight.UNKNOWN  # since this query, which was asked as the service
        return WriteRight.MISSING if may is None else WriteRight.GRANTED if may else WriteRight.DENIED

    async def _ask_as(
        self, caller: RpcUser | None, question: Callable[[NameNodeRpc], Awaitable[bool | None]]
    ) -> bool | None:
        """Ask the active NameNode as the caller, or as the service if that is not possible.

        While all connections as callers are in use this waits, until its own caller's timeout: a busy pool does not
        mean that the right is missing.
        """
        active = await self._pool.wait_active(self._timeout_s)
        while (helpful := self._helpful(caller)) is not None:
            try:
                async with self._pool.rpc_as(active.namenode, helpful) as rpc:
                    return await question(rpc)
            except TooManyCallersError:
                await asyncio.sleep(CALLERS_PAUSE_S)
            except RpcAuthenticationError as error:
                self._refused_callers[helpful] = None
                _log.debug("asking as the service: %s", error)
            except RemoteCallError as error:
                if _is_refusal(error):
                    raise CallerRefusedError(str(error)) from error
                raise
        return await question(self._pool.rpc(active.namenode))

    async def last_txid(self, namenode: NameNode) -> int:
        """Return a transaction id >= all that the active NameNode `namenode` wrote before this call."""
        if self._asks_txid_over_jmx:
            return await self._pool.last_txid(namenode)
        return await self._pool.rpc(namenode).get_current_edit_log_txid()


def _is_refusal(error: RpcError) -> bool:
    """Whether the error applies to this caller only, so that another caller may get an answer."""
    match error:
        case RemoteCallError():
            return error.verdict is Verdict.ACCESS_CONTROL
        case _:
            return isinstance(error, RpcAuthenticationError | TooManyCallersError)
