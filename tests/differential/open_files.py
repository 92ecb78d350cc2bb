"""Which files are open for writing, by what the NameNode says."""

import asyncio
from collections.abc import Iterable
from typing import Self

from nncache.hadoop.errors import RemoteCallError
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.testbed import Cluster
from tests.secured.service import own_identity


class OpenFiles:
    """Asks the NameNode's isFileClosed, which leaves access times alone, as the superuser."""

    def __init__(self, cluster: Cluster) -> None:
        self._runner = asyncio.Runner()
        self._rpc = NameNodeRpc(cluster.namenodes[0].rpc, cluster.superuser, identity=own_identity(cluster))

    def among(self, paths: Iterable[str]) -> set[str]:
        """Return those of the paths that are open files, or no files any more."""
        return self._runner.run(self._among(list(paths)))

    async def _among(self, paths: list[str]) -> set[str]:
        closed = await asyncio.gather(*map(self._is_closed, paths))
        return {path for path, is_closed in zip(paths, closed, strict=True) if not is_closed}

    async def _is_closed(self, path: str) -> bool:
        try:
            return await self._rpc.is_file_closed(path)
        except RemoteCallError:
            return False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._rpc.close())
        self._runner.close()
