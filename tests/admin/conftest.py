"""Tests of this room run on the daemons' event loop and on asyncio's own: connections begin in another order there."""

import asyncio
import logging
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator, Mapping

import pytest
import uvloop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Say what makes the event loop of each test."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture(autouse=True)
def unhandled(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail on what the event loop logs: an exception that left a protocol is at no other place."""
    yield
    logged = [record.getMessage() for record in caplog.get_records("call") if record.name == asyncio.__name__]
    assert logged == []
    assert logging.getLogger(asyncio.__name__).isEnabledFor(logging.ERROR)
