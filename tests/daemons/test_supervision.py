"""Background work that fails is begun again, and said so."""

import asyncio
import logging

import pytest

from nncache.daemons.supervision import background, keep_running
from tests.patience import HANG_S


@pytest.mark.parametrize(("fault", "reported"), [(OSError("broken"), "failed"), (None, "ended by itself")])
async def test_work_that_ends_is_begun_again(
    fault: Exception | None, reported: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether it raised or just returned; each time is in the log."""
    begun = 0
    enough = asyncio.Event()

    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun == 3:
            enough.set()
        await asyncio.sleep(0)
        if fault is not None:
            raise fault

    caplog.set_level(logging.ERROR)
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as group:
        task = group.create_task(keep_running("the watch", work, pause_s=0.0))
        await enough.wait()
        task.cancel()
    assert [record.getMessage() for record in caplog.records][:2] == [
        f"the watch {reported}, restarting in 0 s"
    ] * 2


async def test_background_work_runs_as_long_as_its_block() -> None:
    """All of it at once, supervised; none outlives the block."""
    begun: list[str] = []
    ended: list[str] = []
    all_begun = asyncio.Event()

    async def work(name: str) -> None:
        begun.append(name)
        if len(begun) == 2:
            all_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    async with asyncio.timeout(HANG_S):
        async with background([("one", lambda: work("one")), ("two", lambda: work("two"))]):
            await all_begun.wait()
            assert not ended
    assert sorted(begun) == sorted(ended) == ["one", "two"]
