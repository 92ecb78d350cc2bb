"""The log has a line for each change, within a rate limit."""

import asyncio
import logging
from collections.abc import Iterator
from itertools import chain, repeat

import pytest

from nncache.daemons.namespace_log import name_lines, named, naming, run_named
from nncache.daemons.state_change import StateLine
from nncache.daemons.state_log import BURST, log_changes
from tests.patience import HANG_S


def about(before: str | None, now: str) -> tuple[StateLine, ...]:
    """Return a line for each change."""
    return () if before == now else (StateLine(now, is_bad=now.startswith("closed")),)


async def announced(situations: Iterator[str], looks: int, starts_within_s: float = 0.0) -> None:
    """Log the changes of these situations until they were read this many times."""
    enough = asyncio.Event()
    left = looks

    def look() -> str:
        nonlocal left
        left -= 1
        if left < 0:
            enough.set()
        return next(situations)

    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as group:
        task = group.create_task(log_changes(look, about, look_every_s=0.0, starts_within_s=starts_within_s))
        await enough.wait()
        task.cancel()


async def test_changes_reach_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """A bad state is logged at WARNING, for operators who log nothing below it; its end at INFO."""
    caplog.set_level(logging.INFO)
    await announced(chain(("open", "open", "closed", "closed"), repeat("open")), 5)
    logged = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert logged == [("INFO", "open"), ("WARNING", "closed"), ("INFO", "open")]


async def test_what_is_bad_at_the_start_has_a_while(caplog: pytest.LogCaptureFixture) -> None:
    """A daemon that has just started knows nothing yet. A state that stays bad is logged."""
    caplog.set_level(logging.INFO)
    await announced(chain(repeat("closed", 3), repeat("open")), 5, starts_within_s=HANG_S)
    assert caplog.messages == ["open"]
    caplog.clear()
    await announced(repeat("closed"), 2)
    assert caplog.messages == ["closed"]


async def test_a_state_that_comes_and_goes_does_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """When the limit allows another line, it has the current state."""
    caplog.set_level(logging.INFO)
    await announced((f"closed {number}" for number in range(1_000)), 500)
    assert BURST <= len(caplog.messages) <= BURST + HANG_S / 10


_log = logging.getLogger("nncache.tests.namespace_log")


class Lines(logging.Handler):
    """Keeps the formatted messages."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Append the message."""
        self.lines.append(record.getMessage())


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """Yield the messages that are logged, with namespace names."""
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
    """Its tasks and callbacks inherit the name; code outside has none."""

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
    """This holds for a failing request, too. Afterwards the connection's lines have no name."""

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
