"""Tests of sockets run on the daemons' event loop as well as on asyncio's own."""

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping

import pytest
import uvloop

ON_BOTH = {"test_dns_server.py"}


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Say what makes the event loop of each test."""
    if item.path.name in ON_BOTH:
        return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
    return {"asyncio": asyncio.new_event_loop}
