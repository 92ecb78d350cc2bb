"""Subscribers of filters, and what each received, and when."""

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

import nncache
from nncache.hadoop.events import Create

READY_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Received:
    """A path that appeared, or events that are missing (path ""), and when a subscriber learnt of them."""

    at: float  # time.monotonic()
    first_txid: int
    last_txid: int
    path: str = ""


@dataclass(slots=True)
class Heard:
    """What one subscriber received, in order."""

    received: list[Received] = field(default_factory=list)

    def paths(self) -> dict[str, float]:
        """Return the paths, each with the time."""
        return {each.path: each.at for each in self.received if each.path}


class Following:
    """Subscribers in a thread of its own, until the block ends."""

    def __init__(self, names: Sequence[str], *, zookeeper: str, nameservice: str) -> None:
        """Lay it out."""
        self._names = names
        self._zookeeper = zookeeper
        self._nameservice = nameservice
        self.heard = {name: Heard() for name in names}
        self._ready = threading.Barrier(2, timeout=READY_S)
        self._failure: BaseException | None = None
        self._loop = asyncio.new_event_loop()
        self._ending = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="subscribers")

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()
        if self._failure is not None and error is None:
            raise self._failure

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._follow_all())
        except BaseException as exc:  # noqa: BLE001 - raised where the block ends
            self._failure = exc
            self._ready.abort()
        finally:
            self._loop.close()

    async def _follow_all(self) -> None:
        entered = [
            nncache.subscribe(name, zookeeper=self._zookeeper, nameservice=self._nameservice)
            for name in self._names
        ]
        try:
            for events in entered:
                await events.__aenter__()
            self._ready.wait()
            async with asyncio.TaskGroup() as tasks:
                followed = [
                    tasks.create_task(self._follow(self.heard[name], events))
                    for name, events in zip(self._names, entered, strict=True)
                ]
                await self._ending.wait()
                for each in followed:
                    each.cancel()
        finally:
            for events in entered:
                await events.__aexit__(None, None, None)

    async def _follow(self, heard: Heard, events: nncache.FilterEvents) -> None:
        while True:
            try:
                async for batch in events:
                    now = time.monotonic()
                    for event in batch.events:
                        if isinstance(event, Create):
                            heard.received.append(Received(now, batch.txid, batch.txid, event.path))
            except nncache.MissingEventsError as gap:
                heard.received.append(Received(time.monotonic(), gap.first_txid or 0, gap.last_txid or 0))
