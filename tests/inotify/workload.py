"""Changes of HDFS that go on while parts of the service break."""

import asyncio
import random
import threading
from types import TracebackType
from typing import Final, Self

from nncache.hadoop.webhdfs import WebHdfs

PER_S: Final = 40.0
"""Calls a second."""


class Workload:
    """Makes, moves, changes and removes directories below a place, in a thread of its own, until the block ends."""

    def __init__(self, namenode: str, user: str, below: str, seed: int) -> None:
        self._namenode = namenode
        self._user = user
        self._below = below
        self._chance = random.Random(seed)
        self._ending = threading.Event()
        self._paths: list[str] = []
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="workload")
        self.calls = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        self._thread.join()
        if self._failure is not None and error is None:
            raise self._failure

    def _run(self) -> None:
        try:
            asyncio.run(self._work())
        except BaseException as exc:  # noqa: BLE001 - raised where the block ends
            self._failure = exc

    async def _work(self) -> None:
        async with WebHdfs(f"http://{self._namenode}", self._user) as hdfs:
            while not self._ending.is_set():
                await self._call(hdfs)
                self.calls += 1
                await asyncio.sleep(self._chance.expovariate(PER_S))

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
