"""A job that commits many part files beside its `_SUCCESS`, as FileOutputCommitter does."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from nncache.hadoop.webhdfs import WebHdfs
from nncache.testbed import Cluster

_AT_ONCE = 16


class Job:
    """Writes parts below `_temporary`, then moves each to its place and marks the end."""

    def __init__(self, cluster: Cluster, output: str, parts: int, user: str = "alice") -> None:
        self.output = output
        self._cluster = cluster
        self._user = user
        self._names = [f"part-{number:05}" for number in range(parts)]

    def write(self, progress: Callable[[], None] = lambda: None) -> None:
        """Write the parts: real, empty files."""

        async def one(hdfs: WebHdfs, name: str) -> None:
            await hdfs.create(f"{self.output}/_temporary/0/{name}")
            progress()

        asyncio.run(self._each(one))

    def commit(self, progress: Callable[[], None] = lambda: None) -> None:
        """Move all parts into place, delete what was temporary, and write `_SUCCESS`."""

        async def one(hdfs: WebHdfs, name: str) -> None:
            moved = await hdfs.rename(f"{self.output}/_temporary/0/{name}", f"{self.output}/{name}")
            assert moved, name
            progress()

        async def end(hdfs: WebHdfs, _: str) -> None:
            await hdfs.delete(f"{self.output}/_temporary", recursive=True)
            await hdfs.create(f"{self.output}/_SUCCESS")

        asyncio.run(self._each(one))
        asyncio.run(self._each(end, ["_SUCCESS"]))

    async def _each(
        self, act: Callable[[WebHdfs, str], Awaitable[None]], names: Iterable[str] | None = None
    ) -> None:
        waiting = iter(self._names if names is None else names)
        async with WebHdfs(f"http://{self._cluster.namenodes[0].http}", self._user) as hdfs:

            async def one_after_the_other() -> None:
                for name in waiting:
                    await act(hdfs, name)

            async with asyncio.TaskGroup() as tasks:
                for _ in range(_AT_ONCE):
                    tasks.create_task(one_after_the_other())
