"""Tests of this room run on the event loop that the proxy runs on: flow control and half-closing differ."""

from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping

import uvloop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Say what makes the event loop of each test."""
    return {"uvloop": uvloop.new_event_loop}
