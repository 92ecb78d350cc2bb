"""Claims: which of several processes works on an item of a queue.

A claim is ephemeral, and its path names the session. Each transaction of the work `CheckOp`s the claim, so it fails for
good once the session has ended, even after another process has claimed the same item. (With one path for all sessions,
the new claim would have version 0 again, and the check would pass.) One transaction creates the claim and changes the
item, whose version is read before the check for other claims: of two concurrent attempts, one is refused.
If the deletion of a claim fails while its session is alive, the same process deletes it later: no other may do that.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

from nncache.coordination.errors import CoordinationError, NoNodeError, ZnodeError
from nncache.coordination.linearizable import LinearizableZnodes
from nncache.coordination.zookeeper import CheckOp, CreateOp, DeleteOp, SetDataOp, Znode
from nncache.namenode.namespace import layout

Claim: TypeAlias = Callable[[], CheckOp]
"""The fence of an item that this process works on, for `FencedZnodes`. It fails once the session has ended."""


class Claims:
    """Claims items for a process."""

    def __init__(self, znodes: LinearizableZnodes) -> None:
        self._znodes = znodes
        self._left: set[str] = set()  # claims that may still exist although their work has ended
        self._tidying = asyncio.Lock()

    async def tidy(self) -> None:
        """Delete leftover claims. Raises CoordinationError: they stay until the next call."""
        async with self._tidying:
            for path in tuple(self._left):
                with suppress(NoNodeError):
                    await self._znodes.commit([DeleteOp(path)])
                self._left.discard(path)

    @asynccontextmanager
    async def claimed(self, queue: str, item: Znode) -> AsyncIterator[Claim | None]:
        """Claim an item that was just read. Yield the claim; None if another process has one, or the item changed."""
        await self.tidy()
        name = item.path.rpartition("/")[2]
        path = layout.claim(queue, name, self._znodes.session_id)
        taken = f"{queue}-{name}-"
        if any(each.startswith(taken) for each in await self._znodes.children(layout.CLAIMS)):
            yield None
            return
        try:
            await self._znodes.commit(
                [SetDataOp(item.path, item.data, item.version), CreateOp(path, b"", ephemeral=True)]
            )
        except ZnodeError:
            yield None
            return
        except BaseException:
            self._left.add(path)  # it may exist
            raise
        try:
            yield lambda: CheckOp(path, 0)
        finally:
            self._left.add(path)
            with suppress(CoordinationError):  # it ends with the session at the latest
                await self.tidy()
