"""Changes of HDFS that continue while parts of the service break."""

import asyncio
import random
import threading
from typing import Final

from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.testbed import Cluster
from tests.real.beside import on_hdfs

PER_S: Final = 40.0
"""Calls a second."""


class Workload:
    """A client that creates, moves, changes and deletes directories below a directory."""

    def __init__(self, below: str, seed: int) -> None:
        self._below = below
        self._chance = random.Random(seed)
        self._paths: list[str] = []
        self.calls = 0

    def run(self, cluster: Cluster, ending: threading.Event) -> None:
        """Work until `ending` is set."""

        async def work(hdfs: WebHdfs) -> None:
            while not ending.is_set():
                await self._call(hdfs)
                self.calls += 1
                await asyncio.sleep(self._chance.expovariate(PER_S))

        on_hdfs(cluster, work)

    async def _call(self, hdfs: WebHdfs) -> None:
        paths, chance = self._paths, self._chance
        kind = chance.choice(("make", "make", "move", "change", "remove")) if paths else "make"
        match kind:
            case "make":
                paths.append(self._new_path())
                await hdfs.mkdirs(paths[-1])
            case "move":
                old, new = paths.pop(chance.randrange(len(paths))), self._new_path()
                await hdfs.rename(old, new)
                paths.append(new)
            case "change":
                await hdfs.set_permission(chance.choice(paths), chance.choice(("700", "750", "755")))
            case _:
                await hdfs.delete(paths.pop(chance.randrange(len(paths))))

    def _new_path(self) -> str:
        directory, letter = self._chance.choice("abc"), self._chance.choice("xy")
        return f"{self._below}/{directory}/{letter}{self.calls}"
