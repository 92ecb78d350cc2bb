"""Prefix each log line with the name of its namespace, in a proxy of several namespaces.

The parts of a namespace do not know its name. They run in a context that holds the name (PEP 567), and their tasks and
callbacks inherit this context.
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
    """Prefix log lines with this namespace inside the block."""
    token = _NAMESPACE.set(name)
    try:
        yield
    finally:
        _NAMESPACE.reset(token)


async def run_named(name: str, work: Callable[[], Awaitable[T]]) -> T:
    """Run `work` in the context of a namespace, and return its result."""
    with naming(name):
        return await work()


def named(name: str, handle: Callable[[Asked], Awaitable[T]]) -> Callable[[Asked], Awaitable[T]]:
    """Return a handler that calls `handle` in the context of a namespace."""

    async def handle_named(asked: Asked) -> T:
        with naming(name):
            return await handle(asked)

    return handle_named


def name_lines() -> None:
    """Make the log handlers prefix each line with the namespace of its context."""
    for handler in logging.getLogger().handlers:
        handler.addFilter(_add_name)


def _add_name(record: logging.LogRecord) -> bool:
    name = _NAMESPACE.get()
    if name:
        record.msg, record.args = f"[{name}] {record.getMessage()}", ()
    return True
