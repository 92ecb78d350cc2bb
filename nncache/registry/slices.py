"""Long work that lets other work go on."""

import asyncio
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

SLICE_BYTES: Final = 16_384
"""Of records that are parsed or written in one turn of the event loop: a few milliseconds."""

_LEAST_BYTES: Final = 128
"""Which an entry counts as at least: one without a record takes time as well."""


class Slices:
    """Gives way to other work of the event loop after each slice."""

    def __init__(self) -> None:
        self._bytes = 0

    async def add(self, size: int) -> None:
        """Count an entry of so many bytes, which is parsed or written in this slice; wait where that is full."""
        self._bytes += max(size, _LEAST_BYTES)
        if self._bytes >= SLICE_BYTES:
            self._bytes = 0
            await asyncio.sleep(0)


async def apart(size: int, work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Return what pure work returns; that on more bytes than a slice has is done in a thread, beside the event loop."""
    if size <= SLICE_BYTES:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)
