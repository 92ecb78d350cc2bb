"""Who of several processes works on an item of a queue.

A claim is ephemeral, and its path names the session: `Check`ed in each transaction of the work, it makes that of a
process whose session has ended fail for good, also after another one has claimed the same item. (A claim of one path
for all would have version 0 again, so its check would pass.) The claim is made in one transaction with a change of the
item, whose version was read before it was seen that no other claims it: of two that try at once, one is refused.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from nncache.coordination.errors import CoordinationError, ZnodeError
from nncache.coordination.linearizable import LinearizableZnodes
from nncache.coordination.zookeeper import Check, Create, Delete, SetData, Znode
from nncache.namenode.namespace import layout


class Claim:
    """An item that this process works on: what `FencedZnodes` checks in each transaction."""

    def __init__(self, path: str) -> None:
        self._path = path

    def fence(self) -> Check:
        """Return what makes a transaction fail once the session has ended."""
        return Check(self._path, 0)


class Claims:
    """Claims items for a process."""

    def __init__(self, znodes: LinearizableZnodes) -> None:
        self._znodes = znodes

    @asynccontextmanager
    async def claimed(self, queue: str, item: Znode) -> AsyncIterator[Claim | None]:
        """Give a claim of an item that was read just now; None: another one works on it, or it has changed."""
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
        try:
            yield Claim(path)
        finally:
            with suppress(CoordinationError):  # it ends with the session
                await self._znodes.commit([Delete(path)])
