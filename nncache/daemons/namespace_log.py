"""Name the namespace that a line of the log is about, where there are several.

The parts of a namespace do not know its name: what they do, they do in a context that has it (PEP 567), which the tasks
and callbacks that they begin inherit.
"""

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

_NAMESPACE: Final[ContextVar[str]] = ContextVar("nncache_namespace", default="")

T = TypeVar("T")
Asked = TypeVar("Asked")


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Name lines by this namespace for as long as the block lasts."""
    token = _NAMESPACE.set(name)
    try:
        yield
    finally:
        _NAMESPACE.reset(token)


async def run_named(name: str, work: Callable[[], Awaitable[T]]) -> T:
    """Do some work for the namespace of this name; returns its result."""
    with naming(name):
        return await work()


def named(name: str, handle: Callable[[Asked], Awaitable[T]]) -> Callable[[Asked], Awaitable[T]]:
    """Return what does the same for the namespace of this name."""

    async def handle_named(asked: Asked) -> T:
        with naming(name):
            return await handle(asked)

    return handle_named


def name_lines() -> None:
    """Have each line that is logged in such a context begin with the name of its namespace, from now on."""
    for handler in logging.getLogger().handlers:
        handler.addFilter(_add_name)


def _add_name(record: logging.LogRecord) -> bool:
    name = _NAMESPACE.get()
    if name:
        record.msg, record.args = f"[{name}] {record.getMessage()}", ()
    return True
