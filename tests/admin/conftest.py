"""The tests of this room run on uvloop and on asyncio's own loop, which start connections in different orders."""

import asyncio
import logging
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator, Mapping

import pytest
import uvloop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Return the event loops on which each test runs."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture(autouse=True)
def unhandled(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail if asyncio logs anything: an exception that leaves a protocol appears nowhere else."""
    yield
    logged = [record.getMessage() for record in caplog.get_records("call") if record.name == asyncio.__name__]
    assert logged == []
    assert logging.getLogger(asyncio.__name__).isEnabledFor(logging.ERROR)
