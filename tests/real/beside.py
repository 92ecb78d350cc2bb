"""What goes on beside a test: in a thread, in a process of its own, or many calls at once."""

import asyncio
import multiprocessing
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.testbed import Cluster

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Work:
    """What goes on in a thread: `ending` is set when it has to end."""

    ending: threading.Event
    running: Future[object]

    def check(self) -> None:
        """Raise what has ended it, if anything has."""
        if self.running.done():
            self.running.result()


@contextmanager
def beside(work: Callable[[threading.Event], object]) -> Iterator[Work]:
    """Work in a thread until the block ends, when it is awaited: it ends when the event is set that it is given.

    What it raises is raised at the end of a block that raises nothing itself.
    """
    ending = threading.Event()
    with ThreadPoolExecutor(1) as thread:
        running = Work(ending, thread.submit(work, ending))
        try:
            yield running
        finally:
            ending.set()
    running.check()


@contextmanager
def child(work: Callable[..., None], *args: object) -> Iterator[Connection]:
    """Run a function of a module in a process of its own until the block ends, when the process is killed.

    Its last argument is its end of a pipe; yields the other one.
    """
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=work, args=(*args, theirs), daemon=True)
    process.start()
    theirs.close()  # so that its end is noticed here
    try:
        yield ours
    finally:
        process.kill()
        process.join()


def received(pipe: Connection, within_s: float, otherwise: str) -> Any:
    """Return what a child sends next.

    Raises:
        AssertionError: it does not, or not in time.
    """
    try:
        if pipe.poll(within_s):
            return pipe.recv()
    except EOFError:
        pass
    raise AssertionError(otherwise)


async def at_once(items: Iterable[T], act: Callable[[T], Awaitable[object]], number: int = 16) -> None:
    """Act on each, so many at the same time, and no further ahead."""
    waiting = iter(items)

    async def one_after_the_other() -> None:
        for item in waiting:
            await act(item)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(number):
            tasks.create_task(one_after_the_other())


def on_hdfs(cluster: Cluster, act: Callable[[WebHdfs], Awaitable[T]], user: str | None = None) -> T:
    """Do something at the first NameNode itself, as `user` (None: the superuser)."""

    async def carry_out() -> T:
        async with WebHdfs(f"http://{cluster.namenodes[0].http}", user or cluster.superuser) as hdfs:
            return await act(hdfs)

    return asyncio.run(carry_out())
