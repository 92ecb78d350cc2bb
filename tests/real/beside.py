"""Work that runs during a test: in a thread, in a child process, or as calls of HDFS."""

import asyncio
import multiprocessing
import threading
from collections.abc import Awaitable, Callable, Iterator
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
    """Work in a thread; setting `ending` asks it to end."""

    ending: threading.Event
    running: Future[object]

    def check(self) -> None:
        """Raise the exception that ended the work, if any."""
        if self.running.done():
            self.running.result()


@contextmanager
def beside(work: Callable[[threading.Event], object]) -> Iterator[Work]:
    """Run work in a thread during the block; at its end, set the event given to the work and wait.

    An exception of the work is raised at the end of the block, unless the block itself raises.
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
    """Run a module's function in a child process during the block; kill the process at the end.

    The function's last argument is one end of a pipe; the other end is yielded.
    """
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=work, args=(*args, theirs), daemon=True)
    process.start()
    theirs.close()  # otherwise a closed pipe would not be noticed
    try:
        yield ours
    finally:
        process.kill()
        process.join()


def received(pipe: Connection, within_s: float, otherwise: str) -> Any:
    """Return the next object from a child.

    Raises:
        AssertionError: it did not come in time, or the child has ended.
    """
    try:
        if pipe.poll(within_s):
            return pipe.recv()
    except EOFError:
        pass
    raise AssertionError(otherwise)


def on_hdfs(cluster: Cluster, act: Callable[[WebHdfs], Awaitable[T]], user: str | None = None) -> T:
    """Call `act` with a client of the first NameNode, as `user` (None: the superuser)."""

    async def carry_out() -> T:
        async with WebHdfs(f"http://{cluster.namenodes[0].http}", user or cluster.superuser) as hdfs:
            return await act(hdfs)

    return asyncio.run(carry_out())
