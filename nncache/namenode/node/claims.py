"""Who of several processes works on an item of a queue.

A claim is ephemeral, and its path names the session: `Check`ed in each transaction of the work, it makes that of a
process whose session has ended fail for good, also after another one has claimed the same item. (A claim of one path
for all would have version 0 again, so its check would pass.) The claim is made in one transaction with a change of the
item, whose version was read before it was seen that no other claims it: of two that try at once, one is refused.
A claim whose end did not come through, though its session lives on, is taken away later: no other may do that.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

from nncache.coordination.errors import CoordinationError, NoNodeError, ZnodeError
from nncache.coordination.linearizable import LinearizableZnodes
from nncache.coordination.zookeeper import Check, Create, Delete, SetData, Znode
from nncache.namenode.namespace import layout

Claim: TypeAlias = Callable[[], Check]
"""Of an item that this process works on: the fence of `FencedZnodes`, which fails once the session has ended."""


class Claims:
    """Claims items for a process."""

    def __init__(self, znodes: LinearizableZnodes) -> None:
        self._znodes = znodes
        self._left: set[str] = set()  # claims that may still be there, though nothing is worked on under them
        self._tidying = asyncio.Lock()

    async def tidy(self) -> None:
        """Take away the claims that are left. Raises CoordinationError: they stay until the next time."""
        async with self._tidying:
            for path in tuple(self._left):
                with suppress(NoNodeError):
                    await self._znodes.commit([Delete(path)])
                self._left.discard(path)

    @asynccontextmanager
    async def claimed(self, queue: str, item: Znode) -> AsyncIterator[Claim | None]:
        """Give a claim of an item that was read just now; None: another one works on it, or it has changed."""
        await self.tidy()
        name = item.path.rpartition("/")[2]
        path = layout.claim(queue, name, self._znodes.session_id)
        taken = f"{queue}-{name}-"
        if any(each.startswith(taken) for each in await self._znodes.children(layout.CLAIMS)):
            yield None
            return
        try:
            await self._znodes.commit(
                [SetData(item.path, item.data, item.version), Create(path, b"", ephemeral=True)]
            )
        except ZnodeError:
            yield None
            return
        except BaseException:
            self._left.add(path)  # it may have been made
            raise
        try:
            yield lambda: Check(path, 0)
        finally:
            self._left.add(path)
            with suppress(CoordinationError):  # it ends with the session at the latest
                await self.tidy()
