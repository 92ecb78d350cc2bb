"""A line of the log says which namespace it is about, where there are several."""

import asyncio
import logging
from collections.abc import Iterator

import pytest

from nncache.daemons.namespace_log import name_lines, named, naming, run_named

_log = logging.getLogger("nncache.tests.namespace_log")


class Lines(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line."""
        self.lines.append(record.getMessage())


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """What is logged, with names."""
    handler, root = Lines(), logging.getLogger()
    root.addHandler(handler)
    others = [each for each in root.handlers if each is not handler]
    for each in others:
        root.removeHandler(each)
    name_lines()
    yield handler.lines
    root.removeHandler(handler)
    for each in others:
        root.addHandler(each)


async def test_work_and_what_it_begins_is_named(lines: list[str]) -> None:
    """Tasks and callbacks inherit it; what stands beside it has no name."""

    async def work() -> None:
        _log.warning("at %d %%", 5)
        async with asyncio.TaskGroup() as group:
            group.create_task(later())
        called = asyncio.Event()
        asyncio.get_running_loop().call_soon(call, called)
        await called.wait()

    def call(called: asyncio.Event) -> None:
        _log.warning("called")
        called.set()

    async def later() -> None:
        _log.warning("later")

    await run_named("one", work)
    _log.warning("beside")
    assert lines == ["[one] at 5 %", "[one] later", "[one] called", "beside"]


async def test_a_request_is_named_while_it_is_answered(lines: list[str]) -> None:
    """Also one that fails; a connection goes on without it."""

    async def handle(asked: str) -> str:
        _log.warning("asked")
        if not asked:
            raise ValueError("nothing asked")
        return asked

    assert await named("two", handle)("x") == "x"
    with pytest.raises(ValueError, match="nothing asked"):
        await named("one", handle)("")
    with naming("one"):
        _log.warning("done")
    with naming(""):
        _log.warning("alone")
    assert lines == ["[two] asked", "[one] asked", "[one] done", "alone"]
