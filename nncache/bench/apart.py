"""A process of load beside the one that measures, with a pipe between the two."""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess


@contextmanager
def apart(run: Callable[..., None], *arguments: object, **named: object) -> Iterator[Connection]:
    """Run it in a process of its own until the end of the block; it is given the other end of the pipe first."""
    ours, theirs = multiprocessing.Pipe()
    process: BaseProcess = multiprocessing.get_context("spawn").Process(
        target=run, args=(theirs, *arguments), kwargs=named, daemon=True
    )
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.terminate()
        process.join()


def next_of(pipe: Connection, timeout_s: float) -> object:
    """Return what the process at the other end sends next.

    Raises:
        OSError: it ended, or sent nothing in time.
    """
    if not pipe.poll(timeout_s):
        raise TimeoutError("a process that makes load hangs")
    try:
        return pipe.recv()
    except EOFError as error:
        raise ConnectionError("a process that makes load has ended") from error
