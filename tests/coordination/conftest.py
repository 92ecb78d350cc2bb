"""Tests of this room run on both event loops where a thread meets the loop; elsewhere on the daemons' own."""

from asyncio import AbstractEventLoop, SelectorEventLoop
from collections.abc import Callable, Mapping

import pytest
import uvloop

ON_BOTH = {"test_session.py", "test_loop_handler.py"}


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Say what makes the event loop of each test."""
    if item.path.name in ON_BOTH:
        return {"uvloop": uvloop.new_event_loop, "asyncio": SelectorEventLoop}
    return {"uvloop": uvloop.new_event_loop}
